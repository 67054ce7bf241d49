// Draws the visible part of the graph on a canvas, with as much detail as is readable.

import { SHAPES } from "../parts/shapes.js";
import { named } from "../words.js";

const PATHS = Object.fromEntries(Object.entries(SHAPES).map(([state, shape]) => [state, Object.fromEntries(Object.entries(shape).map(([part, d]) => [part, new Path2D(d)]))]));
const COLOURS = ["ground", "surface", "ink", "hush", "line", "edge", "accent", ...Object.keys(SHAPES).map((state) => `state-${state.toLowerCase()}`)];

export function colours() {
  const style = getComputedStyle(document.documentElement);
  return { ...Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])), font: getComputedStyle(document.body).fontFamily };
}

/** `view` is { x, y, scale }: where the top left of the window is, in the graph's own measure. */
export function draw(canvas, graph, view, marked, paint) {
  const ratio = window.devicePixelRatio || 1;
  const pen = canvas.getContext("2d");
  const { width, height } = canvas;
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.fillStyle = paint.ground;
  pen.fillRect(0, 0, width, height);
  const scale = view.scale * ratio;
  pen.setTransform(scale, 0, 0, scale, -view.x * scale, -view.y * scale);
  const sight = { left: view.x, top: view.y, right: view.x + width / scale, bottom: view.y + height / scale };
  const far = view.scale * graph.boxes[0]?.height < FAR_PX;
  drawEdges(pen, graph, sight, marked, paint, view.scale, far);
  if (far) return drawCells(pen, graph, sight, marked, paint, view.scale);
  for (const box of graph.boxes) if (meets(box, sight)) drawBox(pen, box, view.scale, marked, paint);
  return undefined;
}

// Below this height a box shows only its state.
const FAR_PX = 6;
// Rarer states are drawn later; important ones keep their mark.
const RARE = ["DONE", "REPLACED", "CANCELLED", "WAITING", "HELD", "BLOCKED", "ACTIVE", "ESCALATED"];
const LOUD = new Set(["ACTIVE", "ESCALATED"]);
const LOUD_MAX = 300;
const MARK_PX = 13;

/** Zoomed out: one coloured field for each task, to show the overall progress. */
function drawCells(pen, graph, sight, marked, paint, scale) {
  const fields = Object.fromEntries(RARE.map((state) => [state, []]));
  for (const box of graph.boxes) if (meets(box, sight)) (fields[box.state] || fields.WAITING).push(box);
  for (const state of RARE) {
    pen.fillStyle = paint[`state-${state.toLowerCase()}`];
    for (const box of fields[state]) {
      pen.globalAlpha = (isDimmed(box, marked) ? 0.25 : 1) * (state === "WAITING" ? 0.3 : 1);
      pen.fillRect(box.x, box.y - graph.gap / 2, box.width, box.height + graph.gap);
    }
  }
  for (const state of LOUD) for (const box of fields[state].slice(0, LOUD_MAX)) drawFlag(pen, box, MARK_PX / scale, marked, paint);
  pen.globalAlpha = 1;
}

/** A mark with a background, of the same size at every zoom level. */
function drawFlag(pen, box, size, marked, paint) {
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  pen.globalAlpha = isDimmed(box, marked) ? 0.25 : 1;
  pen.fillStyle = paint.surface;
  pen.beginPath();
  pen.arc(x, y, 0.75 * size, 0, 2 * Math.PI);
  pen.fill();
  drawMark(pen, box.state, x - size / 2, y - size / 2, size, paint);
}

const isDimmed = (box, marked) => (marked.near && !marked.near.has(box.key)) || (marked.found && !marked.found.has(box.key));

const EDGES_FAR_MAX = 1_500;

function meets(box, { left, top, right, bottom }) {
  return box.x < right && box.x + box.width > left && box.y < bottom && box.y + box.height > top;
}

function drawEdges(pen, graph, sight, marked, paint, scale, far) {
  const plain = new Path2D();
  const strong = new Path2D();
  // Thousands of lines between tiny fields would hide the fields.
  const drawn = far && graph.edges.length > EDGES_FAR_MAX ? graph.edges.filter((edge) => marked.near?.has(edge.from)) : graph.edges;
  for (const edge of drawn) {
    const [from, to] = [graph.byKey.get(edge.from), graph.byKey.get(edge.to)];
    if (to.single?.proof && !far) continue;
    const top = Math.min(from.y, to.y);
    if (Math.min(from.x, to.x) > sight.right || Math.max(from.x, to.x) + to.width < sight.left || top > sight.bottom || Math.max(from.y, to.y) + to.height < sight.top) continue;
    (graph.upright ? drop : curve)(marked.near?.has(edge.from) && marked.near.has(edge.to) ? strong : plain, from, to, edge.via);
  }
  if (!far) for (const box of graph.boxes) if (box.single?.proof) bracket(plain, graph, box);
  pen.lineWidth = Math.max(0.6, 0.8 / scale);
  pen.strokeStyle = paint.edge;
  // The more lines there are, the fainter each one is.
  pen.globalAlpha = (marked.near ? 0.25 : 1) * Math.max(0.18, Math.min(0.9, 260 / graph.edges.length + 0.1));
  pen.stroke(plain);
  pen.globalAlpha = 1;
  pen.lineWidth = Math.max(1.2, 1.6 / scale);
  pen.strokeStyle = paint.accent;
  pen.stroke(strong);
}

/** `via`: the gaps between boxes through which the line goes. */
function curve(path, from, to, via = []) {
  let [x, y] = [from.x + from.width, from.y + from.height / 2];
  path.moveTo(x, y);
  for (const next of [...via, { x: to.x, y: to.y + to.height / 2, width: 0 }]) {
    const bend = Math.max(18, Math.min(80, Math.abs(next.x - x) / 2));
    path.bezierCurveTo(x + bend, y, next.x - bend, next.y, next.x, next.y);
    if (next.width) path.lineTo(next.x + next.width, next.y);
    [x, y] = [next.x + next.width, next.y];
  }
}

/** The same for a vertical layout. */
function drop(path, from, to, via = []) {
  let [x, y] = [from.x + from.width / 2, from.y + from.height];
  path.moveTo(x, y);
  for (const next of [...via, { x: to.x + to.width / 2, y: to.y, height: 0 }]) {
    const bend = Math.max(12, Math.min(60, Math.abs(next.y - y) / 2));
    path.bezierCurveTo(x, y + bend, next.x, next.y - bend, next.x, next.y);
    if (next.height) path.lineTo(next.x, next.y + next.height);
    [x, y] = [next.x, next.y + next.height];
  }
}

/** A final check depends on all tasks: one line along the graph instead of one from each. */
function bracket(path, graph, proof) {
  const [side, long, across, high] = graph.upright ? ["y", "height", "x", "width"] : ["x", "width", "y", "height"];
  const before = graph.boxes.filter((box) => box[side] + box[long] <= proof[side]);
  if (before.length === 0) return;
  const [end, first, last] = before.reduce(([far, low, most], box) => [Math.max(far, box[side] + box[long]), Math.min(low, box[across]), Math.max(most, box[across] + box[high])], [-Infinity, Infinity, -Infinity]);
  const at = (end + proof[side]) / 2;
  const middle = proof[across] + proof[high] / 2;
  const move = (to, along, over) => (graph.upright ? path[to](over, along) : path[to](along, over));
  move("moveTo", at - TICK, first);
  move("lineTo", at, first);
  move("lineTo", at, last);
  move("lineTo", at - TICK, last);
  move("moveTo", at, middle);
  move("lineTo", proof[side], middle);
}

const TICK = 6;

function drawBox(pen, box, scale, marked, paint) {
  const colour = paint[`state-${box.state.toLowerCase()}`];
  pen.globalAlpha = isDimmed(box, marked) ? 0.22 : 1;
  pen.fillStyle = paint.surface;
  pen.strokeStyle = colour;
  pen.lineWidth = marked.key === box.key ? 2.4 : 1;
  pen.beginPath();
  pen.roundRect(box.x, box.y, box.width, box.height, 4);
  pen.fill();
  pen.stroke();
  if (!box.single) drawCounts(pen, box, paint);
  const size = Math.min(12, box.height - 8);
  drawMark(pen, box.state, box.x + 5, box.y + (box.height - size) / 2 - (box.single ? 0 : 2), size, paint);
  if (scale * size > 4) drawName(pen, box, size, paint);
  pen.globalAlpha = 1;
}

/** A folded box shows its parts as a bar at the bottom. */
function drawCounts(pen, box, paint) {
  let x = box.x + 1;
  for (const [state, n] of Object.entries(box.counts)) {
    const width = ((box.width - 2) * n) / box.nodes.length;
    pen.fillStyle = paint[`state-${state.toLowerCase()}`];
    pen.fillRect(x, box.y + box.height - 4, width, 3);
    x += width;
  }
}

function drawMark(pen, state, x, y, size, paint) {
  const parts = PATHS[state] || PATHS.WAITING;
  const colour = paint[`state-${state.toLowerCase()}`];
  pen.save();
  pen.translate(x, y);
  pen.scale(size / 16, size / 16);
  pen.lineWidth = 2;
  [pen.fillStyle, pen.strokeStyle] = [colour, colour];
  if (parts.solid) pen.fill(parts.solid);
  if (parts.line) pen.stroke(parts.line);
  pen.strokeStyle = paint.surface;
  if (parts.cut) pen.stroke(parts.cut);
  pen.restore();
}

function drawName(pen, box, size, paint) {
  pen.fillStyle = paint.ink;
  pen.font = `${size}px ${paint.font}`;
  pen.textBaseline = "middle";
  const tries = box.single && box.single.attempt > 1 ? ` ${box.single.attempt}×` : "";
  const many = box.single ? "" : ` ${box.nodes.length}`;
  const room = box.width - size - 14;
  const words = (box.name || named("state", box.state)) + many;
  const right = tries ? pen.measureText(tries).width : 0;
  const y = box.y + box.height / 2 + (box.single ? 0.5 : -1.5);
  pen.fillText(fitted(pen, words, room - right, box), box.x + size + 9, y);
  if (!tries) return;
  pen.fillStyle = paint.hush;
  pen.fillText(tries, box.x + box.width - right - 4, y);
}

/** Shortens a name in the middle: names of one plan often share their beginning. */
function shorten(words, most) {
  const tail = Math.floor(most / 3);
  return `${words.slice(0, most - tail)}…${tail ? words.slice(-tail) : ""}`;
}

/** Measured once per name and width. */
function fitted(pen, words, room, box) {
  if (box.fitted?.words === words && box.fitted.room === room) return box.fitted.text;
  let text = words;
  if (pen.measureText(text).width > room) {
    let [low, high] = [0, words.length];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (pen.measureText(shorten(words, middle)).width <= room) low = middle;
      else high = middle - 1;
    }
    text = shorten(words, low);
  }
  box.fitted = { words, room, text };
  return text;
}
