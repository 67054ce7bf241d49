// Workers, limits, prompts, reliability, settings: a table each.

import { html } from "../vendor/preact.js";
import { bytes, clock, money, percent } from "../amounts.js";
import { always, useDocument, useTick } from "../documents.js";
import { Empty, Fact, TaskName, LoadStatus, When } from "../parts/components.js";
import { State } from "../parts/shapes.js";
import { translate } from "../translation.js";
import { number, t, named } from "../words.js";
import { Line } from "./entries.js";

function View({ name, answer, children }) {
  return html`<section aria-labelledby="title" class="column wide"><h1 id="title">${t(`nav.${name}`)}</h1><p class="hush lead">${t(`lead.${name}`)}</p>
    <${LoadStatus} of=${answer} />${answer.data?.complete === false && html`<p class="hush" role="status">${t("folding")}</p>`}${answer.data && children}</section>`;
}

function Table({ heads, rows, label }) {
  return html`<div class="scroll-x" tabindex="0" role="region" aria-label=${label}><table class="data-table"><thead><tr>${heads.map(([kind, words]) => html`<th scope="col" class=${kind}>${words}</th>`)}</tr></thead>
    <tbody>${rows.map((cells) => html`<tr>${cells.map((cell, i) => html`<td class=${heads[i][0]} data-name=${heads[i][1]}>${cell}</td>`)}</tr>`)}</tbody></table></div>`;
}

export function Workers() {
  const answer = useDocument("/workers", {}, { staleWhen: always, every: 5 });
  useTick(2);
  const workers = answer.data?.workers || [];
  const rows = workers.map((one) => [
    html`<b>${one.name}</b> <span class="hush code">${one.holder.split(":")[1] || ""}</span>`,
    html`<${State} state=${one.state === "STOPPING" ? "HELD" : "ACTIVE"} words=${named("worker", one.state)} />`,
    `${one.tasks.length} / ${one.slots}`,
    html`${one.tasks.map((id) => html`<span class="pair"><${TaskName} id=${id} name=${id} row /></span>`)}`,
    one.waits || "",
    one.tags.join(", "),
    html`<${When} at=${one.heartbeat} />`,
    html`<${When} at=${one.since} />`,
  ]);
  return html`<${View} name="workers" answer=${answer}>
    ${workers.length === 0 ? html`<${Empty} title=${t("workers.none")} words=${t("workers.none.words")} command="yaoki up" />` : html`<${Table} label=${t("nav.workers")} heads=${[["", t("worker")], ["", t("state")], ["num", t("slots")], ["", t("tab.tasks")], ["", t("why.waits")], ["", t("tags")], ["num", t("heartbeat")], ["num", t("since")]]} rows=${rows} />`}
  <//>`;
}

export function Limits() {
  const answer = useDocument("/limits", {}, { staleWhen: always, every: 5 });
  useTick(1);
  const data = answer.data || { accounts: [], budgets: [], limits: {}, room: {} };
  const spent = (one, value) => (one.name === "money" ? money(value) : value === null ? t("unknown") : number(value));
  return html`<${View} name="limits" answer=${answer}>
    <h2 class="rule">${t("accounts")}</h2>
    ${data.accounts.length === 0 ? html`<p class="hush">${t("accounts.none")}</p>` : html`<${Table} label=${t("accounts")} heads=${[["", t("account")], ["num", t("until")], ["", t("why")]]} rows=${data.accounts.map((one) => [html`<b>${one.name}</b>`, one.until ? clock(one.until) : "–", one.why])} />`}
    <h2 class="rule">${t("budgets")}</h2>
    ${data.budgets.length === 0 ? html`<p class="hush">${t("budgets.none")}</p>` : html`<${Table} label=${t("budgets")} heads=${[["", t("whose")], ["", t("budget")], ["num", t("used")], ["num", t("limit")], ["meter", t("share")]]}
      rows=${data.budgets.map((one) => [html`${named("whose", one.whose)} ${one.run && html`<a class="code" href=${`#/run/${one.run}`}>${one.run}</a>`}`, named("budget", one.name), spent(one, one.used), spent(one, one.limit), html`<meter min="0" max="1" high="0.8" value=${one.share ?? 0}>${percent(one.share)}</meter> ${percent(one.share)}`])} />`}
    <h2 class="rule">${t("room")}</h2>
    <dl class="facts"><${Fact} name=${t("room.disk")}>${bytes(data.room.disk_free_bytes)}<//><${Fact} name=${t("room.memory")}>${bytes(data.room.memory_free_bytes)}<//></dl>
    <h2 class="rule">${t("limits.set")}</h2>
    <${Table} label=${t("limits.set")} heads=${[["code", t("key")], ["num", t("value")]]} rows=${Object.entries(data.limits).map(([key, value]) => [key, value === null ? "–" : typeof value === "number" ? number(value) : JSON.stringify(value)])} />
  <//>`;
}

export function Prompts() {
  const answer = useDocument("/prompts", {}, { staleWhen: always });
  const prompts = answer.data?.prompts || [];
  const treatments = answer.data?.treatments || [];
  return html`<${View} name="prompts" answer=${answer}>
    ${prompts.length === 0 ? html`<${Empty} title=${t("prompts.none")} words=${t("prompts.none.words")} command="yaoki prompts" />` : html`<${Table} label=${t("nav.prompts")} heads=${[["", t("pattern")], ["code", t("prompt")], ["num", t("sent")], ["num", t("cured")], ["num", t("not.cured")], ["num", t("open")], ["meter", t("rate")]]}
      rows=${prompts.map((one) => [html`<b>${one.pattern}</b>`, one.prompt, number(one.sent), number(one.cured), number(one.not_cured), number(one.open), one.rate === null ? "–" : html`<meter min="0" max="1" value=${one.rate}>${percent(one.rate)}</meter> ${percent(one.rate)}`])} />`}
    ${treatments.length > 0 && html`<h2 class="rule">${t("treatments")}</h2>
      <p class="hush">${t("treatments.words")}</p>
      <${Table} label=${t("treatments")} heads=${[["", t("pattern")], ["", t("agent")], ["", t("conversation")], ["num", t("sent")], ["num", t("cured")], ["num", t("not.cured")], ["num", t("rate")], ["num", t("interval")], ["code", t("prompt")]]}
      rows=${treatments.map((one) => [html`<b>${one.pattern}</b>`, one.agent, named("conversation", one.conversation), number(one.sent), number(one.cured), number(one.not_cured), one.rate === null ? "–" : percent(one.rate), one.rate === null ? "–" : `${percent(one.low)}–${percent(one.high)}`, one.prompt])} />`}
  <//>`;
}

export function Reliability() {
  const answer = useDocument("/reliability", {}, { staleWhen: always });
  const data = answer.data || { counts: {}, refused: {}, reconciled: {}, recent: [] };
  const named2 = (pairs) => Object.entries(pairs).map(([name, n]) => html`<${Fact} name=${translate(name)}>${number(n)}<//>`);
  return html`<${View} name="reliability" answer=${answer}>
    <ul class="figures">${Object.entries(data.counts).map(([name, n]) => html`<li><b>${number(n)}</b><span>${named("count", name)}</span></li>`)}</ul>
    ${data.since && html`<p class="hush">${t("since")} <${When} at=${data.since} plain /></p>`}
    ${Object.keys(data.refused).length > 0 && html`<h2 class="rule">${t("refused")}</h2><dl class="facts">${named2(data.refused)}</dl>`}
    ${Object.keys(data.reconciled).length > 0 && html`<h2 class="rule">${t("reconciled")}</h2><dl class="facts">${named2(data.reconciled)}</dl>`}
    <h2 class="rule">${t("lately.events")}</h2>
    ${data.recent.length === 0 ? html`<p class="hush">${t("reliability.none")}</p>` : html`<ol class="entries">${data.recent.map((entry) => html`<li key=${entry.seq}><${Line} entry=${entry} /></li>`)}</ol>`}
  <//>`;
}

export function Settings() {
  const answer = useDocument("/config");
  const rows = Object.entries(answer.data?.settings || {}).map(([key, one]) => [key, typeof one.value === "string" ? one.value : JSON.stringify(one.value), one.origin]);
  return html`<${View} name="settings" answer=${answer}>${answer.data?.file && html`<p><code>${answer.data.file}</code></p>`}<${Table} label=${t("nav.settings")} heads=${[["code", t("key")], ["code", t("value")], ["", t("origin")]]} rows=${rows} /><//>`;
}
