// Announces changes to screen readers, politely, several in one sentence.

import { onConnection, onEntries } from "./live.js";
import { t } from "./words.js";

const ANNOUNCED = { TASK_LANDED: "told.landed", ESCALATE_DECISION: "told.asks", RETRY_DECISION: "told.retry", RUN_PAUSED: "told.paused", TASK_CANCELLED: "told.cancelled" };
const GAP_MS = 2_500;

let counts = {};
let timer = 0;

export function announce() {
  let was = "";
  onConnection(({ state }) => {
    if (state !== was && (state === "lost" || was === "lost")) say(t(state === "lost" ? "told.lost" : "told.back"));
    was = state;
  });
  onEntries((entries) => {
    for (const { event } of entries) if (ANNOUNCED[event]) counts[event] = (counts[event] || 0) + 1;
    if (Object.keys(counts).length) timer ||= setTimeout(sayCounts, GAP_MS);
  });
}

function sayCounts() {
  say(Object.entries(counts).map(([event, n]) => t(ANNOUNCED[event], { n })).join(", "));
  [counts, timer] = [{}, 0];
}

function say(words) {
  document.getElementById("told").textContent = words;
}
