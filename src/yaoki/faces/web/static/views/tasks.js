// The tasks of a run as a list: ten thousand rows, filtered here, details fetched for those in sight.

import { html, useCallback, useEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { get } from "../api.js";
import { money, short, tokens } from "../amounts.js";
import { useTick } from "../documents.js";
import { Empty, TaskName, Toggles, Wrong } from "../parts/bits.js";
import { Mark, optional, standing, State } from "../parts/shapes.js";
import { Row, Rows, useNarrow } from "../parts/virtual.js";
import { refine } from "../routes.js";
import { waitsFor } from "../spoken.js";
import { named, t } from "../words.js";
import { useCrowd } from "../crowd.js";

const STATES = ["ESCALATED", "ACTIVE", "WAITING", "BLOCKED", "HELD", "DONE", "CANCELLED", "REPLACED"];
const DETAILS_KEPT = 1000;
// Waits change without an event, so visible ones are fetched again.
const BEAT_S = 15;

export function Tasks({ run, query }) {
  const crowd = useCrowd(run.run);
  const [text, setText] = useState(query.text || "");
  const chosen = (query.state || "").split(",").filter(Boolean);
  const narrow = useNarrow();
  useTick(BEAT_S);
  const shown = useMemo(() => picked(crowd?.nodes || [], chosen, text), [crowd?.version, query.state, text]);
  const { detail, sight } = useDetails(run.run, shown, `${crowd?.version}:${Math.floor(Date.now() / 1000 / BEAT_S)}`);
  const height = narrow ? 50 : 30;
  const typed = (event) => {
    setText(event.target.value);
    refine({ text: event.target.value });
  };
  if (crowd?.error && !crowd.nodes) return html`<${Wrong} error=${crowd.error} />`;
  if (!crowd) return html`<p class="hush" role="status">${t("loading")}</p>`;
  const counts = tallied(crowd.nodes || []);
  const options = STATES.filter((state) => counts[state] || chosen.includes(state)).map((state) => [state, html`<${Mark} state=${state} /> ${named("state", state)} <b>${counts[state] || 0}</b>`]);
  return html`<div class="filters">
      <input type="search" placeholder=${t("filter.tasks")} aria-label=${t("filter.tasks")} value=${text} onInput=${typed} />
      <${Toggles} label=${t("state")} options=${options} chosen=${chosen} onChange=${(states) => refine({ state: states.join(",") })} />
      <span class="hush matched" aria-live="polite">${t("matched", { n: planned(shown).length, all: planned(crowd.nodes).length })}</span>
    </div>
    ${shown.length === 0 && html`<${Empty} title=${t("filter.none")} />`}
    ${shown.length > 0 && html`<${Rows} count=${shown.length} height=${height} label=${t("tab.tasks")} onSight=${sight}
      head=${html`<${Row} kind="task-row" cells=${HEAD()} />`}
      draw=${(index) => html`<${Row} kind="task-row" index=${index} state=${standing(shown[index])} cells=${cells(shown[index], detail(shown[index].id))} />`} />`}`;
}

const HEAD = () => [["num", "#"], ["st", t("state")], ["nm", t("task")], ["num at", t("attempt")], ["ag", t("agent")], ["why", t("why")], ["num", t("cost")], ["num", t("tokens")], ["ld", t("landed")]];

function cells(node, task) {
  return [
    ["num n", node.n],
    ["st", html`<${State} state=${standing(node)} words=${node.state === "ACTIVE" ? named("stage", node.stage) : undefined} />`],
    ["nm", html`<${TaskName} id=${node.id} name=${node.name} row />${optional(node) && html` <span class="tag">${t("optional")}</span>`}${node.phase && html` <span class="hush">${node.phase}</span>`}`],
    ["num at", node.attempt || ""],
    ["ag", task?.agent || ""],
    ["why", (task && whyOf(task)) || (node.proof ? t("proof") : "")],
    ["num hush", task && (task.cost !== null || task.attempt > 0) ? money(task.cost, task.untold) : ""],
    ["num", task && task.tokens !== null ? tokens(task.tokens, task.untold) : ""],
    ["ld code", short(task?.landed)],
  ];
}

function whyOf(task) {
  if (task.state === "ESCALATED") return task.question || named("reason", task.reason);
  if (task.state === "WAITING") return waitsFor(task);
  if (task.agent_ended) return `${t("agent.ended")}: ${task.agent_ended}`;
  return task.reason ? named("reason", task.reason) : "";
}

function picked(nodes, states, text) {
  const words = text.trim().toLowerCase();
  return nodes.filter((node) => (states.length === 0 || states.includes(standing(node))) && (!words || node.lower.includes(words)));
}

/** Final checks are in the list, but are not tasks of the plan. */
const planned = (nodes) => nodes.filter((node) => !node.proof);

function tallied(nodes) {
  const counts = {};
  for (const node of planned(nodes)) counts[standing(node)] = (counts[standing(node)] || 0) + 1;
  return counts;
}

/** Details of the visible rows, fetched by id in batches; old ones are dropped. */
function useDetails(run, shown, version) {
  const held = useRef(new Map());
  const span = useRef([0, 0]);
  const timer = useRef(0);
  const [, draw] = useState(0);
  const fetchSome = useCallback(async () => {
    const [first, last] = span.current;
    const ids = shown.slice(first, Math.min(last, first + 100)).map((node) => node.id).filter((id) => held.current.get(id)?.version !== version);
    if (ids.length === 0) return;
    const answer = await get(`/runs/${run}/tasks`, { ids: ids.join(","), limit: 100 }).catch((error) => (console.debug(error.message), null));
    for (const task of answer?.tasks || []) {
      held.current.delete(task.id);
      held.current.set(task.id, { task, version });
    }
    while (held.current.size > DETAILS_KEPT) held.current.delete(held.current.keys().next().value);
    draw((n) => n + 1);
  }, [run, shown, version]);
  const sight = useCallback((first, last) => {
    span.current = [first, last];
    clearTimeout(timer.current);
    timer.current = setTimeout(fetchSome, 90);
  }, [fetchSome]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return { detail: (id) => held.current.get(id)?.task, sight };
}
