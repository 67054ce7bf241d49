// A run at a glance: questions, running and waiting tasks, burn-down, recent events.

import { html } from "../vendor/preact.js";
import { asking, ofRun, useDocument, useTick } from "../documents.js";
import { Burndown, Spent } from "../parts/charts.js";
import { Empty, TaskName, Waiting } from "../parts/bits.js";
import { standing, State } from "../parts/shapes.js";
import { link, toRun } from "../routes.js";
import { left } from "../session.js";
import { waitsFor } from "../spoken.js";
import { named, t } from "../words.js";
import { Entries } from "./entries.js";
import { Asked, Paused } from "./needs.js";

const SOME = 12;

export function Overview({ run }) {
  const old = ofRun(run.run);
  const needs = useDocument(run.asking.length || run.paused ? "/needs-you" : "", {}, { old: asking, every: 15 });
  const active = useDocument(`/runs/${run.run}/tasks`, { state: "ACTIVE", limit: SOME }, { old, every: 5 });
  const waiting = useDocument(`/runs/${run.run}/tasks`, { state: "WAITING", limit: SOME }, { old, every: 5 });
  const burned = useDocument(`/runs/${run.run}/burndown`, { points: 200 }, { old });
  useTick(1);
  const asked = needs.held?.asking.filter((one) => one.run === run.run) || [];
  const paused = needs.held?.paused.filter((held) => held.run === run.run) || [];
  return html`<div class="overview">
    <div class="overview-left">
      ${asked.slice(0, 5).map((one) => html`<${Asked} key=${one.task.id + one.since} asked=${one} here />`)}
      ${run.asking.length > 5 && html`<p><a href="#/needs">${t("and.more", { n: run.asking.length - 5 })}</a></p>`}
      ${paused.map((held) => html`<${Paused} key=${held.run} paused=${held} alone />`)}
      ${active.held?.matched > 0 && html`<${Some} title=${t(left(run) ? "now.left" : "now.active")} answer=${active} run=${run.run} state="ACTIVE" alone=${left(run)} />`}
      ${waiting.held?.matched > 0 && html`<${Some} title=${t("now.waiting")} answer=${waiting} run=${run.run} state="WAITING" />`}
      ${active.held?.matched === 0 && waiting.held?.matched === 0 && asked.length === 0 && html`<${Ended} run=${run} />`}
      <h2 class="rule">${t("lately.events")} <a class="more" href=${link("journal", [], { run: run.run })}>${t("all")}</a></h2>
      <${Entries} query=${{ run: run.run, limit: 30 }} old=${old} />
    </div>
    <aside class="overview-right" aria-label=${t("charts")}>
      <h2 class="rule">${t("burndown")}</h2>
      <${Waiting} of=${burned} />
      ${burned.held && html`<${Burndown} points=${burned.held.points} open=${run.status === "ACTIVE"} />`}
      <h2 class="rule">${t("spent")}</h2>
      ${burned.held && html`<${Spent} points=${burned.held.points} run=${run} />`}
    </aside>
  </div>`;
}

function Ended({ run }) {
  if (run.status === "ACTIVE") return null;
  return html`<${Empty} title=${t(`rest.${run.status}`)} command=${run.next} />`;
}

function Some({ title, answer, run, state, alone }) {
  const { tasks, matched } = answer.held;
  return html`<h2 class="rule">${title} <span class="tally">${matched}</span>${matched > tasks.length && html`<a class="more" href=${toRun(run, "tasks", { state })}>${t("all")}</a>`}</h2>
    <table class="plain"><thead class="unseen"><tr><th>${t("task")}</th><th>${t("state")}</th><th>${t("why")}</th></tr></thead>
    <tbody>${tasks.map((task) => html`<tr key=${task.id}>
      <td class="td-state"><${State} state=${alone ? "HELD" : standing(task)} words=${task.state === "ACTIVE" ? named("stage", task.stage) : undefined} /></td>
      <td class="td-name"><${TaskName} id=${task.id} name=${task.name} row /></td>
      <td class="td-why">${task.state === "ACTIVE" ? t("attempt.with", { n: task.attempt, agent: task.agent || "–" }) : waitsFor(task)}</td>
    </tr>`)}</tbody></table>`;
}
