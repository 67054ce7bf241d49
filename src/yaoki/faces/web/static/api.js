// Requests to the server.  Every error becomes a Refusal with a sentence for people.

import { parseSafely } from "./safe_text.js";

const BASE = "/api/v1";

export class Refusal extends Error {
  constructor(status, details) {
    super(details.sentence || `HTTP ${status}`);
    this.status = status;
    this.code = details.code || "";
    this.hint = details.hint || "";
    this.defects = details.defects || [];
  }
}

/** Can the same request succeed a moment later? */
export const isTemporary = ({ status }) => status === 0 || status === 429 || status >= 500;

export function address(path, query = {}) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== "" && value !== null && value !== undefined) params.set(name, value);
  }
  const words = params.toString();
  return BASE + path + (words ? `?${words}` : "");
}

export function get(path, query, signal) {
  return ask(address(path, query), { signal });
}

export function post(path, body = {}) {
  const headers = { "Content-Type": "application/json" };
  return ask(address(path), { method: "POST", headers, body: JSON.stringify(body) });
}

async function ask(url, options) {
  let answer;
  try {
    answer = await fetch(url, { credentials: "same-origin", cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, { code: "AWAY" });
  }
  if (answer.ok) return answer.status === 204 ? null : parseSafely(await answer.text());
  const details = await answer.text().then((text) => parseSafely(text).error).catch(() => ({}));
  const refusal = new Refusal(answer.status, details || {});
  if (answer.status === 401) window.dispatchEvent(new CustomEvent("yaoki:locked"));
  throw refusal;
}
