// Long lists: only visible rows are in the page.  All rows have the same height.

import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";

const BEYOND = 12; // rows kept ready above and below, so that the keyboard always finds the next

/**
 * `draw(index)` makes one row; `onSight(first, last)` gets the visible range.
 * The head is a row of column names; both are rows of one table for screen readers.
 */
export function Rows({ count, height, draw, head, label, onSight, scroller, short }) {
  const ref = useRef(null);
  const [span, setSpan] = useState([0, 40]);
  const look = () => {
    const box = ref.current;
    if (!box) return;
    const first = Math.max(0, Math.floor(box.scrollTop / height) - BEYOND);
    const last = Math.min(count, Math.ceil((box.scrollTop + box.clientHeight) / height) + BEYOND);
    setSpan((before) => (before[0] === first && before[1] === last ? before : [first, last]));
    onSight?.(first, last, box);
  };
  useLayoutEffect(look, [count, height, onSight]);
  useEffect(() => {
    if (scroller) scroller.current = ref.current;
    const watch = new ResizeObserver(look);
    watch.observe(ref.current);
    return () => watch.disconnect();
  }, [count, height]);
  const shown = [];
  for (let index = span[0]; index < Math.min(span[1], count); index += 1) shown.push(index);
  return html`<div class=${short ? "rows short" : "rows"} role="table" aria-label=${label} aria-rowcount=${count + 1}>
    <div role="rowgroup" class="rows-head">${head}</div>
    <div role="rowgroup" class="rows-body" ref=${ref} onScroll=${look} tabindex="-1">
      <div class="rows-all" style=${{ height: `${count * height}px` }}>
        ${shown.map((index) => html`<div key=${index} class="row-place" role="presentation" style=${{ transform: `translateY(${index * height}px)`, height: `${height}px` }}>${draw(index)}</div>`)}
      </div>
    </div>
  </div>`;
}

/** A row of cells: [class, content]. */
export function Row({ kind, cells, index, state, onClick }) {
  return html`<div role="row" class=${`row ${kind}`} aria-rowindex=${index === undefined ? 1 : index + 2} data-state=${state} onClick=${onClick}>
    ${cells.map(([name, content]) => html`<div role=${index === undefined ? "columnheader" : "cell"} class=${`cell ${name}`}>${content}</div>`)}
  </div>`;
}

/** Is the window narrow?  Rows are then taller, with two lines. */
const narrow = window.matchMedia("(max-width: 760px)");

export function useNarrow() {
  const [is, setIs] = useState(narrow.matches);
  useEffect(() => {
    const changed = () => setIs(narrow.matches);
    narrow.addEventListener("change", changed);
    return () => narrow.removeEventListener("change", changed);
  }, []);
  return is;
}
