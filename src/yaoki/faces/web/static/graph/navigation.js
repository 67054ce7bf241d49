// Graph navigation: drag, wheel, pinch, buttons, and the keyboard along edges.

import { useEffect, useRef, useState } from "../vendor/preact.js";
import { t } from "../words.js";

const SCALES = [0.04, 4];
const EDGE = 16;
// In a small window a readable beginning is better than an unreadable whole.
const READABLE = 0.7;

export function useNavigation(ref, graph, size, { choose, open, key }) {
  const [view, setView] = useState(() => initialView(graph, size));
  const gesture = useRef({ pointers: new Map(), moved: 0, free: false });
  // Until the user moves it, the whole graph is visible.
  useEffect(() => {
    if (!gesture.current.free) setView(initialView(graph, size));
  }, [graph, size.width, size.height]);
  const change = (next) => {
    gesture.current.free = true;
    setView((now) => bounded(next(now), graph, size));
  };
  const zoom = (factor, x = size.width / 2, y = size.height / 2) => change((now) => zoomed(now, factor, x, y));
  const showAll = () => {
    gesture.current.free = false;
    setView(fit(graph, size));
  };
  useEffect(() => {
    // Preact's own listener is passive; the page must not scroll below the pointer.
    const wheel = (event) => {
      event.preventDefault();
      const { left, top } = ref.current.getBoundingClientRect();
      if (event.ctrlKey || !event.shiftKey) zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - left, event.clientY - top);
      else change((now) => ({ ...now, x: now.x + event.deltaX / now.scale + event.deltaY / now.scale }));
    };
    const canvas = ref.current;
    canvas.addEventListener("wheel", wheel, { passive: false });
    return () => canvas.removeEventListener("wheel", wheel);
  }, [graph, size]);
  const step = (event) => {
    const next = neighbour(graph, key, event.key);
    if (next) {
      choose(next.key);
      change((now) => scrolledTo(now, next, size));
    }
    return Boolean(next);
  };
  const events = {
    ...pointerEvents(ref, gesture.current, graph, view, { change, zoom, choose, open }),
    onKeyDown: (event) => {
      if (event.key === "Enter" && graph.byKey.has(key)) open(graph.byKey.get(key));
      else if (event.key === "Escape") choose("");
      else if (event.key === "+" || event.key === "=") zoom(1.3);
      else if (event.key === "-") zoom(1 / 1.3);
      else if (event.key === "0") showAll();
      else if (!event.key.startsWith("Arrow") || !step(event)) return;
      event.preventDefault();
      event.stopPropagation();
    },
  };
  const buttons = [["+", t("zoom.in"), () => zoom(1.4)], ["−", t("zoom.out"), () => zoom(1 / 1.4)], ["⤢", t("zoom.fit"), showAll]];
  return [view, { events, buttons }];
}

function pointerEvents(ref, gesture, graph, view, { change, zoom, choose, open }) {
  const at = (event) => {
    const { left, top } = ref.current.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const under = (event) => {
    const { x, y } = at(event);
    return boxAt(graph, view.x + x / view.scale, view.y + y / view.scale);
  };
  return {
    onPointerDown: (event) => {
      ref.current.setPointerCapture(event.pointerId);
      gesture.pointers.set(event.pointerId, at(event));
      gesture.moved = 0;
    },
    onPointerMove: (event) => {
      const before = gesture.pointers.get(event.pointerId);
      if (!before) {
        const box = under(event);
        ref.current.style.cursor = box ? "pointer" : "grab";
        ref.current.title = box ? box.name : "";
        return;
      }
      const now = at(event);
      const other = [...gesture.pointers].find(([id]) => id !== event.pointerId)?.[1];
      gesture.moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
      gesture.pointers.set(event.pointerId, now);
      if (other) zoom(distance(now, other) / Math.max(1, distance(before, other)), (now.x + other.x) / 2, (now.y + other.y) / 2);
      else if (gesture.moved > 3) change((was) => ({ ...was, x: was.x - (now.x - before.x) / was.scale, y: was.y - (now.y - before.y) / was.scale }));
    },
    onPointerUp: (event) => {
      gesture.pointers.delete(event.pointerId);
      if (gesture.moved <= 3) choose(under(event)?.key || "");
    },
    onPointerCancel: (event) => gesture.pointers.delete(event.pointerId),
    onDblClick: (event) => under(event) && open(under(event)),
  };
}

const distance = (one, other) => Math.hypot(one.x - other.x, one.y - other.y);

function boxAt(graph, x, y) {
  return graph.boxes.find((box) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height);
}

const initialView = (graph, size) => fit(graph, size, graph.upright ? READABLE : SCALES[0]);

export function fit(graph, { width, height }, least = SCALES[0]) {
  const scale = Math.min(1.25, (width - 2 * EDGE) / graph.width, (height - 2 * EDGE) / graph.height);
  const final = Math.max(least, scale);
  return { scale: final, x: -Math.max(EDGE, (width - graph.width * final) / 2) / final, y: -Math.max(EDGE, (height - graph.height * final) / 2) / final };
}

function zoomed(view, factor, x, y) {
  const scale = Math.max(SCALES[0], Math.min(SCALES[1], view.scale * factor));
  return { scale, x: view.x + x / view.scale - x / scale, y: view.y + y / view.scale - y / scale };
}

/** Keeps a part of the graph visible. */
function bounded(view, graph, { width, height }) {
  const [wide, high] = [width / view.scale, height / view.scale];
  const clamp = (value, low, most) => Math.max(low, Math.min(most, value));
  return { ...view, x: clamp(view.x, -wide * 0.8, graph.width - wide * 0.2), y: clamp(view.y, -high * 0.8, graph.height - high * 0.2) };
}

function scrolledTo(view, box, { width, height }) {
  const [wide, high] = [width / view.scale, height / view.scale];
  const inside = box.x > view.x && box.x + box.width < view.x + wide && box.y > view.y && box.y + box.height < view.y + high;
  return inside ? view : { ...view, x: box.x - wide / 2, y: box.y - high / 2 };
}

/** Arrow keys follow edges along the layers, and go to the next box across them. */
function neighbour(graph, key, arrow) {
  const from = graph.byKey.get(key);
  if (!from) return graph.boxes[0];
  const [on, back] = graph.upright ? ["ArrowDown", "ArrowUp"] : ["ArrowRight", "ArrowLeft"];
  const along = { [on]: graph.edges.filter((edge) => edge.from === key).map((edge) => edge.to), [back]: graph.edges.filter((edge) => edge.to === key).map((edge) => edge.from) }[arrow];
  const linked = (along || []).map((one) => graph.byKey.get(one));
  const [dx, dy] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[arrow];
  const ahead = (box) => (dx ? dx * (box.x - from.x) : dy * (box.y - from.y)) > 1;
  const pool = linked.length ? linked : graph.boxes.filter((box) => ahead(box) && (dx || graph.upright || box.x === from.x));
  const cost = (box) => Math.abs(box.x - from.x) * (dx ? 1 : 3) + Math.abs(box.y - from.y) * (dy ? 1 : 3);
  return pool.sort((one, other) => cost(one) - cost(other))[0];
}
