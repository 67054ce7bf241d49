// Attempts side by side: prompt, agent run, findings and decision of each.
// One grid: a row per question, a column per attempt, so that values can be compared.

import { html, useState } from "../vendor/preact.js";
import { between, bytes, clock, money, seconds, tokens } from "../amounts.js";
import { ofTask, useDocument } from "../documents.js";
import { Waiting } from "../parts/bits.js";
import { Outcome } from "../parts/shapes.js";
import { Diff, Log, Prompt } from "../parts/texts.js";
import { useNarrow } from "../parts/virtual.js";
import { go, toTask } from "../routes.js";
import { said } from "../spoken.js";
import { t } from "../words.js";
import { Decision } from "./decision.js";

const SIDE_MAX = 4;

export function Attempts({ held, chosen }) {
  const narrow = useNarrow();
  const all = held.attempts.map((attempt) => attempt.attempt);
  if (all.length === 0) return html`<h2 class="rule">${t("attempts")}</h2><p class="hush">${t("attempts.none")}</p>`;
  const wanted = chosen.split(",").map(Number).filter((n) => all.includes(n));
  const shown = wanted.length ? wanted.slice(0, SIDE_MAX) : all.slice(narrow ? -1 : -3);
  const flip = (n) => {
    const next = narrow ? [n] : shown.includes(n) ? shown.filter((one) => one !== n) : [...shown, n].sort((a, b) => a - b).slice(-SIDE_MAX);
    go(toTask(held.task.id, next.join(",") || String(n)));
  };
  return html`<h2 class="rule">${t("attempts")} <span class="tally">${all.length}</span></h2>
    ${all.length > 1 && html`<div class="toggles" role="group" aria-label=${t("attempts.which")}>${held.attempts.map((one) => html`<button type="button" class="toggle" aria-pressed=${shown.includes(one.attempt)} onClick=${() => flip(one.attempt)}>${one.attempt} <span class="hush">${one.agent}</span></button>`)}</div>`}
    <div class="attempts" style=${{ "--attempts": shown.length }}>${shown.map((n) => html`<${Attempt} key=${n} task=${held.task} n=${n} last=${n === all[all.length - 1]} />`)}</div>`;
}

function Attempt({ task, n, last }) {
  const path = `/tasks/${task.id}/attempts/${n}`;
  const answer = useDocument(path, {}, { old: ofTask(task.id) });
  const { held } = answer;
  if (!held) return html`<article class="attempt"><h3>${t("attempt.n", { n })}</h3><${Waiting} of=${answer} /></article>`;
  const growing = last && task.state === "ACTIVE" && !held.until;
  return html`<article class="attempt" aria-label=${t("attempt.n", { n })} data-attempt=${n}>
    <header><h3>${t("attempt.n", { n })}</h3><${Outcome} name=${held.ended} kind="ended" />${growing && html`<span class="hush">${t("running")}</span>`}
      <p class="hush">${held.agent || t("no.agent")} · ${held.from && html`<time datetime=${held.from}>${clock(held.from)}</time> · ${seconds(between(held.from, held.until))}`}${!held.fresh && n > 1 ? ` · ${t("same.worktree")}` : ""}</p>
      <${Why} held=${held} /></header>
    <section><h4>${t("told")}</h4><${Told} held=${held} path=${path} /></section>
    <section><h4>${t("did")}</h4><${Did} held=${held} /></section>
    <section><h4>${t("findings")}</h4><${Findings} held=${held} path=${path} /></section>
    <section><h4>${t("decided")}</h4>${held.decision && html`<ol class="decisions"><${Decision} one=${held.decision} /></ol>`}
      ${(landed(held) || !held.decision) && html`<p class="hush">${t(landed(held) ? "decided.landed" : "decided.none")}</p>`}</section>
    <section><h4>${t("diff")}</h4>${held.until || held.head ? html`<${Diff} key=${held.head} path=${`${path}/diff`} query=${{}} />` : html`<p class="hush">${t("diff.later")}</p>`}</section>
    <section><h4>${t("log")}</h4><${Logs} held=${held} path=${path} growing=${growing} /></section>
  </article>`;
}

const landed = (held) => held.ended === "LANDED";

/** Why it did not land, in one line; for a landed attempt, the waived checks. */
function Why({ held }) {
  const waived = held.findings.filter((one) => one.outcome === "WAIVED").map((one) => one.check);
  const words = landed(held) ? waived.length > 0 && t("waived.by.person", { checks: waived.join(t("comma")) }) : held.decision?.failure;
  return words ? html`<p class="attempt-why">${words}</p>` : null;
}

function Told({ held, path }) {
  // An attempt that was killed early has no recorded prompt.
  const prompt = held.prompt || {};
  const size = held.logs.find((log) => log.file === "prompt");
  return html`${prompt.kind && html`<p class="pattern"><b>${prompt.kind}</b> ${prompt.pattern || ""} <code class="hush">${prompt.path || ""}</code></p>`}
    ${prompt.fault && html`<p class="cause">${prompt.fault}</p>`}
    ${size ? html`<${Prompt} path=${`${path}/log`} again=${Boolean(prompt.kind)} />` : html`<p class="hush">${t("told.none")}</p>`}`;
}

function Did({ held }) {
  const { exit } = held;
  if (!exit) return html`<p class="hush">${t(held.until ? "did.none" : "did.running")}</p>`;
  const how = exit.ended_by ? t("exit.ended", { by: exit.ended_by }) : exit.signal ? t("exit.signal", { signal: exit.signal }) : t("exit.code", { code: String(exit.code) });
  const spent = [exit.cost !== null && money(exit.cost), exit.tokens !== null && `${tokens(exit.tokens)} ${t("tokens")}`, exit.turns && t("turns.n", { n: exit.turns })].filter(Boolean);
  return html`<p>${how} · ${seconds(exit.seconds)} · ${t("files.n", { n: held.changed ?? 0 })}</p>
    ${exit.said && html`<blockquote class="said">${exit.said.trim()}</blockquote>`}
    ${exit.question && html`<p class="cause">${exit.question}</p>`}${exit.limit && html`<p class="cause">${typeof exit.limit === "string" ? exit.limit : JSON.stringify(exit.limit)}</p>`}${exit.error && html`<p class="cause">${typeof exit.error === "string" ? exit.error : JSON.stringify(exit.error)}</p>`}
    ${spent.length > 0 && html`<p class="hush">${spent.join(" · ")}</p>`}`;
}

function Findings({ held, path }) {
  if (held.findings.length === 0) return html`<p class="hush">${t(held.until ? "findings.none" : "findings.later")}</p>`;
  return html`<ul class="findings">${held.findings.map((one) => html`<${Finding} one=${one} path=${path} />`)}</ul>`;
}

/** How many tests passed, and which failures the base had already. */
function tested(one) {
  if (!["PASSED", "FLAKY"].includes(one.outcome) || one.tests === null) return "";
  return one.known_failures ? `${t("tests.n", { n: one.tests })}, ${t("known.n", { n: one.known_failures })}` : t("tests.n", { n: one.tests });
}

function Finding({ one, path }) {
  const [open, setOpen] = useState(false);
  const bad = one.outcome !== "PASSED";
  return html`<li class="finding"><p><${Outcome} name=${one.outcome} /> <b>${one.check}</b>${!one.required && html` <span class="tag">${t("optional")}</span>`} <span class="hush">${one.pattern && bad ? one.pattern : ""} ${tested(one)} ${one.seconds ? seconds(one.seconds) : ""}${one.exit_code !== null && bad ? ` · ${t("exit.code", { code: String(one.exit_code) })}` : ""}</span></p>
    ${bad && one.message && html`<p class="cause">${said(one.message)}</p>`}
    ${one.items.length > 0 && html`<ul class="items">${one.items.slice(0, 20).map((item) => html`<li><code>${item.name}</code> ${item.message} ${item.where && html`<code class="hush">${item.where}</code>`}</li>`)}</ul>`}
    ${one.log && html`<details onToggle=${(event) => setOpen(event.target.open)}><summary>${t("log.check")}</summary>${open && html`<${Log} path=${`${path}/log`} file=${`check:${one.check}`} />`}</details>`}</li>`;
}

function Logs({ held, path, growing }) {
  const files = held.logs.filter((log) => log.file !== "prompt");
  const [file, setFile] = useState("out");
  if (files.length === 0) return html`<p class="hush">${t("log.none")}</p>`;
  const name = files.some((log) => log.file === file) ? file : files[0].file;
  return html`<div class="log-files" role="group" aria-label=${t("log")}>${files.map((log) => html`<button type="button" class="toggle" aria-pressed=${log.file === name} onClick=${() => setFile(log.file)}>${log.file} <span class="hush">${bytes(log.bytes)}</span></button>`)}</div>
    <${Log} key=${name} path=${`${path}/log`} file=${name} growing=${growing} />`;
}
