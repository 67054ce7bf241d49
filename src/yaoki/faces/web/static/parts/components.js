// Small pieces that every view uses.

import { html, useState } from "../vendor/preact.js";
import { named, t } from "../words.js";
import { ago, moment } from "../amounts.js";
import { toRun, toTask } from "../routes.js";
import { State, shownState } from "./shapes.js";

/** What a view shows while its document is loading, or after an error. */
export function LoadStatus({ of }) {
  if (of.data) return of.error ? html`<${ErrorMessage} error=${of.error} />` : null;
  if (of.error) return html`<${ErrorMessage} error=${of.error} />`;
  return html`<p class="hush" role="status">${t("loading")}</p>`;
}

export function ErrorMessage({ error }) {
  const words = error.code === "AWAY" ? t("away") : error.message;
  return html`<div class="wrong" role="alert"><strong>${words}</strong>
    ${error.hint && html`<${Command} text=${error.hint} />`}
    ${error.defects.length > 0 && html`<ul>${error.defects.map((words) => html`<li>${words}</li>`)}</ul>`}
  </div>`;
}

/** An empty view: why, and the next command. */
export function Empty({ title, words, command }) {
  return html`<div class="empty"><h2>${title}</h2>${words && html`<p>${words}</p>`}${command && html`<${Command} text=${command} />`}</div>`;
}

export function Command({ text }) {
  const [done, setDone] = useState(false);
  const copy = () => navigator.clipboard?.writeText(text).then(() => setDone(true), () => setDone(false));
  return html`<span class="command"><code>${text}</code><button type="button" class="quiet" onClick=${copy} aria-label=${t("copy.this", { what: text })}>${done ? t("copied") : t("copy")}</button></span>`;
}

export function When({ at, plain }) {
  if (!at) return html`<span class="hush">–</span>`;
  return html`<time datetime=${at} title=${moment(at)}>${plain ? moment(at) : ago(at)}</time>`;
}

export function TaskState({ task }) {
  return html`<${State} state=${shownState(task)} />`;
}

export function TaskName({ id, name, row }) {
  return html`<a href=${toTask(id)} class="name" data-row=${row ? "" : undefined}>${name || id}</a>`;
}

export function RunName({ run }) {
  return html`<a href=${toRun(run)} class="code">${run}</a>`;
}

/** A pair of a word and a value, for `<dl class="facts">`. */
export function Fact({ name, children, wide }) {
  return html`<div class=${wide ? "fact wide" : "fact"}><dt>${name}</dt><dd>${children}</dd></div>`;
}

/** The counts of a run: a bar whose parts also have words and numbers. */
export const ORDER = ["DONE", "ACTIVE", "ESCALATED", "BLOCKED", "WAITING", "CANCELLED", "REPLACED"];

/** `proofs` are the run's final checks, shown beside the count of the plan's tasks. */
export function Progress({ counts, blocked = 0, left = false, proofs = {} }) {
  const shown = Object.fromEntries(Object.entries(counts).map(([state, n]) => [state, n - (proofs[state] || 0)]));
  Object.assign(shown, { WAITING: (shown.WAITING || 0) - blocked, BLOCKED: blocked });
  const proof = ORDER.findLast((state) => state !== "REPLACED" && proofs[state]);
  const total = ORDER.reduce((sum, state) => sum + (shown[state] || 0), 0);
  const parts = ORDER.map((state) => [state, shown[state] || 0]).filter(([, n]) => n > 0);
  const alone = (state) => left && state === "ACTIVE";
  const word = (state) => named("state", alone(state) ? "LEFT" : state);
  const words = parts.map(([state, n]) => `${word(state)} ${n}`).join(", ");
  return html`<div class="progress">
    <svg class="progress-bar" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label=${words}>
      ${barSegments(parts, total).map(([state, x, width]) => html`<rect class="bar" data-state=${alone(state) ? "HELD" : state} x=${x} y="0" width=${width} height="10" />`)}
    </svg>
    <span class="progress-words">${parts.map(([state, n]) => html`<span class="count"><${State} state=${alone(state) ? "HELD" : state} words=${word(state)} /><b>${n}</b></span>`)}${proof && html`<span class="count"><span class="hush">${t("proof")}</span><${State} state=${alone(proof) ? "HELD" : proof} words=${word(proof)} /></span>`}</span>
  </div>`;
}

function barSegments(parts, total) {
  let x = 0;
  return parts.map(([state, n]) => {
    const width = (1000 * n) / Math.max(1, total);
    x += width;
    return [state, x - width, Math.max(0, width - (parts.length > 1 ? 2 : 0))];
  });
}

/** A filter over several words; each is a toggle. */
export function Toggles({ label, options, chosen, onChange }) {
  const flip = (name) => onChange(chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name]);
  return html`<div class="toggles" role="group" aria-label=${label}>
    ${options.map(([name, words]) => html`<button type="button" class="toggle" aria-pressed=${chosen.includes(name)} onClick=${() => flip(name)}>${words}</button>`)}
  </div>`;
}
