// States by shape and word; colour only repeats them.  Drawn on a 16 by 16 grid.

import { html } from "../vendor/preact.js";
import { named } from "../words.js";

const RING = "M8 1.750a6.250 6.250 0 1 0 0 12.500a6.250 6.250 0 1 0 0-12.500z";

// `solid` is filled, `line` is drawn, `cut` is drawn in the background colour.
export const SHAPES = {
  WAITING: { line: RING },
  ACTIVE: { line: RING, solid: "M8 1.750a6.250 6.250 0 0 1 0 12.500z" },
  ESCALATED: { solid: "M8 .8L15.700 14.700H.3z", cut: "M8 5.600v4.600M8 12.200v.6" },
  DONE: { solid: RING, cut: "M4.900 8.300l2.200 2.200 4-4.500" },
  CANCELLED: { line: "M3.200 3.200l9.600 9.600M12.800 3.200l-9.600 9.600" },
  REPLACED: { line: "M2 5.200h9.500M8.800 2.200l3 3-3 3M14 10.800H4.500M7.200 13.800l-3-3 3-3" },
  BLOCKED: { line: "M2.500 2.500h11v11h-11zM2.500 8h11" },
  HELD: { solid: "M3.500 2.500h3.200v11H3.500zM9.300 2.500h3.200v11H9.300z" },
};
SHAPES.PAUSED = SHAPES.HELD;
SHAPES.RETRY = { line: "M13.600 8a5.600 5.600 0 1 1-1.900-4.200M12.200 .8v3.400H8.800" };

/** The shown state of a task: some waiting tasks are blocked or wait for their re-run. */
export function shownState(task) {
  if (task.state !== "WAITING") return task.state;
  if (task.blocked || task.reason === "DEPENDENCY_FAILED") return "BLOCKED";
  return task.held ? "HELD" : "WAITING";
}

/** Is it optional?  Not shown for subtasks, because their group decides. */
export const optional = (task) => !task.required && !task.group;

export function Mark({ state }) {
  const { solid, line, cut } = SHAPES[state] || SHAPES.WAITING;
  return html`<svg class="mark" viewBox="0 0 16 16" aria-hidden="true">
    ${solid && html`<path class="solid" d=${solid} />`}
    ${line && html`<path class="line" d=${line} />`}
    ${cut && html`<path class="cut" d=${cut} />`}
  </svg>`;
}

export function State({ state, words }) {
  return html`<span class="state" data-state=${state}><${Mark} state=${state} />${" "}<span class="state-word">${words || named("state", state)}</span></span>`;
}

/** The outcome of a check, or how an attempt ended. */
const LIKE = {
  PASSED: "DONE", LANDED: "DONE", FAILED: "ESCALATED", BROKEN: "ESCALATED", ESCALATED: "ESCALATED", FLAKY: "HELD", SKIPPED: "REPLACED",
  PROVEN: "DONE", STOPPED: "CANCELLED", "NOT-STARTED": "WAITING", WAIVED: "REPLACED", RETRY: "RETRY", LOST: "CANCELLED", CANCELLED: "CANCELLED", RELEASED: "WAITING", HELD: "HELD",
};

export function Outcome({ name, kind = "outcome" }) {
  if (!name) return null;
  return html`<${State} state=${LIKE[name] || "WAITING"} words=${named(kind, name)} />`;
}
