// One task: its state and why, and its attempts side by side.

import { html } from "../vendor/preact.js";
import { post } from "../api.js";
import { clock, money, short, tokens } from "../amounts.js";
import { ofTask, useDocument, useTick } from "../documents.js";
import { Command, Fact, RunName, TaskName, TaskState, LoadStatus, When } from "../parts/components.js";
import { ActionResult, confirmAction, useAction } from "../parts/dialog.js";
import { optional, Outcome } from "../parts/shapes.js";
import { link, toRun } from "../routes.js";
import { mayAct } from "../session.js";
import { headline, waitWords } from "../translation.js";
import { named, t } from "../words.js";
import { Attempts } from "./attempts.js";
import { Decision } from "./decision.js";
import { Entries } from "./entries.js";
import { Question } from "./needs.js";
import { Races } from "./races.js";

export function Task({ parts }) {
  const id = parts[0] || "";
  return html`<${OneTask} key=${id} id=${id} chosen=${parts[1] || ""} />`;
}

function OneTask({ id, chosen }) {
  const answer = useDocument(`/tasks/${id}`, {}, { staleWhen: ofTask(id), every: 10 });
  useTick(5);
  const { data } = answer;
  if (!data) return html`<${LoadStatus} of=${answer} />`;
  const { task } = data;
  return html`<section aria-labelledby="title" class="column wide">
    <p class="crumbs"><a href=${toRun(data.run)}>${t("nav.run")} <span class="code">${data.run}</span></a> / <a href=${toRun(data.run, "tasks")}>${t("tab.tasks")}</a></p>
    <header class="run-head"><h1 id="title">${task.name} <span class="code hush">${task.id}</span></h1>
      <div class="line"><${TaskState} task=${task} />${task.state === "ACTIVE" && html`<span>${named("stage", task.stage)}</span>`}
        <span>${headline(data)}</span><${Actions} data=${data} /></div></header>
    <${LoadStatus} of=${answer} />
    ${task.state === "WAITING" && data.waits_for && html`<p class="waits"><b>${t("waits.for")}</b> ${waitWords(task)}${declined(data)}</p>`}
    ${task.question && html`<${Question} key=${task.attempt} escalation=${escalationOf(data)} alone />`}
    <div class="task-top"><${About} data=${data} /><${Lineage} data=${data} /></div>
    <${Races} data=${data} />
    <${Attempts} data=${data} chosen=${chosen} />
    <h2 class="rule">${t("decisions")}</h2><${Decisions} data=${data} />
    <h2 class="rule">${t("lately.events")} <a class="more" href=${link("journal", [], { task: id })}>${t("all")}</a></h2>
    <${Entries} query=${{ task: id, limit: 50 }} staleWhen=${ofTask(id)} />
  </section>`;
}

/** The wait of the task, with the reason why a worker gave it back. */
function declined({ waits_for: words, task }) {
  return words.startsWith(task.waits_for || "") ? words.slice((task.waits_for || "").length) : "";
}

/** The question in the form of the questions page, made from the task's document. */
function escalationOf(data) {
  const last = data.decisions[0];
  return { run: data.run, task: data.task, since: last?.at, failure: last?.failure, check: "", waivable: data.waivable, retry_subject: data.retry_subject, worktree: data.worktree, blocks: data.lineage.needed_by.length };
}

function About({ data }) {
  const { task } = data;
  const proven = Object.entries(data.proven || {});
  return html`<div><p class="goal">${data.goal}</p><dl class="facts">
    <${Fact} name=${t("kind")}>${named("kind", task.kind)}${optional(task) && html` <span class="tag">${t("optional")}</span>`}<//>
    <${Fact} name=${t("agents")}>${data.agents.join(" → ") || "–"}<//>
    <${Fact} name=${t("checks")}>${data.checks.join(", ") || "–"}<//>
    ${data.scope.length > 0 && html`<${Fact} name=${t("scope")}><code>${data.scope.join(" ")}</code><//>`}
    <${Fact} name=${t("cost")}>${money(task.cost, task.untold)}<//>
    <${Fact} name=${t("tokens")}>${tokens(task.tokens, task.untold)}<//>
  </dl><dl class="facts long">
    ${task.landed && html`<${Fact} name=${t("landed")}><code>${short(task.landed)}</code><//>`}
    ${task.agent_ended && html`<${Fact} name=${t("agent.ended")}>${task.agent_ended}<//>`}
    ${proven.length > 0 && html`<${Fact} name=${t("proven.by")}>${proven.map(([check, outcome]) => html`<span class="pair">${check} <${Outcome} name=${outcome} /></span>`)}<//>`}
    ${data.holder && html`<${Fact} name=${t("holder")} wide><code>${data.holder}</code>${data.lease_until && html` <span class="hush">${t("lease.until", { time: clock(data.lease_until) })}</span>`}<//>`}
    ${data.worktree && html`<${Fact} name=${t("worktree")} wide><${Command} text=${`cd ${data.worktree}`} /><//>`}
    ${task.next && html`<${Fact} name=${t("next")} wide><${Command} text=${task.next} /><//>`}
  </dl></div>`;
}

function Lineage({ data }) {
  const { lineage } = data;
  const rows = [
    ["lineage.first", lineage.first !== data.task.id ? [lineage.first] : []],
    ["lineage.replaces", lineage.replaces ? [lineage.replaces] : []],
    ["lineage.replaced_by", lineage.replaced_by ? [lineage.replaced_by] : []],
    ["lineage.group", lineage.group ? [lineage.group] : []],
    ["lineage.race", data.task.race ? [data.task.race] : []],
    ["lineage.needs", lineage.needs],
    ["lineage.needed_by", lineage.needed_by],
    ["lineage.inside", lineage.inside],
  ].filter(([, ids]) => ids.length > 0);
  if (rows.length === 0) return null;
  const ids = [...new Set(rows.flatMap(([, related]) => related))].slice(0, 100);
  return html`<aside aria-label=${t("lineage")}><h2 class="rule">${t("lineage")}</h2><${Relatives} run=${data.run} rows=${rows} ids=${ids} /></aside>`;
}

function Relatives({ run, rows, ids }) {
  const answer = useDocument(`/runs/${run}/tasks`, { ids: ids.join(","), limit: 100 }, { staleWhen: (entry) => ids.includes(entry.task) });
  const known = new Map((answer.data?.tasks || []).map((task) => [task.id, task]));
  return html`<dl class="relatives">${rows.map(([key, all]) => html`<div><dt>${t(key)} <span class="hush">${all.length}</span></dt><dd>${all.slice(0, 30).map((id) => html`<span class="relative">${known.has(id) && html`<${TaskState} task=${known.get(id)} />`} <${TaskName} id=${id} name=${known.get(id)?.name} /></span>`)}${all.length > 30 && html`<span class="hush">${t("and.more", { n: all.length - 30 })}</span>`}</dd></div>`)}</dl>`;
}

function Decisions({ data }) {
  if (data.decisions.length === 0) return html`<p class="hush">${t("decisions.none")}</p>`;
  return html`<ol class="decisions">${data.decisions.map((one) => html`<${Decision} one=${one} />`)}</ol>`;
}

function Actions({ data }) {
  const [act, result] = useAction();
  const { task } = data;
  const ask = async (key, what) => {
    const question = { title: t(`${key}.task.title`, { name: task.name }), words: t(`${key}.task.words`), yes: t(`${key}.task.yes`) };
    if (await confirmAction(question)) act(what);
  };
  if (!mayAct()) return null;
  return html`<span class="actions">
    ${data.actions.includes("undo") && html`<button type="button" class="ends" disabled=${result.busy} onClick=${() => ask("undo", () => post(`/tasks/${task.id}/undo`))}>${t("undo")}</button>`}
    ${data.actions.includes("cancel") && html`<button type="button" class="ends" disabled=${result.busy} onClick=${() => ask("cancel", () => post(`/tasks/${task.id}/cancel`))}>${t("cancel.task")}</button>`}
    <${ActionResult} state=${result} words=${() => t("done.sent")} />
  </span>`;
}
