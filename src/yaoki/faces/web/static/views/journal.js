// The journal: filtered, newest first, loaded in pages while scrolling.

import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { clock, moment } from "../amounts.js";
import { useDocument } from "../documents.js";
import { onEntries } from "../live.js";
import { Empty, TaskName, LoadStatus, ErrorMessage } from "../parts/components.js";
import { Row, Rows, useNarrow } from "../parts/virtual_rows.js";
import { usePages } from "../pages.js";
import { link, refine, toRun } from "../routes.js";
import { entryWords } from "../translation.js";
import { t } from "../words.js";

const PAGE = 200;
// New entries since the list was opened; beyond this number the list is reloaded.
const FRESH_MAX = 500;
// With fewer rows than this the search continues and shows its progress.
const SOME = 30;
const GROUPS = {
  attempts: ["ATTEMPT_STARTED", "PROMPT_SENT", "AGENT_FINISHED", "RETRY_DECISION"],
  checks: ["CHECK_FINISHED", "QUALITY_JUDGMENT"],
  landings: ["TASK_LANDED", "LAND_REFUSED", "TASK_UNDONE", "RUN_MERGED", "MERGE_REFUSED"],
  people: ["ESCALATE_DECISION", "ESCALATE_EXECUTED", "ESCALATION_ANSWERED", "WAIT_ENDED", "RUN_PAUSED", "RUN_RESUMED", "CANCEL_REQUESTED", "TASK_CANCELLED"],
  recovery: ["LEASE_EXPIRED", "RESULT_REFUSED", "DEAD_LETTERED", "RECONCILED", "RECOVERY_START", "RECOVERY_COMPLETE", "SNAPSHOT_RESTORE", "RERUN_HELD", "RERUN_GRANTED"],
};

export function Journal({ parts, query }) {
  if (parts[0]) return html`<${Entry} seq=${parts[0]} />`;
  const { run = "", task = "", event = "", text = "", order = "" } = query;
  const request = { run, task, event, text, limit: PAGE, ...(order === "oldest" && { after: "0" }) };
  return html`<section aria-labelledby="title" class="column wide fill">
    <h1 id="title">${t("nav.journal")}</h1>
    <${Filters} query=${{ run, task, event, text, order }} />
    <${List} key=${JSON.stringify(request)} request=${request} />
  </section>`;
}

function Filters({ query }) {
  const [text, setText] = useState(query.text);
  const timer = useRef(0);
  const typed = (event) => {
    const words = event.target.value;
    setText(words);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => refine({ text: words }), 250);
  };
  const chosen = Object.keys(GROUPS).find((name) => GROUPS[name].join(",") === query.event) || "";
  const pick = (name) => refine({ event: name === chosen ? "" : GROUPS[name].join(",") });
  const given = ["run", "task", ...(chosen ? [] : ["event"])].filter((name) => query[name]);
  return html`<div class="filters">
    <input type="search" placeholder=${t("filter.journal")} aria-label=${t("filter.journal")} value=${text} onInput=${typed} />
    <div class="toggles" role="group" aria-label=${t("event")}>${Object.keys(GROUPS).map((name) => html`<button type="button" class="toggle" aria-pressed=${name === chosen} onClick=${() => pick(name)}>${t(`events.${name}`)}</button>`)}</div>
    <button type="button" class="toggle" aria-pressed=${query.order === "oldest"} onClick=${() => refine({ order: query.order === "oldest" ? "" : "oldest" })}>${t("journal.oldest")}</button>
    ${given.map((name) => html`<button type="button" class="toggle" aria-pressed="true" onClick=${() => refine({ [name]: "" })} aria-label=${t("filter.drop", { what: query[name] })}>${t(name)} <span class="code">${query[name]}</span> ×</button>`)}
  </div>`;
}

function List({ request }) {
  const [turn, setTurn] = useState(0);
  return html`<${Pages} key=${turn} request=${request} again=${() => setTurn(turn + 1)} />`;
}

function Pages({ request, again }) {
  const pages = usePages("/journal", request, "entries", null);
  const narrow = useNarrow();
  const scroller = useRef(null);
  const [fresh, setFresh] = useState({ n: 0, entries: [] });
  useEffect(() => onEntries((entries) => {
    const mine = entries.filter((entry) => fits(entry, request)).reverse();
    if (mine.length) setFresh((fresh) => ({ n: fresh.n + mine.length, entries: fresh.n > FRESH_MAX ? fresh.entries : [...mine, ...fresh.entries] }));
  }), []);
  // At the top new entries appear at once; further down they wait for a click.
  const atTop = !request.after && (!scroller.current || scroller.current.scrollTop < 40);
  const known = (!request.after && pages.rows[0]?.seq) || pages.first?.cursor || 0;
  const newer = fresh.entries.filter((entry) => entry.seq > known);
  const many = fresh.n > FRESH_MAX;
  useEffect(() => {
    if (many && atTop) again();
  }, [many, atTop]);
  const rows = atTop && !many ? [...newer, ...pages.rows] : pages.rows;
  if (pages.error) return html`<${ErrorMessage} error=${pages.error} />`;
  if (!pages.first) return html`<p class="hush" role="status">${t("loading")}</p>`;
  if (rows.length === 0 && pages.ended) return html`<${Empty} title=${t("journal.none")} words=${t("journal.none.words")} />`;
  return html`${!atTop && newer.length > 0 && html`<button type="button" class="main newer" onClick=${request.after ? () => refine({ order: "" }) : again}>${t("newer", { n: many ? fresh.n : newer.length })}</button>`}
    ${!pages.ended && rows.length < SOME && html`<p class="hush" role="status">${t("journal.looking", { n: Number(pages.edge) })}</p>`}
    <${Rows} count=${rows.length} height=${narrow ? 52 : 28} label=${t("nav.journal")} onSight=${pages.sight} scroller=${scroller}
      head=${html`<${Row} kind="journal-row" cells=${[["num", "#"], ["tm", t("time")], ["rn", t("run")], ["nm", t("task")], ["num at", t("attempt")], ["ev", t("event")], ["why", t("words")]]} />`}
      draw=${(index) => (rows[index] ? html`<${Row} kind="journal-row" index=${index} cells=${cells(rows[index])} />` : html`<p class="hush">${t("loading")}</p>`)} />`;
}

function fits(entry, { run, task, event, text }) {
  return (!run || entry.run === run) && (!task || entry.task === task) && (!event || event.split(",").includes(entry.event)) && (!text || `${entry.words} ${entryWords(entry)}`.toLowerCase().includes(text.toLowerCase()));
}

function cells(entry) {
  return [
    ["num code", html`<a href=${link("journal", [String(entry.seq)])} data-row>${entry.seq}</a>`],
    ["tm code", html`<time datetime=${entry.at} title=${moment(entry.at)}>${clock(entry.at)}</time>`],
    ["rn code", html`<a href=${toRun(entry.run)}>${entry.run}</a>`],
    ["nm", entry.task ? html`<${TaskName} id=${entry.task} name=${entry.name} />` : ""],
    ["num at", entry.attempt || ""],
    ["ev code", entry.event],
    ["why", entryWords(entry)],
  ];
}

function Entry({ seq }) {
  const answer = useDocument(`/journal/${seq}`);
  const entry = answer.data?.entry;
  return html`<section aria-labelledby="title" class="column wide">
    <p class="crumbs"><a href=${link("journal")}>${t("nav.journal")}</a></p>
    <h1 id="title">${entry ? entry.event : t("entry")} <span class="code hush">${seq}</span></h1>
    <${LoadStatus} of=${answer} />
    ${entry && html`<p>${entryWords(entry)}</p>
      <p class="line hush"><time datetime=${entry.at}>${moment(entry.at)}</time> <a href=${toRun(entry.run)} class="code">${entry.run}</a> ${entry.task && html`<${TaskName} id=${entry.task} name=${entry.name} />`} ${entry.attempt ? t("attempt.n", { n: entry.attempt }) : ""}</p>
      <pre class="data" tabindex="0">${JSON.stringify(entry.data, null, 2)}</pre>
      <p class="line">${Number(seq) > 1 && html`<a class="button" href=${link("journal", [String(Number(seq) - 1)])}>← ${t("entry.before")}</a>`}<a class="button" href=${link("journal", [String(Number(seq) + 1)])}>${t("entry.after")} →</a></p>`}
  </section>`;
}
