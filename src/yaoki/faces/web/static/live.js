// The stream of the journal: one connection for the page, each entry once and in order.
// Reconnecting is done here and not by EventSource, which gives up for good when the server
// answers with an error, and which does not report how long the stream was silent.

import { address } from "./api.js";
import { parseSafely } from "./safe_text.js";

const SILENT_MS = 25_000; // the server beats every 10 s
const WAITS_MS = [300, 700, 1_500, 3_000, 5_000, 10_000];

const entryListeners = new Set();
const connectionListeners = new Set();
let source = null;
let tries = 0;
let timer = 0;

export const live = { state: "connecting", cursor: 0, lastSeen: 0, skew: 0, entries: 0 };

/** Called with an array of entries, at most a few times a second. */
export function onEntries(listener) {
  entryListeners.add(listener);
  return () => entryListeners.delete(listener);
}

/** Called when the connection changes, and at each heartbeat. */
export function onConnection(listener) {
  connectionListeners.add(listener);
  return () => connectionListeners.delete(listener);
}

export function follow(cursor, now) {
  live.cursor = cursor;
  noteContact(now);
  connect();
}

/** The server's clock; countdowns must not trust the browser's. */
export function serverNow() {
  return Date.now() + live.skew;
}

function noteContact(now) {
  live.lastSeen = Date.now();
  if (now) live.skew = Date.parse(now) - Date.now();
  clearTimeout(timer);
  timer = setTimeout(lost, SILENT_MS);
}

async function connect() {
  clearTimeout(timer);
  if (document.hidden && (await hasTooManyStreams())) return disconnect();
  takeStreamLock();
  source?.close();
  source = new EventSource(address("/events", { after: live.cursor }));
  source.addEventListener("hello", (event) => hello(JSON.parse(event.data)));
  source.addEventListener("journal", (event) => receive(parseSafely(event.data)));
  source.addEventListener("beat", (event) => beat(JSON.parse(event.data)));
  source.addEventListener("gone", lost);
  source.onerror = lost;
  timer = setTimeout(lost, SILENT_MS);
}

function hello(message) {
  // The cursor went back: the store was replaced.
  if (message.cursor < live.cursor) return window.location.reload();
  tries = 0;
  beat(message);
}

/** A server that cannot read its store still sends heartbeats, with the age of its data. */
function beat(message) {
  if (message.following === false) {
    clearTimeout(timer);
    timer = setTimeout(lost, SILENT_MS);
    return change("lost");
  }
  noteContact(message.now);
  return change("live");
}

function lost(event) {
  source?.close();
  clearTimeout(timer);
  timer = setTimeout(connect, WAITS_MS[Math.min(tries, WAITS_MS.length - 1)]);
  tries += 1;
  // EventSource hides a 401 and a replaced store, so a plain request checks for both.
  if (tries % 3 === 0 || event?.type === "gone") checkSession();
  change("lost");
}

async function checkSession() {
  const answer = await fetch(address("/session"), { cache: "no-store" }).catch(() => null);
  if (answer?.status === 401) window.dispatchEvent(new CustomEvent("yaoki:locked"));
  if (!answer?.ok) return;
  const session = await answer.json();
  if (session.cursor < live.cursor) window.location.reload();
}

function change(state) {
  live.state = state;
  notifyConnection();
}

function notifyConnection() {
  for (const listener of [...connectionListeners]) listener(live);
}

// ---------------------------------------------------------------- many windows

// A browser opens at most six connections to one server for all its windows.  Windows in the
// background disconnect, and reconnect from their cursor when they become visible.
const STREAMS_MAX = 3;
const LOCK = "yaoki.stream";
let release = null;

function takeStreamLock() {
  if (release) return;
  navigator.locks?.request(LOCK, { mode: "shared" }, () => new Promise((resolve) => (release = resolve)));
}

async function hasTooManyStreams() {
  const all = await navigator.locks?.query();
  return (all?.held || []).filter((lock) => lock.name === LOCK).length >= STREAMS_MAX;
}

function disconnect() {
  source?.close();
  source = null;
  clearTimeout(timer);
  release?.();
  release = null;
  change("connecting");
}

document.addEventListener("visibilitychange", async () => {
  if (!document.hidden && !source) connect();
  if (document.hidden && source && (await hasTooManyStreams())) disconnect();
});

// ---------------------------------------------------------------- entries, in batches

let batch = [];
let batchTimer = 0;

function receive(entry) {
  if (entry.seq <= live.cursor) return;
  live.cursor = entry.seq;
  live.entries += 1;
  noteContact();
  batch.push(entry);
  batchTimer ||= setTimeout(deliverBatch, 120);
}

function deliverBatch() {
  const entries = batch;
  batch = [];
  batchTimer = 0;
  for (const listener of [...entryListeners]) listener(entries);
}

window.addEventListener("pagehide", () => source?.close());
window.addEventListener("pageshow", (event) => event.persisted && connect());
