// The frame: navigation, connection state, language and theme.

import { html, useEffect, useErrorBoundary, useRef, useState } from "./vendor/preact.js";
import { ago } from "./amounts.js";
import { changesQuestions, useDocument, useTick } from "./documents.js";
import { applyTheme, readPreference, storePreference, THEMES } from "./preferences.js";
import { PLACES } from "./keys.js";
import { live, onConnection } from "./live.js";
import { useRoute } from "./routes.js";
import { mayAct, session } from "./session.js";
import { language, LANGUAGES, loadWords, t } from "./words.js";
import { Journal } from "./views/journal.js";
import { Needs } from "./views/needs.js";
import { Run } from "./views/run.js";
import { Runs } from "./views/runs.js";
import { Limits, Prompts, Reliability, Settings, Workers } from "./views/tables.js";
import { Task } from "./views/task.js";

const VIEWS = { needs: Needs, runs: Runs, run: Run, task: Task, journal: Journal, workers: Workers, limits: Limits, prompts: Prompts, reliability: Reliability, settings: Settings };
const NAV = [["needs", "#/needs"], ["run", "#/run/-"], ["runs", "#/runs"], ["journal", "#/journal"], ["workers", "#/workers"], ["limits", "#/limits"], ["prompts", "#/prompts"], ["reliability", "#/reliability"], ["settings", "#/settings"]];

export function Frame() {
  const route = useRoute();
  const main = useRef(null);
  const needs = useDocument("/needs-you", {}, { staleWhen: changesQuestions, every: 30, later: route.view === "needs" ? 0 : 700 });
  const asks = needs.data?.total || 0;
  const unread = needs.error && !needs.data;
  const View = Object.hasOwn(VIEWS, route.view) && VIEWS[route.view];
  useEffect(() => {
    const where = View ? t(`nav.${route.view}`) : t("nowhere");
    document.title = `${asks ? `(${asks}) ` : ""}${where} · ${session.repository} · yaoki`;
  }, [asks, route.view]);
  const place = `${route.view}/${route.parts[0] || ""}`;
  const was = useRef(place);
  useEffect(() => {
    // Announces the new view to screen readers; the browser announces the first one.
    if (was.current !== place) main.current.focus({ preventScroll: true });
    main.current.scrollTop = 0;
    was.current = place;
  }, [place]);
  return html`<a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), main.current.focus())}>${t("skip")}</a>
    <div class="frame">
      <header class="top"><a class="brand" href="#/needs"><img src="/static/favicon.svg" alt="" width="22" height="22" /><b>yaoki</b></a>
        <span class="repository" title=${session.folder}>${session.repository}</span>
        ${!mayAct() && html`<span class="tag">${t("read.only")}</span>`}<${Connection} /><${PreferenceControls} /></header>
      <nav class="side" aria-label=${t("nav")}>${NAV.map(([name, to]) => html`<a href=${to} aria-current=${current(route, name)}>${t(`nav.${name}`)}${name === "needs" && (asks > 0 || unread) && html` <span class="tally">${asks || "?"}</span>`}</a>`)}</nav>
      <main id="main" class="view" ref=${main} tabindex="-1"><${ErrorBoundary} key=${route.view}>${View ? html`<${View} parts=${route.parts} query=${route.query} />` : html`<${NotFound} />`}<//></main>
    </div><${Help} />`;
}

/** Shown for an unknown address, with links to the existing views. */
function NotFound() {
  return html`<section aria-labelledby="title" class="column"><h1 id="title">${t("nowhere")}</h1><p class="hush code">${window.location.hash.slice(0, 200)}</p>
    <p class="line">${["needs", "run", "runs"].map((name) => html`<a class="button" href=${NAV.find(([one]) => one === name)[1]}>${t(`nav.${name}`)}</a>`)}</p></section>`;
}

function current(route, name) {
  return name === route.view || (name === "run" && route.view === "task") ? "page" : undefined;
}

/** An error in one view is shown and leaves the others usable. */
function ErrorBoundary({ children }) {
  const [error, again] = useErrorBoundary((failed) => console.error(failed));
  if (!error) return children;
  return html`<div class="wrong" role="alert"><strong>${t("page.wrong")}</strong><pre>${String(error.message || error)}</pre><button type="button" onClick=${again}>${t("try.again")}</button></div>`;
}

function Connection() {
  const [, draw] = useState(0);
  useTick(1);
  useEffect(() => onConnection(() => draw((n) => n + 1)), []);
  const seen = new Date(live.lastSeen + live.skew).toISOString();
  const words = { live: t("live"), connecting: t("connecting"), lost: t("lost", { ago: live.lastSeen ? ago(seen) : "–" }) }[live.state];
  return html`<span class="connection" data-connection=${live.state} title=${t("entry.n", { n: live.cursor })}><svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">${live.state === "live" ? html`<circle cx="5" cy="5" r="4" />` : html`<path d="M1 1l8 8M9 1l-8 8" />`}</svg>${words}</span>`;
}

function PreferenceControls() {
  const [theme, setTheme] = useState(readPreference("theme") || "auto");
  const chooseTheme = (event) => {
    storePreference("theme", event.target.value);
    setTheme(applyTheme(event.target.value));
  };
  const chooseLanguage = async (event) => {
    storePreference("language", event.target.value);
    await loadWords(event.target.value);
    window.dispatchEvent(new CustomEvent("yaoki:language"));
  };
  return html`<span class="looks"><select aria-label=${t("theme")} value=${theme} onChange=${chooseTheme}>${THEMES.map((name) => html`<option value=${name}>${t(`theme.${name}`)}</option>`)}</select>
    <select aria-label=${t("language")} value=${language} onChange=${chooseLanguage}>${Object.entries(LANGUAGES).map(([name, words]) => html`<option value=${name}>${words}</option>`)}</select>
    <button type="button" class="quiet" aria-label=${t("help.title")} onClick=${() => window.dispatchEvent(new CustomEvent("yaoki:help"))}>?</button></span>`;
}

function Help() {
  const ref = useRef(null);
  useEffect(() => {
    const open = () => ref.current.open || ref.current.showModal();
    window.addEventListener("yaoki:help", open);
    return () => window.removeEventListener("yaoki:help", open);
  }, []);
  const rows = [...PLACES.map(([letter, , key]) => [`g ${letter}`, t(key)]), ["j k", t("help.move")], ["Enter", t("help.open")], ["/", t("help.filter")], ["Esc", t("help.leave")], ["?", t("help.title")]];
  return html`<dialog ref=${ref} class="dialog" aria-labelledby="help-title"><h2 id="help-title">${t("help.title")}</h2>
    <dl class="keys">${rows.map(([keys, words]) => html`<div><dt>${keys.split(" ").map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${words}</dd></div>`)}</dl><p class="hush">${t("help.graph")}</p>
    <form method="dialog" onSubmit=${(event) => (event.preventDefault(), ref.current.close())}><button class="main">${t("close")}</button></form></dialog>`;
}
