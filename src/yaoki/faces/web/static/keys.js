// Keyboard: two keys to open a view, j and k along a list, / to filter, ? for help.

import { go } from "./routes.js";

export const PLACES = [
  ["n", "#/needs", "nav.needs"],
  ["r", "#/run/-", "nav.run"],
  ["g", "#/run/-/graph", "tab.graph"],
  ["l", "#/run/-/timeline", "tab.timeline"],
  ["t", "#/run/-/tasks", "tab.tasks"],
  ["a", "#/runs", "nav.runs"],
  ["j", "#/journal", "nav.journal"],
  ["w", "#/workers", "nav.workers"],
  ["m", "#/limits", "nav.limits"],
  ["p", "#/prompts", "nav.prompts"],
  ["e", "#/reliability", "nav.reliability"],
];

let after = "";

export function listen(help) {
  window.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") return leave();
    if (typing(event.target) || document.querySelector("dialog[open]")) return;
    if (pressed(event.key, help)) event.preventDefault();
  });
}

function typing(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function pressed(key, help) {
  const first = after;
  after = "";
  if (first === "g") {
    const place = PLACES.find(([letter]) => letter === key);
    if (place) go(place[1]);
    return Boolean(place);
  }
  if (key === "g") after = "g";
  else if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
  else if (key === "/") return filter();
  else if (key === "?") help();
  else return false;
  return true;
}

function move(step) {
  const rows = [...document.querySelectorAll("main [data-row]")].filter((row) => row.offsetParent);
  if (rows.length === 0) return;
  rows.sort((one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top);
  const now = rows.indexOf(document.activeElement);
  const next = now < 0 ? firstSeen(rows) : rows[Math.max(0, Math.min(rows.length - 1, now + step))];
  next.focus({ preventScroll: false });
  next.scrollIntoView({ block: "nearest" });
}

function firstSeen(rows) {
  const top = document.querySelector("main").getBoundingClientRect().top;
  return rows.find((row) => row.getBoundingClientRect().top >= top) || rows[0];
}

function filter() {
  const field = document.querySelector("main input[type=search]");
  field?.focus();
  field?.select();
  return Boolean(field);
}

function leave() {
  if (typing(document.activeElement)) document.activeElement.blur();
}
