// Questions to a person, the oldest first, answered in place.

import { html, useState } from "../vendor/preact.js";
import { post } from "../api.js";
import { always, changesQuestions, useDocument, useTick } from "../documents.js";
import { ActionResult, confirmAction, useAction } from "../parts/dialog.js";
import { Command, Empty, RunName, TaskName, LoadStatus, When } from "../parts/components.js";
import { Mark, optional } from "../parts/shapes.js";
import { lacksWorker, mayAct, session } from "../session.js";
import { translate } from "../translation.js";
import { named, t } from "../words.js";
import { BEAT_S, RunRows } from "./runs.js";

export function Needs() {
  const answer = useDocument("/needs-you", {}, { staleWhen: changesQuestions, every: 15 });
  const recent = useDocument(session.has_store ? "/runs" : "", { limit: 5 }, { staleWhen: always, every: BEAT_S });
  const runs = recent.data?.runs || [];
  useTick(15);
  const { data } = answer;
  return html`<section aria-labelledby="title" class="column">
    <h1 id="title">${t("needs.title")} ${data?.total > 0 && html`<span class="tally">${data.total}</span>`}</h1>
    <${LoadStatus} of=${answer} />
    ${data && data.total === 0 && html`<${NoQuestions} idle=${runs.find(lacksWorker)} />`}
    ${data?.asking.map((escalation) => html`<${Question} key=${escalation.task.id + escalation.since} escalation=${escalation} />`)}
    ${data?.paused.map((paused) => html`<${PausedRun} key=${paused.run} paused=${paused} />`)}
    <${RecentRuns} runs=${runs} />
  </section>`;
}

/** `idle` is a run that would continue if a worker ran: after an answer that is often the case. */
function NoQuestions({ idle }) {
  if (!session.has_store) return html`<${Empty} title=${t("start.title")} words=${t("start.words")} command="yaoki run plan.yaml" />`;
  if (idle) return html`<div class="calm" data-idle=${idle.run}><${Mark} state="HELD" /><p>${t("needs.worker", { goal: idle.goal })} <${Command} text=${`yaoki resume ${idle.run}`} /></p></div>`;
  return html`<div class="calm"><${Mark} state="DONE" /><p>${t("needs.none")}</p></div>`;
}

/** A question and its answers; also part of a task's own page. */
export function Question({ escalation, alone, here }) {
  const { task } = escalation;
  const heading = `asks-${task.id}`;
  return html`<article class="asked" aria-labelledby=${heading} data-task=${task.id}>
    <header>
      <span class="asked-mark"><${Mark} state="ESCALATED" /></span>
      <h2 id=${heading}>${alone ? t("asks") : html`<${TaskName} id=${task.id} name=${task.name} row />`}${optional(task) && html` <span class="tag">${t("optional")}</span>`}</h2>
      <span class="hush">${named("reason", task.reason)} · <${When} at=${escalation.since} />${task.attempt > 0 && html` · ${t("attempt.n", { n: task.attempt })}`}</span>
    </header>
    ${!alone && !here && html`<p class="hush"><${RunName} run=${escalation.run} /> ${escalation.goal}</p>`}
    <p class="question">${translate(task.question)}</p>
    ${escalation.failure && !isInQuestion(escalation) && html`<p class="cause"><span class="hush">${t("last.failure")}</span> ${escalation.failure}</p>`}
    ${escalation.blocks > 0 && html`<p class="hush">${t("blocks.n", { n: escalation.blocks })}</p>`}
    <${AnswerForm} escalation=${escalation} />
  </article>`;
}

/** A question of the agent is also its failure; it is shown once. */
function isInQuestion({ task, failure }) {
  const question = flat(task.question || "");
  const words = flat(failure.replace(HEAD, "")).replace(/…$/, "");
  return question.includes(words) || words.includes(question.slice(0, 100));
}

// Kind and pattern, as they come before the words of a failure.
const HEAD = /^[A-Z_]+(?: [\w-]+)?: /;
// A folder as one word of a shell line.
const shellQuote = (path) => (/^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
const flat = (text) => text.replace(/\s+/g, " ").trim();

function AnswerForm({ escalation }) {
  const { task, waivable = [] } = escalation;
  const choices = task.choices || [];
  const [choice, setChoice] = useState(choices.includes("retry") ? "retry" : "");
  const [words, setWords] = useState("");
  const [check, setCheck] = useState(waivable.includes(escalation.check) ? escalation.check : waivable[0] || "");
  const [act, result] = useAction();
  if (choices.length === 0) return null;
  if (!mayAct()) return html`<p class="hush">${t("look.only")} <${Command} text=${task.next || `yaoki answer ${task.id}`} /></p>`;
  if (result.done) return html`<${ActionResult} state=${result} words=${(done) => t(done.worker ? "answered" : "answered.idle", { choice: named("choice", choice) })} />`;
  const send = async (event) => {
    event.preventDefault();
    const question = { title: t("abort.title", { name: task.name }), words: t("abort.words", { n: escalation.blocks || 0 }), yes: t("abort.yes") };
    if (choice === "abort" && !(await confirmAction(question))) return;
    act(() => post(`/tasks/${task.id}/answer`, bodyOf(choice, words, check)));
  };
  return html`<form class="answering" onSubmit=${send}>
    ${choice !== "done" && html`<label class="field grow"><span>${t(choice === "retry" && escalation.retry_subject === "agent" ? "words.agent" : "words.record")}</span><textarea rows="2" maxlength="4000" value=${words} onInput=${(event) => setWords(event.target.value)} /></label>`}
    <fieldset class="choices"><legend class="unseen">${t("answer")}</legend>
      ${choices.map((name) => html`<label class="choice"><input type="radio" name=${`choice-${task.id}`} value=${name} checked=${choice === name} onChange=${() => setChoice(name)} /><span>${named("choice", name)}</span></label>`)}
    </fieldset>
    ${choice && html`<p class="hush choice-words">${choice === "retry" ? named("choice.words.retry", escalation.retry_subject) : named("choice.words", choice)}</p>`}
    ${choice === "done" && escalation.worktree && html`<p><${Command} text=${`cd ${shellQuote(escalation.worktree)}`} /></p>`}
    ${choice === "waive" && html`<label class="field"><span>${t("waive.which")}</span><select value=${check} onChange=${(event) => setCheck(event.target.value)}>${waivable.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>`}
    ${choice && html`<div class="buttons"><button type="submit" class=${choice === "abort" ? "ends" : "main"} disabled=${result.busy}>${t(result.busy ? "sending" : "send")}: ${named("choice", choice)}</button></div>`}
    <${ActionResult} state=${result} words=${() => ""} />
  </form>`;
}

function bodyOf(choice, words, check) {
  const body = { choice };
  if (words.trim()) body.words = words.trim();
  if (choice === "waive") body.check = check;
  return body;
}

export function PausedRun({ paused, alone }) {
  const [act, result] = useAction();
  const [words, setWords] = useState("");
  const cancel = async () => {
    const question = { title: t("cancel.run.title", { run: paused.run }), words: t("cancel.run.words"), yes: t("cancel.run.yes") };
    if (await confirmAction(question)) act(() => post(`/runs/${paused.run}/cancel`));
  };
  return html`<article class="asked" data-run=${paused.run}>
    <header><span class="asked-mark"><${Mark} state="PAUSED" /></span>
      <h2>${alone ? t("paused") : html`<a href=${`#/run/${paused.run}`} data-row>${paused.goal}</a>`}</h2>
      <span class="hush">${t("paused")}</span></header>
    <p class="question">${paused.paused}</p>
    ${!mayAct() && html`<p class="hush">${t("look.only")} <${Command} text=${paused.next} /></p>`}
    ${mayAct() && !result.done && html`<form class="answering" onSubmit=${(event) => (event.preventDefault(), act(() => post(`/runs/${paused.run}/go`, words.trim() ? { words: words.trim() } : {})))}>
      <label class="field grow"><span>${t("words.record")}</span><textarea rows="1" maxlength="4000" value=${words} onInput=${(event) => setWords(event.target.value)} /></label>
      <div class="buttons"><button type="submit" class="main" disabled=${result.busy}>${t("go.on")}</button><button type="button" class="ends" disabled=${result.busy} onClick=${cancel}>${t("cancel.run")}</button></div>
    </form>`}
    <${ActionResult} state=${result} words=${() => t("done.sent")} />
  </article>`;
}

/** Below the questions: the state of the newest runs. */
function RecentRuns({ runs }) {
  if (!runs.length) return null;
  return html`<section aria-labelledby="lately"><h2 id="lately" class="rule">${t("lately")}</h2><${RunRows} runs=${runs} /></section>`;
}
