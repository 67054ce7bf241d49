// One task: its state and why, and its attempts side by side.

import { html } from "../vendor/preact.js";
import { post } from "../api.js";
import { clock, money, short, tokens } from "../amounts.js";
import { ofTask, useDocument, useTick } from "../documents.js";
import { Command, Fact, RunName, TaskName, TaskState, Waiting, When } from "../parts/bits.js";
import { Came, sure, useAction } from "../parts/dialog.js";
import { optional, Outcome } from "../parts/shapes.js";
import { link, toRun } from "../routes.js";
import { mayAct } from "../session.js";
import { headline, waitsFor } from "../spoken.js";
import { named, t } from "../words.js";
import { Attempts } from "./attempts.js";
import { Decision } from "./decision.js";
import { Entries } from "./entries.js";
import { Asked } from "./needs.js";

export function Task({ parts }) {
  const id = parts[0] || "";
  return html`<${OneTask} key=${id} id=${id} chosen=${parts[1] || ""} />`;
}

function OneTask({ id, chosen }) {
  const answer = useDocument(`/tasks/${id}`, {}, { old: ofTask(id), every: 10 });
  useTick(5);
  const { held } = answer;
  if (!held) return html`<${Waiting} of=${answer} />`;
  const { task } = held;
  return html`<section aria-labelledby="title" class="column wide">
    <p class="crumbs"><a href=${toRun(held.run)}>${t("nav.run")} <span class="code">${held.run}</span></a> / <a href=${toRun(held.run, "tasks")}>${t("tab.tasks")}</a></p>
    <header class="run-head"><h1 id="title">${task.name} <span class="code hush">${task.id}</span></h1>
      <div class="line"><${TaskState} task=${task} />${task.state === "ACTIVE" && html`<span>${named("stage", task.stage)}</span>`}
        <span>${headline(held)}</span><${Actions} held=${held} /></div></header>
    <${Waiting} of=${answer} />
    ${task.state === "WAITING" && held.waits_for && html`<p class="waits"><b>${t("waits.for")}</b> ${waitsFor(task)}${declined(held)}</p>`}
    ${task.question && html`<${Asked} key=${task.attempt} asked=${asking(held)} alone />`}
    <div class="task-top"><${About} held=${held} /><${Lineage} held=${held} /></div>
    <${Attempts} held=${held} chosen=${chosen} />
    <h2 class="rule">${t("decisions")}</h2><${Decisions} held=${held} />
    <h2 class="rule">${t("lately.events")} <a class="more" href=${link("journal", [], { task: id })}>${t("all")}</a></h2>
    <${Entries} query=${{ task: id, limit: 50 }} old=${ofTask(id)} />
  </section>`;
}

/** The wait of the task, with the reason why a worker gave it back. */
function declined({ waits_for: words, task }) {
  return words.startsWith(task.waits_for || "") ? words.slice((task.waits_for || "").length) : "";
}

/** The question in the form of the questions page, made from the task's document. */
function asking(held) {
  const last = held.decisions[0];
  return { run: held.run, task: held.task, since: last?.at, failure: last?.failure, check: "", waivable: held.waivable, worktree: held.worktree, blocks: held.lineage.needed_by.length };
}

function About({ held }) {
  const { task } = held;
  const proven = Object.entries(held.proven || {});
  return html`<div><p class="goal">${held.goal}</p><dl class="facts">
    <${Fact} name=${t("kind")}>${named("kind", task.kind)}${optional(task) && html` <span class="tag">${t("optional")}</span>`}<//>
    <${Fact} name=${t("agents")}>${held.agents.join(" → ") || "–"}<//>
    <${Fact} name=${t("checks")}>${held.checks.join(", ") || "–"}<//>
    ${held.scope.length > 0 && html`<${Fact} name=${t("scope")}><code>${held.scope.join(" ")}</code><//>`}
    <${Fact} name=${t("cost")}>${money(task.cost, task.untold)}<//>
    <${Fact} name=${t("tokens")}>${tokens(task.tokens, task.untold)}<//>
  </dl><dl class="facts long">
    ${task.landed && html`<${Fact} name=${t("landed")}><code>${short(task.landed)}</code><//>`}
    ${task.agent_ended && html`<${Fact} name=${t("agent.ended")}>${task.agent_ended}<//>`}
    ${proven.length > 0 && html`<${Fact} name=${t("proven.by")}>${proven.map(([check, outcome]) => html`<span class="pair">${check} <${Outcome} name=${outcome} /></span>`)}<//>`}
    ${held.holder && html`<${Fact} name=${t("holder")} wide><code>${held.holder}</code>${held.lease_until && html` <span class="hush">${t("lease.until", { time: clock(held.lease_until) })}</span>`}<//>`}
    ${held.worktree && html`<${Fact} name=${t("worktree")} wide><${Command} text=${`cd ${held.worktree}`} /><//>`}
    ${task.next && html`<${Fact} name=${t("next")} wide><${Command} text=${task.next} /><//>`}
  </dl></div>`;
}

function Lineage({ held }) {
  const { lineage } = held;
  const rows = [
    ["lineage.first", lineage.first !== held.task.id ? [lineage.first] : []],
    ["lineage.replaces", lineage.replaces ? [lineage.replaces] : []],
    ["lineage.replaced_by", lineage.replaced_by ? [lineage.replaced_by] : []],
    ["lineage.group", lineage.group ? [lineage.group] : []],
    ["lineage.needs", lineage.needs],
    ["lineage.needed_by", lineage.needed_by],
    ["lineage.inside", lineage.inside],
  ].filter(([, ids]) => ids.length > 0);
  if (rows.length === 0) return null;
  const ids = [...new Set(rows.flatMap(([, held]) => held))].slice(0, 100);
  return html`<aside aria-label=${t("lineage")}><h2 class="rule">${t("lineage")}</h2><${Relatives} run=${held.run} rows=${rows} ids=${ids} /></aside>`;
}

function Relatives({ run, rows, ids }) {
  const answer = useDocument(`/runs/${run}/tasks`, { ids: ids.join(","), limit: 100 }, { old: (entry) => ids.includes(entry.task) });
  const known = new Map((answer.held?.tasks || []).map((task) => [task.id, task]));
  return html`<dl class="relatives">${rows.map(([key, all]) => html`<div><dt>${t(key)} <span class="hush">${all.length}</span></dt><dd>${all.slice(0, 30).map((id) => html`<span class="relative">${known.has(id) && html`<${TaskState} task=${known.get(id)} />`} <${TaskName} id=${id} name=${known.get(id)?.name} /></span>`)}${all.length > 30 && html`<span class="hush">${t("and.more", { n: all.length - 30 })}</span>`}</dd></div>`)}</dl>`;
}

function Decisions({ held }) {
  if (held.decisions.length === 0) return html`<p class="hush">${t("decisions.none")}</p>`;
  return html`<ol class="decisions">${held.decisions.map((one) => html`<${Decision} one=${one} />`)}</ol>`;
}

function Actions({ held }) {
  const [act, came] = useAction();
  const { task } = held;
  const ask = async (key, what) => {
    const question = { title: t(`${key}.task.title`, { name: task.name }), words: t(`${key}.task.words`), yes: t(`${key}.task.yes`) };
    if (await sure(question)) act(what);
  };
  if (!mayAct()) return null;
  return html`<span class="actions">
    ${held.actions.includes("undo") && html`<button type="button" class="ends" disabled=${came.busy} onClick=${() => ask("undo", () => post(`/tasks/${task.id}/undo`))}>${t("undo")}</button>`}
    ${held.actions.includes("cancel") && html`<button type="button" class="ends" disabled=${came.busy} onClick=${() => ask("cancel", () => post(`/tasks/${task.id}/cancel`))}>${t("cancel.task")}</button>`}
    <${Came} state=${came} words=${() => t("done.sent")} />
  </span>`;
}
