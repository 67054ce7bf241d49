// One run: its head, and below it the overview, the graph, the timeline or the tasks.

import { html, useEffect } from "../vendor/preact.js";
import { address, post } from "../api.js";
import { between, money, seconds, short, tokens } from "../amounts.js";
import { ofRun, useDocument, useTick } from "../documents.js";
import { Command, Empty, Fact, Progress, Waiting, When } from "../parts/bits.js";
import { Came, sure, useAction } from "../parts/dialog.js";
import { State } from "../parts/shapes.js";
import { toRun } from "../routes.js";
import { lastRun, left, looksAt, mayAct, session } from "../session.js";
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
  const newest = useDocument("/runs", { limit: 1 }, { old: begins, later: session.newest ? LATER_MS : 0 });
  const first = newest.held?.runs[0]?.run || session.newest;
  const run = given || (first && lastRun(first));
  if (!run && newest.held) return html`<${Empty} title=${t("start.title")} words=${t("start.words")} command="yaoki run plan.yaml" />`;
  if (!run) return html`<${Waiting} of=${newest} />`;
  return html`<${OneRun} key=${run} run=${run} tab=${parts[1] || "overview"} query=${query} first=${first} />`;
}

function OneRun({ run, tab, query, first }) {
  // A worker dies without an event, so an active run is fetched again.
  const answer = useDocument(`/runs/${run}`, {}, { old: ofRun(run), every: BEAT_S });
  const { held } = answer;
  // Only an existing run: an old bookmark must not become the last opened run.
  useEffect(() => {
    if (held && first) looksAt(run, first);
  }, [Boolean(held), run, first]);
  // The list and the graph fetch their data in parallel with the head.
  if (!held && (answer.error || !EARLY.has(tab))) return html`<${Waiting} of=${answer} />`;
  const View = Object.hasOwn(TABS, tab) ? TABS[tab] : Overview;
  return html`<section aria-labelledby="title" class=${tab === "overview" ? "column wide" : "column wide fill"}>
    ${held ? html`<${Head} held=${held} slim=${tab !== "overview"} />` : html`<h1 id="title" class="code">${run}</h1>`}
    <${Waiting} of=${answer} />
    <nav class="tabs" aria-label=${t("tabs")}>${Object.keys(TABS).map((name) => html`<a href=${toRun(run, name)} aria-current=${name === tab ? "page" : undefined}>${t(`tab.${name}`)}</a>`)}</nav>
    <${View} run=${held || { run }} query=${query} />
  </section>`;
}

function Head({ held, slim }) {
  return html`<header class=${slim ? "run-head slim" : "run-head"}>
    <div class="run-title"><h1 id="title" title=${slim ? held.goal : undefined}>${held.goal}</h1>
    <div class="line"><${State} state=${left(held) ? "HELD" : held.status} words=${t(left(held) ? "run.LEFT" : `run.${held.status}`)} />
      <span class="code">${held.run}</span>${held.paused && !slim && html`<span>${held.paused}</span>`}
      ${held.cancel_wanted && held.status !== "CANCELLED" && html`<span>${t("cancel.wanted")}</span>`}
      <${Actions} held=${held} /></div></div>
    <${Progress} counts=${held.counts} blocked=${held.blocked} proofs=${held.proofs} left=${left(held)} />
    ${left(held) && html`<p class="waits" role="status">${t("left.words")} <${Command} text=${held.next} /></p>`}
    ${!slim && html`<p class="hush">${t("landed.of", { n: held.landed, all: held.planned })}</p>`}
    ${!slim && html`<${Facts} held=${held} />`}
  </header>`;
}

/** Time does not count while the run waits for a person or has no worker. */
const until = (held) => held.finished_at || (held.status === "ACTIVE" && held.carried ? null : held.moved_at);

function Facts({ held }) {
  useTick(5);
  return html`<dl class="facts">
    <${Fact} name=${t("since")}><${When} at=${held.created_at} /><//>
    <${Fact} name=${t("took")}>${seconds(between(held.created_at, until(held)))}<//>
    <${Fact} name=${t("agent.runs")}>${held.agent_runs}<//>
    <${Fact} name=${t("agent.time")}>${seconds(held.seconds)}<//>
    <${Fact} name=${t("cost")}>${money(held.cost, held.untold)}<//>
    <${Fact} name=${t("tokens")}>${tokens(held.tokens, held.untold)}<//>
  </dl><dl class="facts long">
    ${held.next && !left(held) && html`<${Fact} name=${t("next")}><${Command} text=${held.next} /><//>`}
    <${Fact} name=${t("branch")}><code>${held.run_branch}</code> ← <code>${held.base_branch}</code> <code class="hush">${short(held.base)}</code><//>
    <${Fact} name=${t("side.by.side")}>${held.parallel}<//>
  </dl>`;
}

function Actions({ held }) {
  const [act, came] = useAction();
  const cancel = async () => {
    const question = { title: t("cancel.run.title", { run: held.run }), words: t("cancel.run.words"), yes: t("cancel.run.yes") };
    if (await sure(question)) act(() => post(`/runs/${held.run}/cancel`));
  };
  return html`<span class="actions">
    ${mayAct() && held.actions.includes("go") && html`<button type="button" class="main" disabled=${came.busy} onClick=${() => act(() => post(`/runs/${held.run}/go`))}>${t("go.on")}</button>`}
    ${mayAct() && held.actions.includes("cancel") && html`<button type="button" class="ends" disabled=${came.busy} onClick=${cancel}>${t("cancel.run")}</button>`}
    <a class="button" href=${address(`/runs/${held.run}/report`, { format: "html" })} download=${`yaoki-${held.run}.html`}>${t("report")}</a>
    <${Came} state=${came} words=${(done) => t("cancel.came", { n: done.cancelled?.length ?? 0 })} />
  </span>`;
}
