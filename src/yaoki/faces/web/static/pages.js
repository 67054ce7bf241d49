// A list in pages, by cursor: scrolling loads more, rows out of sight are dropped,
// and visible rows are fetched again when a journal entry makes them outdated.

import { useEffect, useMemo, useState } from "./vendor/preact.js";
import { get, isTemporary } from "./api.js";
import { onEntries } from "./live.js";

const PAGES_KEPT = 12;
const GAP_MS = 500;
const RETRY_MS = 8_000;

/** { rows, first, ended, edge, error, sight }; a dropped row is null until it is fetched again. */
export function usePages(path, query, field, staleWhen) {
  const key = JSON.stringify([path, query]);
  const [state, setState] = useState({ rows: [], first: null, ended: false, error: null });
  const pages = useMemo(() => new Pages(path, query, field, setState), [key]);
  useEffect(() => {
    pages.next();
    const end = staleWhen && onEntries((entries) => entries.some(staleWhen) && pages.stale());
    return () => (end?.(), pages.stop());
  }, [pages]);
  return { ...(state.of === pages || !state.of ? state : { rows: [], first: null, ended: false, error: null }), sight: pages.sight };
}

class Pages {
  constructor(path, query, field, onChange) {
    Object.assign(this, { path, query, field, onChange, pages: [], cursor: "", ended: false, first: null, span: [0, 0], gap: GAP_MS });
    this.abort = new AbortController();
    this.sight = (first, last) => {
      this.span = [first, last];
      this.look();
    };
  }

  stop() {
    this.abort.abort();
    clearTimeout(this.timer);
  }

  stale() {
    this.timer ||= setTimeout(() => this.again(), this.gap);
  }

  async next() {
    if (this.busy || this.ended || this.abort.signal.aborted) return;
    await this.once(async () => {
      const page = { cursor: this.cursor, rows: [], from: this.count };
      await this.read(page);
      this.pages.push(page);
      this.cursor = page.next;
      this.ended = !page.next;
    });
    // A page may be short or empty while a filter is still searching.
    if (!this.ended && !this.error && this.count < this.span[1] + 20) setTimeout(() => this.next(), 0);
  }

  /** Fetches visible rows that were dropped, and drops rows far out of sight. */
  look() {
    const [first, last] = this.span;
    if (last >= this.count - 20) this.next();
    const gone = this.pages.find((page) => !page.rows && page.from < last && page.from + page.count > first);
    if (gone && !this.busy) this.once(() => this.read(gone)).then(() => this.look());
    const far = this.pages.filter((page) => page.rows && (page.from > last + 1000 || page.from + page.count < first - 1000));
    if (this.pages.filter((page) => page.rows).length > PAGES_KEPT) for (const page of far) page.rows = null;
  }

  async again() {
    const [first, last] = this.span;
    const seen = this.pages.filter((page) => page.from < last && page.from + page.count > first);
    const began = performance.now();
    await this.once(async () => {
      for (const page of seen.length ? seen : this.pages.slice(0, 1)) await this.read(page);
      const end = this.pages[this.pages.length - 1];
      if (end) [this.cursor, this.ended] = [end.next, !end.next];
    });
    this.timer = 0;
    this.gap = Math.max(GAP_MS, 5 * (performance.now() - began));
    if (this.pages.length === 0) this.next();
    else this.look();
  }

  async read(page) {
    // A query with `after` reads forward; any other reads backward by its cursor.
    const edge = "after" in this.query ? { after: page.cursor || this.query.after } : { cursor: page.cursor };
    const data = await get(this.path, { ...this.query, ...edge }, this.abort.signal);
    if (page.cursor === "") this.first = data;
    Object.assign(page, { rows: data[this.field], count: data[this.field].length, next: data.next_cursor });
  }

  async once(act) {
    this.busy = true;
    try {
      await act();
      this.error = null;
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!("code" in error)) throw error;
      this.error = error;
      if (isTemporary(error)) this.timer ||= setTimeout(() => this.again(), RETRY_MS);
    } finally {
      this.busy = false;
    }
    this.publish();
  }

  get count() {
    return this.pages.reduce((sum, page) => sum + page.count, 0);
  }

  publish() {
    let from = 0;
    for (const page of this.pages) [page.from, from] = [from, from + page.count];
    const rows = this.pages.flatMap((page) => page.rows || new Array(page.count).fill(null));
    this.onChange({ of: this, rows, first: this.first, ended: this.ended, edge: this.cursor, error: this.error });
  }
}
