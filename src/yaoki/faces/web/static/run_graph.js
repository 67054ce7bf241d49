// All tasks of a run in compact form: the graph's document, updated from the journal.
// Shared by the graph and the list, so that ten thousand tasks are fetched once.

import { useEffect, useState } from "./vendor/preact.js";
import { get, isTemporary } from "./api.js";
import { onConnection, onEntries } from "./live.js";

const IDS_MAX = 100;
const DELAY_MS = 250;
const REST_FACTOR = 5;
const RETRY_MS = 8_000;
// These events may change the graph itself.
const GRAPH_EVENTS = new Set(["PLAN_SUBMITTED", "PLAN_EXTENDED", "TASKS_PLANNED", "PHASE_FILLED", "TASK_REPLACED", "RUN_EXTENDED", "TASK_BLOCKED", "TASK_REVIVED", "RERUN_HELD", "RERUN_GRANTED"]);

/** { nodes, edges, layers, byId, version, error }; `nodes` are objects, in the order of the plan. */
export function useRunGraph(run) {
  const [runGraph, setRunGraph] = useState(null);
  useEffect(() => {
    const runGraph = new RunGraph(run, setRunGraph);
    runGraph.start();
    return () => runGraph.stop();
  }, [run]);
  return runGraph;
}

class RunGraph {
  constructor(run, onChange) {
    Object.assign(this, { run, onChange, changed: new Set(), whole: false, timer: 0, version: 0, cost: 0 });
    this.abort = new AbortController();
  }

  start() {
    this.load();
    this.unsubscribe = [onEntries((entries) => this.receive(entries)), onConnection(({ state }) => this.connected(state))];
  }

  stop() {
    this.abort.abort();
    this.unsubscribe.forEach((end) => end());
    clearTimeout(this.timer);
  }

  connected(state) {
    if (state === "live" && this.was === "lost") this.schedule(true);
    this.was = state;
  }

  receive(entries) {
    const mine = entries.filter((entry) => entry.run === this.run);
    if (mine.length === 0) return;
    for (const entry of mine) if (entry.task) this.changed.add(entry.task);
    this.schedule(mine.some((entry) => GRAPH_EVENTS.has(entry.event)));
  }

  schedule(whole) {
    this.whole ||= whole || this.changed.size > 5 * IDS_MAX;
    this.timer ||= setTimeout(() => this.catchUp(), Math.max(DELAY_MS, REST_FACTOR * this.cost));
  }

  async catchUp() {
    this.timer = 0;
    if (this.busy) return this.schedule(false);
    this.busy = true;
    const began = performance.now();
    try {
      await (this.whole ? this.load() : this.patch());
    } finally {
      this.busy = false;
      this.cost = performance.now() - began;
    }
  }

  async load() {
    this.whole = false;
    this.changed.clear();
    const data = await this.fetch(`/runs/${this.run}/graph`);
    if (!data) return;
    // Nodes are updated in place and never replaced.
    const known = this.byId || new Map();
    const fresh = data.nodes.map((row) => node(data.run, data.fields, row));
    this.nodes = fresh.map((one) => (known.has(one.id) ? Object.assign(known.get(one.id), one) : one));
    this.edges = data.edges;
    this.layers = data.layers;
    this.byId = new Map(this.nodes.map((one) => [one.id, one]));
    this.shape = `${this.nodes.length}:${this.edges.length}:${data.layers}`;
    this.publish();
  }

  async patch() {
    const ids = [...this.changed];
    this.changed.clear();
    for (let at = 0; at < ids.length; at += IDS_MAX) {
      const data = await this.fetch(`/runs/${this.run}/tasks`, { ids: ids.slice(at, at + IDS_MAX).join(","), limit: IDS_MAX });
      for (const task of data?.tasks || []) this.update(task);
    }
    this.publish();
  }

  update(task) {
    const known = this.byId?.get(task.id);
    if (!known) return this.schedule(true);
    const { state, stage, attempt, held } = task;
    Object.assign(known, { state, stage, attempt, held, blocked: task.reason === "DEPENDENCY_FAILED" });
    return undefined;
  }

  async fetch(path, query) {
    try {
      return await get(path, query, this.abort.signal);
    } catch (error) {
      if (error.name === "AbortError") return null;
      if (!("code" in error)) throw error;
      this.onChange((before) => ({ ...before, error }));
      if (isTemporary(error)) setTimeout(() => this.abort.signal.aborted || this.schedule(true), RETRY_MS);
      return null;
    }
  }

  publish() {
    this.version += 1;
    const { nodes, edges, layers, byId, version, shape } = this;
    if (nodes) this.onChange({ nodes, edges, layers, byId, version, shape, error: null });
  }
}

function node(run, fields, row) {
  const values = Object.fromEntries(fields.map((field, i) => [field, row[i]]));
  return { ...values, id: `${run}-${values.n}`, lower: `${values.name} ${values.n}`.toLowerCase() };
}
