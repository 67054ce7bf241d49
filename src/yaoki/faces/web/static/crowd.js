// All tasks of a run in compact form: the graph's document, updated from the journal.
// Shared by the graph and the list, so that ten thousand tasks are fetched once.

import { useEffect, useState } from "./vendor/preact.js";
import { get, passing } from "./api.js";
import { onConnection, onEntries } from "./live.js";

const IDS_MAX = 100;
const SOON_MS = 250;
const REST = 5;
const AGAIN_MS = 8_000;
// These events may change the graph itself.
const GROWS = new Set(["PLAN_SUBMITTED", "PLAN_EXTENDED", "TASKS_PLANNED", "PHASE_FILLED", "TASK_REPLACED", "RUN_EXTENDED", "TASK_BLOCKED", "TASK_REVIVED", "RERUN_HELD", "RERUN_GRANTED"]);

/** { nodes, edges, layers, byId, version, error }; `nodes` are objects, in the order of the plan. */
export function useCrowd(run) {
  const [held, setHeld] = useState(null);
  useEffect(() => {
    const crowd = new Crowd(run, setHeld);
    crowd.start();
    return () => crowd.stop();
  }, [run]);
  return held;
}

class Crowd {
  constructor(run, told) {
    Object.assign(this, { run, told, changed: new Set(), whole: false, timer: 0, version: 0, cost: 0 });
    this.abort = new AbortController();
  }

  start() {
    this.load();
    this.ends = [onEntries((entries) => this.heard(entries)), onConnection(({ state }) => this.connected(state))];
  }

  stop() {
    this.abort.abort();
    this.ends.forEach((end) => end());
    clearTimeout(this.timer);
  }

  connected(state) {
    if (state === "live" && this.was === "lost") this.soon(true);
    this.was = state;
  }

  heard(entries) {
    const mine = entries.filter((entry) => entry.run === this.run);
    if (mine.length === 0) return;
    for (const entry of mine) if (entry.task) this.changed.add(entry.task);
    this.soon(mine.some((entry) => GROWS.has(entry.event)));
  }

  soon(whole) {
    this.whole ||= whole || this.changed.size > 5 * IDS_MAX;
    this.timer ||= setTimeout(() => this.catchUp(), Math.max(SOON_MS, REST * this.cost));
  }

  async catchUp() {
    this.timer = 0;
    if (this.asking) return this.soon(false);
    this.asking = true;
    const began = performance.now();
    try {
      await (this.whole ? this.load() : this.patch());
    } finally {
      this.asking = false;
      this.cost = performance.now() - began;
    }
  }

  async load() {
    this.whole = false;
    this.changed.clear();
    const held = await this.ask(`/runs/${this.run}/graph`);
    if (!held) return;
    // Nodes are updated in place and never replaced.
    const known = this.byId || new Map();
    const fresh = held.nodes.map((row) => node(held.run, held.fields, row));
    this.nodes = fresh.map((one) => (known.has(one.id) ? Object.assign(known.get(one.id), one) : one));
    this.edges = held.edges;
    this.layers = held.layers;
    this.byId = new Map(this.nodes.map((one) => [one.id, one]));
    this.shape = `${this.nodes.length}:${this.edges.length}:${held.layers}`;
    this.tell();
  }

  async patch() {
    const ids = [...this.changed];
    this.changed.clear();
    for (let at = 0; at < ids.length; at += IDS_MAX) {
      const held = await this.ask(`/runs/${this.run}/tasks`, { ids: ids.slice(at, at + IDS_MAX).join(","), limit: IDS_MAX });
      for (const task of held?.tasks || []) this.take(task);
    }
    this.tell();
  }

  take(task) {
    const known = this.byId?.get(task.id);
    if (!known) return this.soon(true);
    const { state, stage, attempt, held } = task;
    Object.assign(known, { state, stage, attempt, held, blocked: task.reason === "DEPENDENCY_FAILED" });
    return undefined;
  }

  async ask(path, query) {
    try {
      return await get(path, query, this.abort.signal);
    } catch (error) {
      if (error.name === "AbortError") return null;
      if (!("code" in error)) throw error;
      this.told((held) => ({ ...held, error }));
      if (passing(error)) setTimeout(() => this.abort.signal.aborted || this.soon(true), AGAIN_MS);
      return null;
    }
  }

  tell() {
    this.version += 1;
    const { nodes, edges, layers, byId, version, shape } = this;
    if (nodes) this.told({ nodes, edges, layers, byId, version, shape, error: null });
  }
}

function node(run, fields, row) {
  const held = Object.fromEntries(fields.map((field, i) => [field, row[i]]));
  return { ...held, id: `${run}-${held.n}`, lower: `${held.name} ${held.n}`.toLowerCase() };
}
