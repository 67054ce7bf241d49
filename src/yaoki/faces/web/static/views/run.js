// One run: its head, and below it the overview, the graph, the timeline or the tasks.

import { html, useEffect } from "../vendor/preact.js";
import { address, post } from "../api.js";
import { between, money, seconds, short, timeOfDay, tokens } from "../amounts.js";
import { ofRun, useDocument, useTick } from "../documents.js";
import { Command, Empty, Fact, Progress, LoadStatus, When } from "../parts/components.js";
import { ActionResult, confirmAction, useAction } from "../parts/dialog.js";
import { State } from "../parts/shapes.js";
import { toRun } from "../routes.js";
import { lacksWorker, lastRun, mayAct, rememberRun, session } from "../session.js";
import { t } from "../words.js";
import { Graph } from "../graph/view.js";
import { Overview } from "./overview.js";
import { Tasks } from "./tasks.js";
import { Timeline } from "./timeline.js";

const BEAT_S = 4;
const LATER_MS = 1_500;
const TABS = { overview: Overview, graph: Graph, timeline: Timeline, tasks: Tasks };

const EARLY = new Set(["graph", "tasks"]);
const begins = (entry) => entry.event === "PLAN_SUBMITTED";

export function Run({ parts, query }) {
  const given = parts[0] && parts[0] !== "-" ? parts[0] : "";
  // The session knows the run's id, so that the run can be fetched at once.
  const newest = useDocument("/runs", { limit: 1 }, { staleWhen: begins, later: session.newest ? LATER_MS : 0 });
  const first = newest.data?.runs[0]?.run || session.newest;
  const run = given || (first && lastRun(first));
  if (!run && newest.data) return html`<${Empty} title=${t("start.title")} words=${t("start.words")} command="yaoki run plan.yaml" />`;
  if (!run) return html`<${LoadStatus} of=${newest} />`;
  return html`<${OneRun} key=${run} run=${run} tab=${parts[1] || "overview"} query=${query} first=${first} />`;
}

function OneRun({ run, tab, query, first }) {
  // A worker dies without an event, so an active run is fetched again.
  const answer = useDocument(`/runs/${run}`, {}, { staleWhen: ofRun(run), every: BEAT_S });
  const { data } = answer;
  // Only an existing run: an old bookmark must not become the last opened run.
  useEffect(() => {
    if (data && first) rememberRun(run, first);
  }, [Boolean(data), run, first]);
  // The list and the graph fetch their data in parallel with the head.
  if (!data && (answer.error || !EARLY.has(tab))) return html`<${LoadStatus} of=${answer} />`;
  const View = Object.hasOwn(TABS, tab) ? TABS[tab] : Overview;
  return html`<section aria-labelledby="title" class=${tab === "overview" ? "column wide" : "column wide fill"}>
    ${data ? html`<${Head} data=${data} slim=${tab !== "overview"} />` : html`<h1 id="title" class="code">${run}</h1>`}
    <${LoadStatus} of=${answer} />
    <nav class="tabs" aria-label=${t("tabs")}>${Object.keys(TABS).map((name) => html`<a href=${toRun(run, name)} aria-current=${name === tab ? "page" : undefined}>${t(`tab.${name}`)}</a>`)}</nav>
    <${View} run=${data || { run }} query=${query} />
  </section>`;
}

function Head({ data, slim }) {
  return html`<header class=${slim ? "run-head slim" : "run-head"}>
    <div class="run-title"><h1 id="title" title=${slim ? data.goal : undefined}>${data.goal}</h1>
    <div class="line"><${State} state=${lacksWorker(data) ? "HELD" : data.status} words=${t(lacksWorker(data) ? "run.LEFT" : `run.${data.status}`)} />
      <span class="code">${data.run}</span>${data.paused && !slim && html`<span>${data.paused}</span>`}
      ${data.cancel_wanted && data.status !== "CANCELLED" && html`<span>${t("cancel.wanted")}</span>`}
      <${Actions} data=${data} /></div></div>
    <${Progress} counts=${data.counts} blocked=${data.blocked} proofs=${data.proofs} left=${lacksWorker(data)} />
    ${lacksWorker(data) && html`<p class="waits" role="status">${t("left.words")} <${Command} text=${data.next} /></p>`}
    ${!slim && html`<p class="hush">${t("landed.of", { n: data.landed, all: data.planned })}</p>`}
    ${!slim && html`<${Facts} data=${data} />`}
  </header>`;
}

/** Time does not count while the run waits for a person or has no worker. */
const until = (data) => data.finished_at || (data.status === "ACTIVE" && data.carried ? null : data.moved_at);

function Facts({ data }) {
  useTick(5);
  return html`<dl class="facts">
    <${Fact} name=${t("since")}><${When} at=${data.created_at} /><//>
    <${Fact} name=${t("took")}>${seconds(between(data.created_at, until(data)))}<//>
    <${Fact} name=${t("agent.runs")}>${data.agent_runs}<//>
    <${Fact} name=${t("agent.time")}>${seconds(data.seconds)}<//>
    <${Fact} name=${t("cost")}>${money(data.cost, data.untold)}<//>
    <${Fact} name=${t("tokens")}>${tokens(data.tokens, data.untold)}<//>
  </dl><${ForecastFacts} data=${data} /><dl class="facts long">
    ${data.next && !lacksWorker(data) && html`<${Fact} name=${t("next")}><${Command} text=${data.next} /><//>`}
    <${Fact} name=${t("branch")}><code>${data.run_branch}</code> ← <code>${data.base_branch}</code> <code class="hush">${short(data.base)}</code><//>
    <${Fact} name=${t("side.by.side")}>${data.parallel}<//>
  </dl>`;
}

function ForecastFacts({ data }) {
  const words = data.forecast ? forecastWords(data) : data.forecast_score ? scoreWords(data.forecast_score) : "";
  if (!words) return null;
  const told = data.forecast || data.forecast_score.told;
  return html`<dl class="facts long forecast"><${Fact} name=${t("forecast")}>${words}
    <span class="hush"> · ${amountWords(told, Boolean(data.forecast))} · ${t("forecast.basis", { n: told.attempts })}</span><//></dl>`;
}

function forecastWords(data) {
  const { seconds: time, done_at: end } = data.forecast;
  if (!data.carried) return t("forecast.left", { middle: seconds(time.p50), high: seconds(time.p90) });
  return t("forecast.done", { middle: timeOfDay(end.p50), high: timeOfDay(end.p90) });
}

/** The forecast at the start, and whether the run stayed within it. */
function scoreWords({ told, took }) {
  const result = t(`forecast.${took ? took.time_result : "other"}`);
  return t("forecast.scored", { middle: seconds(told.seconds.p50), high: seconds(told.seconds.p90), result });
}

/** A running run counts what it has used so far. */
function amountWords({ agent_runs: runs, cost, unknown_costs: unknown }, running) {
  const sum = cost ? t("forecast.cost", { middle: money(cost.p50, unknown.length), high: money(cost.p90, unknown.length) }) : t("unknown");
  return t(running ? "forecast.amounts.running" : "forecast.amounts", { n: Math.round(runs.p50), most: Math.round(runs.p90), cost: sum });
}

function Actions({ data }) {
  const [act, result] = useAction();
  const cancel = async () => {
    const question = { title: t("cancel.run.title", { run: data.run }), words: t("cancel.run.words"), yes: t("cancel.run.yes") };
    if (await confirmAction(question)) act(() => post(`/runs/${data.run}/cancel`));
  };
  return html`<span class="actions">
    ${mayAct() && data.actions.includes("go") && html`<button type="button" class="main" disabled=${result.busy} onClick=${() => act(() => post(`/runs/${data.run}/go`))}>${t("go.on")}</button>`}
    ${mayAct() && data.actions.includes("cancel") && html`<button type="button" class="ends" disabled=${result.busy} onClick=${cancel}>${t("cancel.run")}</button>`}
    <a class="button" href=${address(`/runs/${data.run}/report`, { format: "html" })} download=${`yaoki-${data.run}.html`}>${t("report")}</a>
    <${ActionResult} state=${result} words=${(done) => t("cancel.came", { n: done.cancelled?.length ?? 0 })} />
  </span>`;
}
