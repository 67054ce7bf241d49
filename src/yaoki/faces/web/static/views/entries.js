// A few journal entries, the newest first.

import { html } from "../vendor/preact.js";
import { clock, moment } from "../amounts.js";
import { useDocument } from "../documents.js";
import { LoadStatus } from "../parts/components.js";
import { link, toTask } from "../routes.js";
import { entryWords } from "../translation.js";
import { t } from "../words.js";

export function Entries({ query, staleWhen, all }) {
  const answer = useDocument("/journal", query, { staleWhen });
  const lines = answer.data?.entries.filter((entry) => all || entry.words) || [];
  return html`<${LoadStatus} of=${answer} />
    ${answer.data && lines.length === 0 && html`<p class="hush">${t("journal.none")}</p>`}
    <ol class="entries">${lines.map((entry) => html`<li key=${entry.seq}><${Line} entry=${entry} /></li>`)}</ol>`;
}

export function Line({ entry }) {
  return html`<time class="code hush" datetime=${entry.at} title=${moment(entry.at)}>${clock(entry.at)}</time>
    ${entry.task ? html`<a href=${toTask(entry.task)} class="name">${entry.name || entry.task}</a>` : html`<a class="hush code" href=${link("run", [entry.run])}>${entry.run}</a>`}
    <span class="hush code">${entry.attempt || ""}</span>
    <a class="entry-words" href=${link("journal", [String(entry.seq)])}>${entryWords(entry) || entry.event}</a>`;
}
