// All runs, the newest first.

import { html, useEffect, useState } from "../vendor/preact.js";
import { get } from "../api.js";
import { money, tokens } from "../amounts.js";
import { always, useDocument } from "../documents.js";
import { Empty, Progress, LoadStatus, When } from "../parts/components.js";
import { State } from "../parts/shapes.js";
import { toRun } from "../routes.js";
import { lacksWorker } from "../session.js";
import { t } from "../words.js";

const PAGE = 50;
// Workers die without an event.
export const BEAT_S = 5;

export function Runs() {
  const answer = useDocument("/runs", { limit: PAGE }, { staleWhen: always, every: BEAT_S });
  const [older, setOlder] = useState({ runs: [], next: null });
  const first = answer.data;
  useEffect(() => setOlder((before) => (before.runs.length ? before : { runs: [], next: first?.next_cursor || null })), [first?.next_cursor]);
  const more = async () => {
    const page = await get("/runs", { limit: PAGE, cursor: older.next });
    setOlder({ runs: [...older.runs, ...page.runs], next: page.next_cursor });
  };
  return html`<section aria-labelledby="title" class="column wide">
    <h1 id="title">${t("nav.runs")}</h1>
    <${LoadStatus} of=${answer} />
    ${first && first.runs.length === 0 && html`<${Empty} title=${t("start.title")} words=${t("start.words")} command="yaoki run plan.yaml" />`}
    ${first?.runs.length > 0 && html`<${RunRows} runs=${unique([...first.runs, ...older.runs])} />`}
    ${older.next && html`<button type="button" onClick=${more}>${t("older")}</button>`}
  </section>`;
}

function unique(runs) {
  return [...new Map(runs.map((run) => [run.run, run])).values()];
}

export function RunRows({ runs }) {
  return html`<ul class="cards">${runs.map((run) => html`<li class="card" key=${run.run}>
    <div class="card-head"><${State} state=${lacksWorker(run) ? "HELD" : run.status} words=${t(lacksWorker(run) ? "run.LEFT" : `run.${run.status}`)} />
      <a class="card-name" href=${toRun(run.run)} data-row>${run.goal}</a>
      <span class="code hush">${run.run}</span></div>
    <${Progress} counts=${run.counts} blocked=${run.blocked || 0} proofs=${run.proofs} left=${lacksWorker(run)} />
    <p class="hush numbers"><span><${When} at=${run.created_at} /></span><span>${t("cost")} ${money(run.cost, run.untold)}</span><span>${t("tokens")} ${tokens(run.tokens, run.untold)}</span>${run.merged && html`<span>${t("merged")}</span>`}</p>
  </li>`)}</ul>`;
}
