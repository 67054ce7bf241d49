// Folds tasks into one box: those of a phase or group, or the done ones of a layer.  Pure.

import { shownState } from "../parts/shapes.js";

const FINISHED = new Set(["DONE", "REPLACED", "CANCELLED"]);

const KEYS = {
  none: () => null,
  phase: (node) => node.phase && `phase:${node.phase}`,
  group: (node) => (node.kind === "group" ? `group:${node.n}` : node.group && `group:${node.group}`),
  done: (node) => FINISHED.has(node.state) && `done:${node.layer}`,
};

export const FOLDS = Object.keys(KEYS);

/** Boxes and the edges between them; `opened` has the keys of unfolded boxes. */
export function fold(runGraph, how, opened) {
  const keyOf = KEYS[how] || KEYS.none;
  const boxes = new Map();
  const home = new Map();
  for (const node of runGraph.nodes) {
    const key = keyOf(node);
    const name = key && !opened.has(key) ? key : node.id;
    if (!boxes.has(name)) boxes.set(name, { key: name, nodes: [], layer: node.layer });
    boxes.get(name).nodes.push(node);
    home.set(node.n, name);
  }
  const edges = new Map();
  for (const [from, to] of runGraph.edges) {
    const [one, other] = [home.get(from), home.get(to)];
    if (!one || !other || one === other) continue;
    const key = `${one} ${other}`;
    edges.set(key, { from: one, to: other, n: (edges.get(key)?.n || 0) + 1 });
  }
  const list = [...boxes.values()].map(makeBox);
  assignLayers(list, [...edges.values()]);
  return { boxes: list, edges: [...edges.values()] };
}

function makeBox(box) {
  const [first] = box.nodes;
  const single = box.nodes.length === 1 ? first : null;
  const name = single ? first.name : box.key.startsWith("done:") ? "" : box.key.split(":").slice(1).join(":");
  const group = box.key.startsWith("group:") ? box.nodes.find((node) => node.kind === "group") : null;
  return refreshBox({ ...box, single, name: group ? group.name : name, order: first.n });
}

/** Updates the state of each box from its tasks. */
export function refreshBox(box) {
  box.counts = {};
  for (const node of box.nodes) box.counts[shownState(node)] = (box.counts[shownState(node)] || 0) + 1;
  box.state = box.single ? shownState(box.single) : worst(box.counts);
  return box;
}

const WORST = ["ESCALATED", "BLOCKED", "ACTIVE", "HELD", "WAITING", "CANCELLED", "REPLACED", "DONE"];
const worst = (counts) => WORST.find((state) => counts[state]) || "WAITING";

/** The longest path to each box; an edge that closes a cycle by folding is left out. */
function assignLayers(boxes, edges) {
  const byKey = new Map(boxes.map((box) => [box.key, box]));
  const before = new Map(boxes.map((box) => [box.key, []]));
  for (const edge of edges) before.get(edge.to).push(edge.from);
  const known = new Map();
  for (const box of boxes) {
    const stack = [[box.key, 0]];
    const open = new Set([box.key]);
    while (stack.length) {
      const top = stack[stack.length - 1];
      const needs = before.get(top[0]);
      if (known.has(top[0])) {
        open.delete(top[0]);
        stack.pop();
      } else if (top[1] < needs.length) {
        const next = needs[top[1]];
        top[1] += 1;
        if (!known.has(next) && !open.has(next)) {
          open.add(next);
          stack.push([next, 0]);
        }
      } else {
        known.set(top[0], needs.reduce((most, key) => Math.max(most, (known.get(key) ?? -1) + 1), 0));
      }
    }
  }
  for (const box of boxes) byKey.get(box.key).layer = known.get(box.key);
}
