// A few journal entries, the newest first.

import { html } from "../vendor/preact.js";
import { clock, moment } from "../amounts.js";
import { useDocument } from "../documents.js";
import { Waiting } from "../parts/bits.js";
import { link, toTask } from "../routes.js";
import { sentence } from "../spoken.js";
import { t } from "../words.js";

export function Entries({ query, old, all }) {
  const answer = useDocument("/journal", query, { old });
  const lines = answer.held?.entries.filter((entry) => all || entry.words) || [];
  return html`<${Waiting} of=${answer} />
    ${answer.held && lines.length === 0 && html`<p class="hush">${t("journal.none")}</p>`}
    <ol class="entries">${lines.map((entry) => html`<li key=${entry.seq}><${Line} entry=${entry} /></li>`)}</ol>`;
}

export function Line({ entry }) {
  return html`<time class="code hush" datetime=${entry.at} title=${moment(entry.at)}>${clock(entry.at)}</time>
    ${entry.task ? html`<a href=${toTask(entry.task)} class="name">${entry.name || entry.task}</a>` : html`<a class="hush code" href=${link("run", [entry.run])}>${entry.run}</a>`}
    <span class="hush code">${entry.attempt || ""}</span>
    <a class="entry-words" href=${link("journal", [String(entry.seq)])}>${sentence(entry) || entry.event}</a>`;
}
