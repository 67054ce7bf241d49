// Attempts side by side: prompt, agent run, findings, evidence and decision of each.
// One grid: a row per question, a column per attempt, so that values can be compared.

import { html, useState } from "../vendor/preact.js";
import { between, bytes, clock, moment, money, seconds, tokens } from "../amounts.js";
import { ofTask, useDocument } from "../documents.js";
import { LoadStatus } from "../parts/components.js";
import { Outcome } from "../parts/shapes.js";
import { Diff, Log, Prompt } from "../parts/texts.js";
import { useNarrow } from "../parts/virtual_rows.js";
import { go, toTask } from "../routes.js";
import { translate } from "../translation.js";
import { t } from "../words.js";
import { Decision, Draw } from "./decision.js";
import { Evidence, isInEvidence } from "./evidence.js";

const SIDE_MAX = 4;

export function Attempts({ data, chosen }) {
  const narrow = useNarrow();
  const all = data.attempts.map((attempt) => attempt.attempt);
  if (all.length === 0) return html`<h2 class="rule">${t("attempts")}</h2><p class="hush">${t("attempts.none")}</p>`;
  const wanted = chosen.split(",").map(Number).filter((n) => all.includes(n));
  const shown = wanted.length ? wanted.slice(0, SIDE_MAX) : all.slice(narrow ? -1 : -3);
  const flip = (n) => {
    const next = narrow ? [n] : shown.includes(n) ? shown.filter((one) => one !== n) : [...shown, n].sort((a, b) => a - b).slice(-SIDE_MAX);
    go(toTask(data.task.id, next.join(",") || String(n)));
  };
  return html`<h2 class="rule">${t("attempts")} <span class="tally">${all.length}</span></h2>
    ${all.length > 1 && html`<div class="toggles" role="group" aria-label=${t("attempts.which")}>${data.attempts.map((one) => html`<button type="button" class="toggle" aria-pressed=${shown.includes(one.attempt)} onClick=${() => flip(one.attempt)}>${one.attempt} <span class="hush">${one.agent}</span></button>`)}</div>`}
    <div class="attempts" style=${{ "--attempts": shown.length }}>${shown.map((n) => html`<${Attempt} key=${n} task=${data.task} n=${n} last=${n === all[all.length - 1]} />`)}</div>`;
}

function Attempt({ task, n, last }) {
  const path = `/tasks/${task.id}/attempts/${n}`;
  const answer = useDocument(path, {}, { staleWhen: ofTask(task.id) });
  const { data } = answer;
  if (!data) return html`<article class="attempt"><h3>${t("attempt.n", { n })}</h3><${LoadStatus} of=${answer} /></article>`;
  const growing = last && task.state === "ACTIVE" && !data.until;
  return html`<article class="attempt" aria-label=${t("attempt.n", { n })} data-attempt=${n}>
    <header><h3>${t("attempt.n", { n })}</h3><${Outcome} name=${data.ended} kind="ended" />${growing && html`<span class="hush">${t("running")}</span>`}
      <p class="hush">${data.agent || t("no.agent")} · ${data.from && html`<time datetime=${data.from}>${clock(data.from)}</time> · ${seconds(between(data.from, data.until))}`}${!data.fresh && n > 1 ? ` · ${t("same.worktree")}` : ""}${data.prompt?.kind && data.prompt.conversation ? ` · ${t(`conversation.of.${data.prompt.conversation}`)}` : ""}</p>
      <${FailureLine} data=${data} /></header>
    <section><h4>${t("told")}</h4><${PromptSection} data=${data} path=${path} /></section>
    <section><h4>${t("did")}</h4><${AgentRun} data=${data} /></section>
    <section><h4>${t("findings")}</h4><${Findings} data=${data} path=${path} /></section>
    <section><h4>${t("evidence")}</h4><${Evidence} data=${data} /></section>
    <section><h4>${t("decided")}</h4>${data.decision && html`<ol class="decisions"><${Decision} one=${data.decision} /></ol>`}
      ${(landed(data) || !data.decision) && html`<p class="hush">${t(landed(data) ? "decided.landed" : "decided.none")}</p>`}</section>
    <section><h4>${t("diff")}</h4>${data.until || data.head ? html`<${Diff} key=${data.head} path=${`${path}/diff`} query=${{}} />` : html`<p class="hush">${t("diff.later")}</p>`}</section>
    <section><h4>${t("log")}</h4><${Logs} data=${data} path=${path} growing=${growing} /></section>
  </article>`;
}

const landed = (data) => data.ended === "LANDED";

/** Why it did not land, in one line; for a landed attempt, the waived checks. */
function FailureLine({ data }) {
  const waived = data.findings.filter((one) => one.outcome === "WAIVED").map((one) => one.check);
  const words = landed(data) ? waived.length > 0 && t("waived.by.person", { checks: waived.join(t("comma")) }) : data.decision?.failure;
  return words ? html`<p class="attempt-why">${words}</p>` : null;
}

function PromptSection({ data, path }) {
  // An attempt that was killed early has no recorded prompt.
  const prompt = data.prompt || {};
  const size = data.logs.find((log) => log.file === "prompt");
  return html`${prompt.kind && html`<p class="pattern"><b>${prompt.kind}</b> ${prompt.pattern || ""} <code class="hush">${prompt.path || ""}</code></p>`}
    ${prompt.draw && html`<${Draw} draw=${prompt.draw} />`}
    ${prompt.fault && html`<p class="cause">${prompt.fault}</p>`}
    ${size ? html`<${Prompt} path=${`${path}/log`} again=${Boolean(prompt.kind)} />` : html`<p class="hush">${t("told.none")}</p>`}`;
}

function AgentRun({ data }) {
  const { exit } = data;
  if (!exit) return html`<p class="hush">${t(data.until ? "did.none" : "did.running")}</p>`;
  const how = exit.ended_by ? t("exit.ended", { by: exit.ended_by }) : exit.signal ? t("exit.signal", { signal: exit.signal }) : t("exit.code", { code: String(exit.code) });
  const spent = [exit.cost !== null && money(exit.cost), exit.tokens !== null && `${tokens(exit.tokens)} ${t("tokens")}`, exit.turns && t("turns.n", { n: exit.turns })].filter(Boolean);
  return html`<p>${how} · ${seconds(exit.seconds)} · ${t("files.n", { n: data.changed ?? 0 })}</p>
    ${exit.said && html`<blockquote class="said">${exit.said.trim()}</blockquote>`}
    ${exit.question && html`<p class="cause">${exit.question}</p>`}${exit.limit && html`<p class="cause">${typeof exit.limit === "string" ? exit.limit : JSON.stringify(exit.limit)}</p>`}${exit.error && html`<p class="cause">${typeof exit.error === "string" ? exit.error : JSON.stringify(exit.error)}</p>`}
    ${spent.length > 0 && html`<p class="hush">${spent.join(" · ")}</p>`}`;
}

function Findings({ data, path }) {
  if (data.findings.length === 0) return html`<p class="hush">${t(data.until ? "findings.none" : "findings.later")}</p>`;
  return html`<ul class="findings">${data.findings.map((one) => html`<${Finding} one=${one} path=${path} items=${isInEvidence(one, data) ? [] : one.items} />`)}</ul>`;
}

/** How many tests passed, and which failures the base had already. */
function testWords(one) {
  if (!["PASSED", "FLAKY"].includes(one.outcome) || one.tests === null) return "";
  return one.known_failures ? `${t("tests.n", { n: one.tests })}, ${t("known.n", { n: one.known_failures })}` : t("tests.n", { n: one.tests });
}

function Finding({ one, path, items }) {
  const [open, setOpen] = useState(false);
  const bad = one.outcome !== "PASSED";
  return html`<li class="finding"><p><${Outcome} name=${one.outcome} /> <b>${one.check}</b>${!one.required && html` <span class="tag">${t("optional")}</span>`} <span class="hush">${one.pattern && bad ? one.pattern : ""} ${testWords(one)} ${one.seconds ? seconds(one.seconds) : ""}${one.exit_code !== null && bad ? ` · ${t("exit.code", { code: String(one.exit_code) })}` : ""}</span></p>
    ${bad && one.message && html`<p class="cause">${translate(one.message)}</p>`}
    ${one.quarantined.map((entry) => html`<p class="cause">${t("quarantined", { test: entry.test, owner: entry.owner, until: moment(entry.expires) })}</p>`)}
    ${items.length > 0 && html`<ul class="items">${items.slice(0, 21).map((item) => html`<li><code>${item.name}</code> ${item.message} ${item.where && html`<code class="hush">${item.where}</code>`}</li>`)}</ul>`}
    ${one.log && html`<details onToggle=${(event) => setOpen(event.target.open)}><summary>${t("log.check")}</summary>${open && html`<${Log} path=${`${path}/log`} file=${`check:${one.check}`} />`}</details>`}</li>`;
}

function Logs({ data, path, growing }) {
  const files = data.logs.filter((log) => log.file !== "prompt");
  const [file, setFile] = useState("out");
  if (files.length === 0) return html`<p class="hush">${t("log.none")}</p>`;
  const name = files.some((log) => log.file === file) ? file : files[0].file;
  return html`<div class="log-files" role="group" aria-label=${t("log")}>${files.map((log) => html`<button type="button" class="toggle" aria-pressed=${log.file === name} onClick=${() => setFile(log.file)}>${log.file.replace(/^execution:/, "")}${log.purpose && ` (${t(`execution.${log.purpose}`)})`} <span class="hush">${bytes(log.bytes)}</span></button>`)}</div>
    <${Log} key=${name} path=${`${path}/log`} file=${name} growing=${growing} />`;
}
