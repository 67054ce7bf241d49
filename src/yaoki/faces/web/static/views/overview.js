// A run at a glance: questions, running and waiting tasks, burn-down, recent events.

import { html } from "../vendor/preact.js";
import { changesQuestions, ofRun, useDocument, useTick } from "../documents.js";
import { Burndown, Spent } from "../parts/charts.js";
import { Empty, TaskName, LoadStatus } from "../parts/components.js";
import { shownState, State } from "../parts/shapes.js";
import { link, toRun } from "../routes.js";
import { lacksWorker, restKey } from "../session.js";
import { waitWords } from "../translation.js";
import { named, t } from "../words.js";
import { Entries } from "./entries.js";
import { PausedRun, Question } from "./needs.js";

const SOME = 12;

export function Overview({ run }) {
  const staleWhen = ofRun(run.run);
  const needs = useDocument(run.asking.length || run.paused ? "/needs-you" : "", {}, { staleWhen: changesQuestions, every: 15 });
  const active = useDocument(`/runs/${run.run}/tasks`, { state: "ACTIVE", limit: SOME }, { staleWhen, every: 5 });
  const waiting = useDocument(`/runs/${run.run}/tasks`, { state: "WAITING", limit: SOME }, { staleWhen, every: 5 });
  const burned = useDocument(`/runs/${run.run}/burndown`, { points: 200 }, { staleWhen });
  useTick(1);
  const escalations = needs.data?.asking.filter((one) => one.run === run.run) || [];
  const paused = needs.data?.paused.filter((one) => one.run === run.run) || [];
  return html`<div class="overview">
    <div class="overview-left">
      ${escalations.slice(0, 5).map((one) => html`<${Question} key=${one.task.id + one.since} escalation=${one} here />`)}
      ${run.asking.length > 5 && html`<p><a href="#/needs">${t("and.more", { n: run.asking.length - 5 })}</a></p>`}
      ${paused.map((one) => html`<${PausedRun} key=${one.run} paused=${one} alone />`)}
      ${active.data?.matched > 0 && html`<${TaskList} title=${t(lacksWorker(run) ? "now.left" : "now.active")} answer=${active} run=${run.run} state="ACTIVE" alone=${lacksWorker(run)} />`}
      ${waiting.data?.matched > 0 && html`<${TaskList} title=${t("now.waiting")} answer=${waiting} run=${run.run} state="WAITING" />`}
      ${active.data?.matched === 0 && waiting.data?.matched === 0 && escalations.length === 0 && html`<${FinishedMessage} run=${run} />`}
      <h2 class="rule">${t("lately.events")} <a class="more" href=${link("journal", [], { run: run.run })}>${t("all")}</a></h2>
      <${Entries} query=${{ run: run.run, limit: 30 }} staleWhen=${staleWhen} />
    </div>
    <aside class="overview-right" aria-label=${t("charts")}>
      <h2 class="rule">${t("burndown")}</h2>
      <${LoadStatus} of=${burned} />
      ${burned.data && html`<${Burndown} points=${burned.data.points} open=${run.status === "ACTIVE"} />`}
      <h2 class="rule">${t("spent")}</h2>
      ${burned.data && html`<${Spent} points=${burned.data.points} run=${run} />`}
    </aside>
  </div>`;
}

function FinishedMessage({ run }) {
  if (run.status === "ACTIVE") return null;
  return html`<${Empty} title=${t(restKey(run), { n: run.landed, total: run.planned })} command=${run.next} />`;
}

function TaskList({ title, answer, run, state, alone }) {
  const { tasks, matched } = answer.data;
  return html`<h2 class="rule">${title} <span class="tally">${matched}</span>${matched > tasks.length && html`<a class="more" href=${toRun(run, "tasks", { state })}>${t("all")}</a>`}</h2>
    <table class="plain"><thead class="unseen"><tr><th>${t("task")}</th><th>${t("state")}</th><th>${t("why")}</th></tr></thead>
    <tbody>${tasks.map((task) => html`<tr key=${task.id}>
      <td class="td-state"><${State} state=${alone ? "HELD" : shownState(task)} words=${task.state === "ACTIVE" ? named("stage", task.stage) : undefined} /></td>
      <td class="td-name"><${TaskName} id=${task.id} name=${task.name} row /></td>
      <td class="td-why">${task.state === "ACTIVE" ? t("attempt.with", { n: task.attempt, agent: task.agent || "–" }) : waitWords(task)}</td>
    </tr>`)}</tbody></table>`;
}
