// The tasks of a run as a list: ten thousand rows, filtered here, details fetched for those in sight.

import { html, useCallback, useEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { get } from "../api.js";
import { money, short, tokens } from "../amounts.js";
import { useTick } from "../documents.js";
import { Empty, TaskName, Toggles, ErrorMessage } from "../parts/components.js";
import { Mark, optional, shownState, State } from "../parts/shapes.js";
import { Row, Rows, useNarrow } from "../parts/virtual_rows.js";
import { refine } from "../routes.js";
import { waitWords } from "../translation.js";
import { named, t } from "../words.js";
import { useRunGraph } from "../run_graph.js";

const STATES = ["ESCALATED", "ACTIVE", "WAITING", "BLOCKED", "HELD", "DONE", "CANCELLED", "REPLACED"];
const DETAILS_KEPT = 1000;
// Waits change without an event, so visible ones are fetched again.
const BEAT_S = 15;

export function Tasks({ run, query }) {
  const runGraph = useRunGraph(run.run);
  const [text, setText] = useState(query.text || "");
  const chosen = (query.state || "").split(",").filter(Boolean);
  const narrow = useNarrow();
  useTick(BEAT_S);
  const shown = useMemo(() => filterNodes(runGraph?.nodes || [], chosen, text), [runGraph?.version, query.state, text]);
  const { detail, sight } = useDetails(run.run, shown, `${runGraph?.version}:${Math.floor(Date.now() / 1000 / BEAT_S)}`);
  const height = narrow ? 50 : 30;
  const typed = (event) => {
    setText(event.target.value);
    refine({ text: event.target.value });
  };
  if (runGraph?.error && !runGraph.nodes) return html`<${ErrorMessage} error=${runGraph.error} />`;
  if (!runGraph) return html`<p class="hush" role="status">${t("loading")}</p>`;
  const counts = countStates(runGraph.nodes || []);
  const options = STATES.filter((state) => counts[state] || chosen.includes(state)).map((state) => [state, html`<${Mark} state=${state} /> ${named("state", state)} <b>${counts[state] || 0}</b>`]);
  return html`<div class="filters">
      <input type="search" placeholder=${t("filter.tasks")} aria-label=${t("filter.tasks")} value=${text} onInput=${typed} />
      <${Toggles} label=${t("state")} options=${options} chosen=${chosen} onChange=${(states) => refine({ state: states.join(",") })} />
      <span class="hush matched" aria-live="polite">${t("matched", { n: planTasks(shown).length, all: planTasks(runGraph.nodes).length })}</span>
    </div>
    ${shown.length === 0 && html`<${Empty} title=${t("filter.none")} />`}
    ${shown.length > 0 && html`<${Rows} count=${shown.length} height=${height} label=${t("tab.tasks")} onSight=${sight}
      head=${html`<${Row} kind="task-row" cells=${HEAD()} />`}
      draw=${(index) => html`<${Row} kind="task-row" index=${index} state=${shownState(shown[index])} cells=${cells(shown[index], detail(shown[index].id))} />`} />`}`;
}

const HEAD = () => [["num n", "#"], ["st", t("state")], ["nm", t("task")], ["num at", t("attempt")], ["ag", t("agent")], ["why", t("why")], ["num ct", t("cost")], ["num tk", t("tokens")], ["ld", t("landed")]];

function cells(node, task) {
  return [
    ["num n", node.n],
    ["st", html`<${State} state=${shownState(node)} words=${node.state === "ACTIVE" ? named("stage", node.stage) : undefined} />`],
    ["nm", html`<${TaskName} id=${node.id} name=${node.name} row />${optional(node) && html` <span class="tag">${t("optional")}</span>`}${node.phase && html` <span class="hush">${node.phase}</span>`}`],
    ["num at", node.attempt || ""],
    ["ag", task?.agent || ""],
    ["why", (task && whyOf(task)) || (node.proof ? t("proof") : "")],
    ["num ct hush", task && (task.cost !== null || task.attempt > 0) ? money(task.cost, task.untold) : ""],
    ["num tk", task && task.tokens !== null ? tokens(task.tokens, task.untold) : ""],
    ["ld code", short(task?.landed)],
  ];
}

function whyOf(task) {
  if (task.state === "ESCALATED") return task.question || named("reason", task.reason);
  if (task.state === "WAITING") return waitWords(task);
  if (task.landed && task.waived?.length) return `${named("outcome", "WAIVED")}: ${task.waived.join(t("comma"))}`;
  if (task.agent_ended) return `${t("agent.ended")}: ${task.agent_ended}`;
  return task.reason ? named("reason", task.reason) : "";
}

function filterNodes(nodes, states, text) {
  const words = text.trim().toLowerCase();
  return nodes.filter((node) => (states.length === 0 || states.includes(shownState(node))) && (!words || node.lower.includes(words)));
}

/** Final checks are in the list, but are not tasks of the plan. */
const planTasks = (nodes) => nodes.filter((node) => !node.proof);

function countStates(nodes) {
  const counts = {};
  for (const node of planTasks(nodes)) counts[shownState(node)] = (counts[shownState(node)] || 0) + 1;
  return counts;
}

/** Details of the visible rows, fetched by id in batches; old ones are dropped. */
function useDetails(run, shown, version) {
  const details = useRef(new Map());
  const span = useRef([0, 0]);
  const timer = useRef(0);
  const [, draw] = useState(0);
  const fetchSome = useCallback(async () => {
    const [first, last] = span.current;
    const ids = shown.slice(first, Math.min(last, first + 100)).map((node) => node.id).filter((id) => details.current.get(id)?.version !== version);
    if (ids.length === 0) return;
    const answer = await get(`/runs/${run}/tasks`, { ids: ids.join(","), limit: 100 }).catch((error) => (console.debug(error.message), null));
    for (const task of answer?.tasks || []) {
      details.current.delete(task.id);
      details.current.set(task.id, { task, version });
    }
    while (details.current.size > DETAILS_KEPT) details.current.delete(details.current.keys().next().value);
    draw((n) => n + 1);
  }, [run, shown, version]);
  const sight = useCallback((first, last) => {
    span.current = [first, last];
    clearTimeout(timer.current);
    timer.current = setTimeout(fetchSome, 90);
  }, [fetchSome]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return { detail: (id) => details.current.get(id)?.task, sight };
}
