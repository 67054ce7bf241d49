// Documents of the server, fetched again when a journal entry makes them outdated.
// Nothing is derived here again: the page shows the server's values.

import { useEffect, useRef, useState } from "./vendor/preact.js";
import { get, isTemporary } from "./api.js";
import { onConnection, onEntries } from "./live.js";

const GAP_MS = 300;
const FOLD_MS = 100;
const AGAIN_MS = 2_000;
const AGAIN_MS_MAX = 60_000;
// A document that takes long is fetched less often, to spare the server.
const REST = 5;
const CLOCK_REST = 20;

/** Does an entry of this run make the document outdated? */
export const ofRun = (run) => (entry) => entry.run === run;
export const ofTask = (task) => (entry) => entry.task === task || entry.subtask === task;
export const always = () => true;
export const never = () => false;

// Only these events can open or close a question.
const QUESTION_EVENTS = /^(ESCALAT|RUN_|RERUN_|CANCEL|TASK_(CANCELLED|REPLACED|BLOCKED|REVIVED|LANDED|UNDONE)|UNDO|DEAD|BUDGET|FINAL|PHASE_|RECOVERY)/;
export const changesQuestions = (entry) => QUESTION_EVENTS.test(entry.event);

/**
 * { data, error, reload }.  The old document stays until the new one has arrived.
 * `staleWhen(entry)` selects the relevant entries; `every` fetches again after so many seconds, while visible;
 * `later` delays the first fetch by so many milliseconds.
 */
export function useDocument(path, query = {}, { staleWhen = never, every = 0, later = 0 } = {}) {
  const key = path && JSON.stringify([path, query]);
  const [answer, setAnswer] = useState({ key: null, data: null, error: null });
  const loader = useRef(null);
  useEffect(() => {
    if (!path) return undefined;
    const fresh = new DocumentLoader(path, query, staleWhen, (changes) => setAnswer({ key, ...changes }));
    loader.current = fresh;
    fresh.start(every, later);
    return () => fresh.stop();
  }, [key, every]);
  const mine = answer.key === key;
  return {
    data: mine ? answer.data : null,
    error: mine ? answer.error : null,
    reload: () => loader.current?.load(),
  };
}

class DocumentLoader {
  constructor(path, query, staleWhen, onChange) {
    Object.assign(this, { path, query, staleWhen, onChange, data: null });
    this.cost = 0;
    this.failed = 0;
    this.abort = new AbortController();
  }

  start(every, later) {
    if (later) this.schedule(later);
    else this.load();
    this.unsubscribe = [
      onEntries((entries) => entries.some(this.staleWhen) && this.schedule()),
      onConnection(({ state }) => this.connected(state)),
    ];
    if (every) this.clock = setInterval(() => document.hidden || this.isResting() || this.load(), every * 1000);
  }

  stop() {
    this.abort.abort();
    this.unsubscribe?.forEach((end) => end());
    clearInterval(this.clock);
    clearTimeout(this.timer);
  }

  connected(state) {
    if (state === "live" && this.was === "lost") this.schedule();
    this.was = state;
  }

  isResting() {
    return performance.now() - this.last < CLOCK_REST * this.cost;
  }

  schedule(gap = Math.max(GAP_MS, REST * this.cost)) {
    this.timer ||= setTimeout(() => this.load(), gap);
  }

  async load() {
    clearTimeout(this.timer);
    this.timer = 0;
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    const began = performance.now();
    await this.fetchOnce();
    this.last = performance.now();
    this.cost = this.last - began;
    this.busy = false;
    if (this.again) this.schedule();
    this.again = false;
  }

  async fetchOnce() {
    try {
      this.data = await get(this.path, this.query, this.abort.signal);
      this.failed = 0;
      this.onChange({ data: this.data, error: null });
      // Folds over a long journal continue with the next request.
      if (this.data.complete === false) this.schedule(FOLD_MS);
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!("code" in error)) throw error;
      this.onChange({ data: this.data, error });
      if (isTemporary(error)) this.schedule(Math.min(AGAIN_MS_MAX, AGAIN_MS * 2 ** this.failed));
      this.failed += 1;
    }
  }
}

/** Redraws every `seconds`: countdowns and ages change without an event. */
export function useTick(seconds) {
  const [, draw] = useState(0);
  useEffect(() => {
    const clock = setInterval(() => document.hidden || draw((n) => n + 1), seconds * 1000);
    return () => clearInterval(clock);
  }, [seconds]);
}

/** The current size of an element. */
export function useSize() {
  const ref = useRef(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useEffect(() => {
    if (!ref.current) return undefined;
    const watch = new ResizeObserver(([{ contentRect: { width, height } }]) => setSize({ width, height }));
    watch.observe(ref.current);
    return () => watch.disconnect();
  }, []);
  return [ref, size];
}
