// The attempts of a run over time, a row per task: stages of each attempt, waits with their causes.

import { html, useState } from "../vendor/preact.js";
import { clock, seconds } from "../amounts.js";
import { ofRun, useSize, useTick } from "../documents.js";
import { serverNow } from "../live.js";
import { Empty, TaskName, ErrorMessage } from "../parts/components.js";
import { Mark, SHAPES, shownState } from "../parts/shapes.js";
import { Rows, useNarrow } from "../parts/virtual_rows.js";
import { go, refine, toTask } from "../routes.js";
import { named, t } from "../words.js";
import { usePages } from "../pages.js";

const PAGE = 100;
const CAUSES = ["NEEDS", "SLOT", "PAUSED", "BACKOFF", "LIMIT", "PERSON", "HELD", "LEASE", "RACE"];
const STAGES = ["PREPARE", "WORK", "VERIFY", "LAND"];
const ENDS = { LANDED: "DONE", RETRY: "RETRY", ESCALATED: "ESCALATED", HELD: "HELD", LOST: "CANCELLED", CANCELLED: "CANCELLED" };
const LANE = 30;
// The gap between names and lanes, and the width of a scrollbar.
const BESIDE = 26;
// On touch devices a tap also opens the attempt.
const TOUCHED = window.matchMedia("(hover: none)");

export function Timeline({ run, query }) {
  const [text, setText] = useState(query.text || "");
  const pages = usePages(`/runs/${run.run}/timeline`, { text: query.text, state: query.state, limit: PAGE }, "rows", ofRun(run.run));
  const [box, { width }] = useSize();
  const [told, setTold] = useState(null);
  const narrow = useNarrow();
  useTick(run.finished_at ? 60 : 1);
  const names = narrow ? 96 : 200;
  const lane = Math.max(80, width - names - BESIDE);
  const [scale, controls] = useScale(pages.first, lane, run.status === "ACTIVE");
  const typed = (event) => {
    setText(event.target.value);
    refine({ text: event.target.value });
  };
  return html`<div class="filters">
      <input type="search" placeholder=${t("filter.tasks")} aria-label=${t("filter.tasks")} value=${text} onInput=${typed} />
      <div class="toggles" role="group" aria-label=${t("zoom")}>${controls.map(([words, label, act]) => html`<button type="button" class="toggle" aria-label=${label} title=${label} onClick=${act}>${words}</button>`)}</div>
      <${Legend} rows=${pages.rows} />
    </div>
    ${pages.error && html`<${ErrorMessage} error=${pages.error} />`}
    ${pages.first && pages.rows.length === 0 && html`<${Empty} title=${t("timeline.none")} />`}
    <div class="timeline" ref=${box} style=${{ "--names": `${names}px` }}>
      ${width > 0 && pages.rows.length > 0 && html`<${Rows} count=${pages.rows.length} height=${LANE} label=${t("tab.timeline")} onSight=${pages.sight}
        head=${html`<div class="row lane" role="row"><div class="cell nm" role="columnheader">${t("task")}</div><div class="cell" role="columnheader"><${Axis} scale=${scale} /></div></div>`}
        draw=${(index) => pages.rows[index] && html`<${Lane} row=${pages.rows[index]} index=${index} scale=${scale} tell=${setTold} />`} />`}
    </div>
    <p class="told-strip" aria-live="off">${told || t(TOUCHED.matches ? "timeline.hint.touch" : "timeline.hint")}</p>`;
}

// ---------------------------------------------------------------- the scale

function useScale(first, width, open) {
  const [zoom, setZoom] = useState(null); // { from, span } in ms; null fits all
  const from = first ? Date.parse(first.from) : 0;
  const end = first ? Math.max(Date.parse(first.until || first.now), open ? serverNow() : 0, from + 1000) : 1;
  const whole = { from, span: (end - from) * 1.02 };
  const now = zoom || whole;
  const scaled = (factor) => {
    const span = Math.max(1000, now.span * factor);
    setZoom(span >= whole.span ? null : { from: Math.max(from, now.from + (now.span - span) / 2), span });
  };
  const moved = (share) => zoom && setZoom({ ...zoom, from: Math.max(from - zoom.span / 2, zoom.from + zoom.span * share) });
  const scale = { ...now, width, x: (instant) => ((Date.parse(instant) - now.from) / now.span) * width, now: ((serverNow() - now.from) / now.span) * width };
  const controls = [["−", t("zoom.out"), () => scaled(2)], ["+", t("zoom.in"), () => scaled(0.5)], ["←", t("zoom.earlier"), () => moved(-0.4)], ["→", t("zoom.later"), () => moved(0.4)], [t("zoom.fit"), t("zoom.fit"), () => setZoom(null)]];
  return [scale, controls];
}

function Axis({ scale }) {
  const step = nice(scale.span / Math.max(2, scale.width / 110));
  const marks = [];
  for (let at = Math.ceil(scale.from / step) * step; at < scale.from + scale.span && marks.length < 40; at += step) marks.push(at);
  return html`<svg class="axis-row" width=${scale.width} height="20" aria-hidden="true">${marks.map((at) => {
    const x = ((at - scale.from) / scale.span) * scale.width;
    const words = clock(new Date(at).toISOString());
    // A label that would be cut off is left out; its line stays.
    return html`<g><line class="axis faint" x1=${x} x2=${x} y1="14" y2="20" />${x + 3 + long(words) <= scale.width && html`<text class="tick" x=${x + 3} y="13">${words}</text>`}</g>`;
  })}</svg>`;
}

const NICE = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400, 604_800];
const nice = (span) => 1000 * (NICE.find((one) => one * 1000 >= span) || NICE[NICE.length - 1]);

// ---------------------------------------------------------------- one row

function Lane({ row, index, scale, tell }) {
  const label = spoken(row);
  return html`<div class="row lane" role="row" aria-rowindex=${index + 2} data-task=${row.task}>
    <div class="cell nm" role="cell"><span class="state" data-state=${shownState(row)}><${Mark} state=${shownState(row)} /></span> <${TaskName} id=${row.task} name=${row.name} row /></div>
    <div class="cell" role="cell"><svg class="lane-svg" width=${scale.width} height=${LANE - 2} role="img" aria-label=${label} onMouseLeave=${() => tell(null)}>
      ${row.waits.filter((wait) => beside(wait, row)).map((wait) => html`<${Wait} wait=${wait} scale=${scale} tell=${tell} row=${row} />`)}
      ${row.attempts.map((attempt) => html`<${Attempt} attempt=${attempt} row=${row} scale=${scale} tell=${tell} />`)}
      ${row.waits.filter((wait) => !beside(wait, row)).map((wait) => html`<${Wait} wait=${wait} scale=${scale} tell=${tell} row=${row} inside />`)}
      ${row.attempts.map((attempt) => html`<${Signs} attempt=${attempt} scale=${scale} />`)}
    </svg></div></div>`;
}

/** A wait inside an attempt that continued after its worker died or a person answered. */
const beside = ({ cause, from }, row) => cause !== "LEASE" && !row.attempts.some((one) => Date.parse(one.from) < Date.parse(from) && (!one.until || Date.parse(from) < Date.parse(one.until)));

function spoken(row) {
  const tries = row.attempts.map((one) => `${t("attempt.n", { n: one.attempt })}: ${one.ended ? named("ended", one.ended) : t("running")}${one.failure ? `, ${one.failure}` : ""}`);
  const open = row.waits.filter((wait) => !wait.until).map((wait) => waitWords(wait, row));
  return [...tries, ...open].join("; ") || named("state", shownState(row));
}

/** In the page's own words. */
function waitWords({ cause, words }, row) {
  if (cause === "PERSON") return `${named("wait", cause)}: ${named("reason", words)}`;
  if (cause !== "NEEDS" || row.needs.length === 0) return named("wait", cause);
  const names = row.needs.join(t("comma"));
  return t("wait.for", { names: row.needs_left_out ? `${names}${t("comma")}${t("and.more", { n: row.needs_left_out })}` : names });
}

function placed(span, scale) {
  const x = scale.x(span.from);
  const end = span.until ? scale.x(span.until) : Math.min(scale.now, scale.width);
  const left = Math.max(-4, x);
  return { left, width: Math.min(scale.width + 4, end) - left, seen: end >= 0 && x <= scale.width };
}

function Wait({ wait, scale, tell, row, inside }) {
  const { left, width, seen } = placed(wait, scale);
  if (!seen || width < 0.5) return null;
  // No work happened meanwhile: the bar has a gap there.
  const open = inside && wait.cause !== "LEASE";
  const first = open ? Math.max(left + 4, numbered(wait, row, scale)) : left + 4;
  const room = left + width - first;
  const why = waitWords(wait, row);
  // The words about a limit or a worker are shown untranslated in the tooltip.
  const said = wait.words && ["LIMIT", "LEASE", "PAUSED"].includes(wait.cause) ? ` · ${wait.words}` : "";
  const words = `${row.name}: ${why} · ${lasted(wait)}${said}`;
  return html`<g class="wait" data-cause=${wait.cause} onMouseEnter=${() => tell(words)}><title>${words}</title>
    ${open && html`<rect class="cut-open" x=${left} y="4" width=${width} height="20" />`}<line x1=${left} x2=${left + width} y1="14" y2="14" /><rect class="catch" x=${left} y="4" width=${width} height="20" />
    ${room > 66 && wait.cause !== "LEASE" && html`<text x=${first} y="10">${cut(why, room)}</text>`}</g>`;
}

/** Where the number ends of the attempt that contains the wait. */
function numbered(wait, row, scale) {
  const before = row.attempts.findLast((one) => Date.parse(one.from) < Date.parse(wait.from));
  return before ? placed(before, scale).left + 8 + 7 * String(before.attempt).length : 0;
}

function Attempt({ attempt, row, scale, tell }) {
  const whole = placed(attempt, scale);
  if (!whole.seen) return null;
  const words = `${row.name}: ${t("attempt.n", { n: attempt.attempt })} ${attempt.agent || ""}, ${attempt.ended ? named("ended", attempt.ended) : t("running")} · ${lasted(attempt)}${attempt.failure ? ` · ${attempt.failure}` : ""}`;
  return html`<g class="try" data-ended=${attempt.ended || "OPEN"} onMouseEnter=${() => tell(words)} onClick=${() => go(toTask(row.task, String(attempt.attempt)))}><title>${words}</title>
    <rect class="try-whole" x=${whole.left} y="5" width=${Math.max(3, whole.width)} height="18" />
    ${attempt.stages.map((stage) => {
      const { left, width, seen } = placed(stage, scale);
      return seen && html`<rect class="stage" data-stage=${stage.stage} x=${left} y="5" width=${Math.max(1, width)} height="18" />`;
    })}</g>`;
}

/** The number and the end of an attempt, above its gaps. */
function Signs({ attempt, scale }) {
  const whole = placed(attempt, scale);
  if (!whole.seen) return null;
  const end = ENDS[attempt.ended];
  return html`${whole.width > (end ? 26 : 14) && html`<text class="try-number" x=${whole.left + 4} y="18">${attempt.attempt}</text>`}
    ${end && html`<svg x=${Math.max(whole.left, whole.left + whole.width - 13)} y="8" width="12" height="12" viewBox="0 0 16 16" class="try-end" data-state=${end}><${Paths} state=${end} /></svg>`}`;
}

function Paths({ state }) {
  const { solid, line, cut: inner } = SHAPES[state];
  return html`${solid && html`<path class="solid" d=${solid} />`}${line && html`<path class="line" d=${line} />`}${inner && html`<path class="cut" d=${inner} />`}`;
}

// East Asian characters are as wide as they are high.
const wide = (char) => (char >= "\u1100" ? 11 : 6);
const long = (words) => [...words].reduce((sum, char) => sum + 1.1 * wide(char), 0);

function cut(words, width) {
  let left = width;
  const kept = [...words].findIndex((char) => (left -= wide(char)) < 0);
  return kept < 0 ? words : `${[...words].slice(0, Math.max(2, kept - 1)).join("")}…`;
}

const lasted = (span) => seconds(((span.until ? Date.parse(span.until) : serverNow()) - Date.parse(span.from)) / 1000);

/** Stages, and the causes that are drawn. */
function Legend({ rows }) {
  const drawn = new Set(rows.flatMap((row) => (row ? row.waits.map((wait) => wait.cause) : [])));
  return html`<span class="legend timeline-legend">${STAGES.map((stage) => html`<span><svg width="14" height="10" aria-hidden="true"><rect class="stage" data-stage=${stage} width="14" height="10" /></svg>${named("stage", stage)}</span>`)}
    ${CAUSES.filter((cause) => drawn.has(cause)).map((cause) => html`<span class="wait" data-cause=${cause}><svg width="18" height="10" aria-hidden="true"><line x1="0" x2="18" y1="5" y2="5" /></svg>${named("wait", cause)}</span>`)}</span>`;
}
