// The layout of the graph: layers from left to right, or downwards in a tall window.  Long layers
// have several columns; a few sweeps over the neighbours reduce crossings.  Pure and fast enough
// for ten thousand boxes.

const SWEEPS = 6;
const GAP = 14;
// Vertical in a tall window, if the boxes stay readable.
const UPRIGHT_MAX = 150;
const UPRIGHT_GAP = 30;
// The direction of the edges in a wide and in a tall window.
const RIGHTWARD = { along: "x", length: "width", across: "y", breadth: "height" };
const DOWNWARD = { along: "y", length: "height", across: "x", breadth: "width" };

/** Adds x, y, width, height to each box; returns the size of the whole. */
export function layout({ boxes, edges }, aspect) {
  const small = boxes.length > 150;
  const width = small ? 108 : 168;
  const height = small ? 20 : 30;
  const down = height + (small ? 5 : 12);
  const layers = groupByLayer(boxes);
  const near = neighbours(boxes, edges);
  reduceCrossings(layers, near);
  if (aspect < 1 && boxes.length <= UPRIGHT_MAX) {
    const size = placeInRows(layers, { width, height, down }, aspect);
    if (!small) routeEdges(boxes, edges, GAP, DOWNWARD);
    return { ...size, gap: down - height, upright: true };
  }
  // With thousands of boxes the layers need space between them to be visible.
  const between = boxes.length > 2_000 ? 150 : small ? 36 : 64;
  const tall = rowsPerColumn(layers, width, down, aspect, between);
  const size = placeInColumns(layers, near, { width, height, down, tall, between });
  if (!small) routeEdges(boxes, edges, down - height, RIGHTWARD);
  return { ...size, gap: down - height };
}

/** Gives an edge that would pass behind boxes the gaps through which it goes instead. */
function routeEdges(boxes, edges, gap, axes) {
  const { along, length, across, breadth } = axes;
  const byKey = new Map(boxes.map((box) => [box.key, box]));
  const columns = new Map();
  for (const box of boxes) (columns.get(box[along]) || columns.set(box[along], []).get(box[along])).push(box);
  for (const edge of edges) {
    const [from, to] = [byKey.get(edge.from), byKey.get(edge.to)];
    const [start, end] = [from[along] + from[length], to[along]];
    const between = [...columns.keys()].filter((at) => at > start && at + from[length] < end).sort((one, other) => one - other);
    let place = from[across] + from[breadth] / 2;
    edge.via = between.map((at) => {
      const straight = place + ((to[across] + to[breadth] / 2 - place) * (at + from[length] / 2 - start)) / Math.max(1, end - start);
      place = freePlace(columns.get(at), straight, gap, axes);
      return { [along]: at, [across]: place, [length]: from[length] };
    });
  }
}

/** The place nearest to `wish` at which no box of the column, or of the row, is. */
function freePlace(column, wish, gap, { across, breadth }) {
  const hit = column.some((box) => wish > box[across] - gap / 2 && wish < box[across] + box[breadth] + gap / 2);
  if (!hit) return wish;
  const free = column.flatMap((box) => [box[across] - gap / 2, box[across] + box[breadth] + gap / 2]);
  return free.reduce((best, place) => (Math.abs(place - wish) < Math.abs(best - wish) ? place : best));
}

function groupByLayer(boxes) {
  const layers = [];
  for (const box of boxes) (layers[box.layer] ||= []).push(box);
  const full = layers.filter(Boolean);
  for (const layer of full) layer.sort((one, other) => one.order - other.order).forEach((box, i) => (box.at = i));
  return full;
}

function neighbours(boxes, edges) {
  const near = new Map(boxes.map((box) => [box.key, { box, before: [], after: [] }]));
  for (const { from, to } of edges) {
    near.get(from).after.push(near.get(to).box);
    near.get(to).before.push(near.get(from).box);
  }
  return near;
}

/** Moves boxes to the median of their neighbours, alternately from both sides. */
function reduceCrossings(layers, near) {
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const forward = sweep % 2 === 0;
    const order = forward ? layers : [...layers].reverse();
    for (const layer of order) {
      for (const box of layer) {
        const beside = near.get(box.key)[forward ? "before" : "after"];
        box.wish = beside.length ? beside.reduce((sum, one) => sum + one.at / one.of, 0) / beside.length : box.at / (box.of || layer.length);
      }
      layer.sort((one, other) => one.wish - other.wish || one.order - other.order);
      layer.forEach((box, i) => Object.assign(box, { at: i, of: layer.length }));
    }
    if (sweep === 0) for (const layer of layers) layer.forEach((box) => (box.of = layer.length));
  }
}

/** How many boxes to stack so that the layout has the shape of the window. */
function rowsPerColumn(layers, width, down, aspect, between) {
  const longest = Math.max(...layers.map((layer) => layer.length));
  let best = [Infinity, longest];
  for (let tall = 4; tall <= Math.max(4, longest); tall = Math.ceil(tall * 1.15)) {
    const columns = layers.reduce((sum, layer) => sum + Math.ceil(layer.length / tall), 0);
    const form = ((columns * (width + GAP) + layers.length * between) / (Math.min(tall, longest) * down)) / aspect;
    const off = Math.abs(Math.log(form));
    if (off < best[0]) best = [off, tall];
  }
  return best[1];
}

function placeInColumns(layers, near, { width, height, down, tall, between }) {
  let x = 0;
  let bottom = 0;
  for (const layer of layers) {
    const columns = Math.ceil(layer.length / tall);
    const rows = Math.ceil(layer.length / columns);
    // Boxes with dependents go to the last column, so that no edge passes behind a box.
    const order = columns > 1 ? [...layer].sort((one, other) => hasDependents(near, one) - hasDependents(near, other) || one.at - other.at) : layer;
    order.forEach((box, i) => {
      Object.assign(box, { width, height, x: x + Math.floor(i / rows) * (width + GAP), y: (i % rows) * down, rows });
      bottom = Math.max(bottom, box.y + height);
    });
    x += columns * (width + GAP) - GAP + between;
  }
  for (const layer of layers) centreLayer(layer, near, bottom, down);
  return { width: Math.max(1, x - between), height: Math.max(1, ...layers.flat().map((box) => box.y + height)) };
}

/** Vertical layers, each in as many rows as the shape of the window needs. */
function placeInRows(layers, { width, height, down }, aspect) {
  const across = boxesPerRow(layers, width, down, aspect);
  const wide = Math.min(across, Math.max(...layers.map((layer) => layer.length))) * (width + GAP) - GAP;
  let y = 0;
  for (const layer of layers) {
    const rows = Math.ceil(layer.length / across);
    const columns = Math.ceil(layer.length / rows);
    const left = (wide - columns * (width + GAP) + GAP) / 2;
    layer.forEach((box, i) => Object.assign(box, { width, height, x: left + (i % columns) * (width + GAP), y: y + Math.floor(i / columns) * down }));
    y += rows * down + UPRIGHT_GAP;
  }
  return { width: wide, height: Math.max(1, y - UPRIGHT_GAP - down + height) };
}

function boxesPerRow(layers, width, down, aspect) {
  const longest = Math.max(...layers.map((layer) => layer.length));
  let best = [Infinity, 1];
  for (let across = 1; across <= longest; across += 1) {
    const rows = layers.reduce((sum, layer) => sum + Math.ceil(layer.length / across), 0);
    const form = (across * (width + GAP)) / (rows * down + layers.length * UPRIGHT_GAP) / aspect;
    const off = Math.abs(Math.log(form));
    if (off < best[0]) best = [off, across];
  }
  return best[1];
}

const hasDependents = (near, box) => Math.min(1, near.get(box.key).after.length);

/** Places a short layer beside its neighbours and not at the top. */
function centreLayer(layer, near, bottom, down) {
  if (layer.some((box) => box.x !== layer[0].x)) return;
  let free = -Infinity;
  const left = new Map(layer.map((box, i) => [box, layer.length - i]));
  for (const box of layer) {
    const before = near.get(box.key).before;
    const wish = before.length ? before.reduce((sum, one) => sum + one.y, 0) / before.length : ((bottom - layer.length * down) / 2) + box.at * down;
    const latest = bottom + down - box.height - left.get(box) * down + box.height - down;
    box.y = Math.max(0, free, Math.min(wish, Math.max(latest, 0)));
    free = box.y + down;
  }
}

/** All ancestors and descendants of a box. */
export function related({ edges }, key) {
  const before = new Map();
  const after = new Map();
  for (const { from, to } of edges) {
    (after.get(from) || after.set(from, []).get(from)).push(to);
    (before.get(to) || before.set(to, []).get(to)).push(from);
  }
  return new Set([...reachable(before, key), ...reachable(after, key)]);
}

function reachable(next, key) {
  const found = new Set([key]);
  const stack = [key];
  while (stack.length) {
    for (const other of next.get(stack.pop()) || []) {
      if (!found.has(other)) stack.push(other);
      found.add(other);
    }
  }
  return found;
}
