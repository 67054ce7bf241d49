// Burn-down and spending, drawn as steps: between two points nothing changed.

import { html } from "../vendor/preact.js";
import { clock, money, tokens } from "../amounts.js";
import { useSize } from "../documents.js";
import { serverNow } from "../live.js";
import { number, t } from "../words.js";

const HEIGHT = 150;
const LEFT = 38;
const BOTTOM = 20;
const TOP = 8;

export function Burndown({ points, open }) {
  if (points.length < 2) return html`<p class="hush">${t("chart.soon")}</p>`;
  const last = points[points.length - 1];
  const label = t("burndown.words", { open: last.open, total: last.total, done: last.done });
  const series = [
    { name: "total", values: points.map((point) => point.total), kind: "total" },
    { name: "open", values: points.map((point) => point.open), kind: "open", area: true },
    { name: "escalated", values: points.map((point) => point.escalated), kind: "escalated" },
  ];
  return html`<${Chart} points=${points} series=${series} label=${label} open=${open} write=${number} />
    <p class="legend"><span data-kind="open">${t("chart.open")} <b>${last.open}</b></span><span data-kind="total">${t("chart.total")} <b>${last.total}</b></span><span data-kind="escalated">${t("chart.escalated")} <b>${last.escalated}</b></span></p>
    <${Table} points=${points} />`;
}

export function Spent({ points, run }) {
  const last = points[points.length - 1];
  const measure = last && last.cost !== null ? "cost" : last && last.tokens !== null ? "tokens" : "agent_runs";
  const write = measure === "cost" ? money : measure === "tokens" ? tokens : number;
  const series = [{ name: measure, values: points.map((point) => point[measure] ?? 0), kind: "spent", area: true }];
  return html`
    ${points.length > 1 && html`<${Chart} points=${points} series=${series} label=${t(`spent.${measure}`, { amount: write(last[measure]) })} open=${run.status === "ACTIVE"} write=${write} />`}
    <p class="legend"><span data-kind="spent">${t(`chart.${measure}`)}</span></p>
    <table class="plain numbers-table"><tbody>
      <tr><th scope="row">${t("cost")}</th><td>${money(run.cost, run.untold)}</td></tr>
      <tr><th scope="row">${t("tokens")}</th><td>${tokens(run.tokens, run.untold)}</td></tr>
      <tr><th scope="row">${t("agent.runs")}</th><td>${number(run.agent_runs)}</td></tr>
      ${run.untold > 0 && html`<tr><th scope="row">${t("untold")}</th><td>${number(run.untold)}</td></tr>`}
    </tbody></table>`;
}

function Chart({ points, series, label, open, write }) {
  const [ref, { width }] = useSize();
  const from = Date.parse(points[0].at);
  const until = Math.max(open ? serverNow() : 0, Date.parse(points[points.length - 1].at), from + 1000);
  const most = Math.max(1e-9, ...series.flatMap((one) => one.values));
  const x = (at) => LEFT + ((width - LEFT - 4) * (Date.parse(at) - from)) / (until - from);
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most);
  return html`<div class="chart" ref=${ref}>${width > 60 && html`<svg width=${width} height=${HEIGHT} role="img" aria-label=${label}>
    <line class="axis" x1=${LEFT} x2=${width - 4} y1=${y(0)} y2=${y(0)} /><line class="axis faint" x1=${LEFT} x2=${width - 4} y1=${y(most)} y2=${y(most)} />
    <text class="tick" x=${LEFT - 6} y=${y(most) + 4} text-anchor="end">${write(most)}</text><text class="tick" x=${LEFT - 6} y=${y(0) + 4} text-anchor="end">0</text>
    <text class="tick" x=${LEFT} y=${HEIGHT - 4}>${clock(points[0].at)}</text><text class="tick" x=${width - 4} y=${HEIGHT - 4} text-anchor="end">${clock(new Date(until).toISOString())}</text>
    ${series.map((one) => html`<g data-kind=${one.kind}>${one.area && html`<path class="area" d=${`${steps(points, one.values, x, y, width - 4)}V${y(0)}H${LEFT}Z`} />`}<path class="curve" d=${steps(points, one.values, x, y, width - 4)} /></g>`)}
  </svg>`}</div>`;
}

function steps(points, values, x, y, end) {
  const moves = points.map((point, i) => (i ? `H${x(point.at).toFixed(1)}V${y(values[i]).toFixed(1)}` : `M${x(point.at).toFixed(1)} ${y(values[i]).toFixed(1)}`));
  return `${moves.join("")}H${end}`;
}

/** The same as a table, for people who cannot see the curve. */
function Table({ points }) {
  const some = points.filter((_, i) => i === 0 || i === points.length - 1 || i % Math.ceil(points.length / 20) === 0);
  return html`<details class="as-table"><summary>${t("as.table")}</summary><table class="plain numbers-table">
    <thead><tr><th scope="col">${t("time")}</th><th scope="col">${t("chart.open")}</th><th scope="col">${t("state.DONE")}</th><th scope="col">${t("chart.escalated")}</th><th scope="col">${t("agent.runs")}</th></tr></thead>
    <tbody>${some.map((point) => html`<tr><td>${clock(point.at)}</td><td>${point.open}</td><td>${point.done}</td><td>${point.escalated}</td><td>${point.agent_runs}</td></tr>`)}</tbody>
  </table></details>`;
}
