// Addresses: `#/run/k3f9x2ab/graph?fold=done`.  Everything that is shown can be linked to.

import { useEffect, useState } from "./vendor/preact.js";

export function here() {
  const [path, query = ""] = window.location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decodePart);
  return { view: parts[0] || "needs", parts: parts.slice(1), query: Object.fromEntries(new URLSearchParams(query)) };
}

/** An address may be typed by hand. */
function decodePart(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function link(view, parts = [], query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value != null);
  const words = new URLSearchParams(given).toString();
  return `#/${[view, ...parts].map(encodeURIComponent).join("/")}${words ? `?${words}` : ""}`;
}

export const toRun = (run, tab, query) => link("run", tab ? [run, tab] : [run], query);
export const toTask = (task, attempts) => link("task", attempts ? [task, attempts] : [task]);

export function go(to) {
  window.location.hash = to;
}

/** Changes the query of the current address without a new history entry. */
export function refine(query) {
  const now = here();
  window.history.replaceState(null, "", link(now.view, now.parts, { ...now.query, ...query }));
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

export function useRoute() {
  const [route, setRoute] = useState(here);
  useEffect(() => {
    const moved = () => setRoute(here());
    window.addEventListener("hashchange", moved);
    return () => window.removeEventListener("hashchange", moved);
  }, []);
  return route;
}
