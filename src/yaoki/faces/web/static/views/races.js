// The rounds of a race: candidates side by side, a row per value in the order in which the values
// are compared, and the criterion that decided.

import { html } from "../vendor/preact.js";
import { money } from "../amounts.js";
import { TaskName } from "../parts/components.js";
import { Outcome } from "../parts/shapes.js";
import { translate } from "../translation.js";
import { named, t } from "../words.js";

// The criterion that each row may decide by.
const VALUES = [
  { key: "failed_checks", criterion: "" },
  { key: "hidden_failures", criterion: "hidden-checks" },
  { key: "surviving_mutants", criterion: "mutants" },
  { key: "letter", criterion: "judge", missing: "–" },
  { key: "changed_lines", criterion: "diff" },
  { key: "cost", criterion: "cost", words: (value) => money(value) },
];

export function Races({ data }) {
  if (data.races.length === 0) return null;
  return html`<h2 class="rule">${t("race")} <span class="tally">${data.races.length}</span></h2>
    ${data.races.map((race) => html`<${Race} key=${race.attempt} race=${race} />`)}`;
}

function Race({ race: told }) {
  const race = { ...told, candidates: told.candidates.map((one) => ({ ...one, letter: letterOf(told, one) })) };
  const known = VALUES.filter(({ key }) => race.candidates.some((one) => one[key] !== null));
  return html`<section class="race" aria-label=${t("attempt.n", { n: race.attempt })} data-criterion=${race.criterion}>
    <p><b>${t("attempt.n", { n: race.attempt })}</b> ${resultWords(race)}</p>
    <div class="race-scroll"><table class="race-table">
      <thead><tr><th scope="col">${t("race.candidate")}</th>${race.candidates.map((one) => html`<th scope="col" data-won=${won(race, one)}><${TaskName} id=${one.id} name=${one.name} /></th>`)}</tr></thead>
      <tbody>
        <${Row} name=${t("race.agent")} race=${race} draw=${(one) => one.agent || "–"} />
        <${Row} name=${t("race.result")} race=${race} draw=${(one) => html`<${Result} race=${race} one=${one} />`} />
        ${known.map(({ key, criterion, words, missing = t("race.unknown") }) => html`<${Row} name=${t(`race.${key}`)} race=${race} decides=${criterion && criterion === race.criterion}
          draw=${(one) => (one[key] === null ? html`<span class="hush">${missing}</span>` : words ? words(one[key]) : one[key])} />`)}
      </tbody>
    </table></div>
    ${race.judge && html`<p class="race-judge">${judgeWords(race.judge)}</p>`}
  </section>`;
}

/** The letter under which the judge saw a candidate. */
function letterOf(race, one) {
  const found = Object.entries(race.judge?.letters || {}).find(([, id]) => id === one.id);
  return found ? found[0] : null;
}

function judgeWords({ agent, choice, reason, message }) {
  if (choice) return t("race.judge.chose", { agent, choice, reason });
  return message ? t("race.judge.nothing", { agent, message: translate(message) }) : t("race.judge.asked", { agent });
}

const won = (race, one) => (race.winner === one.id ? "" : undefined);

function Row({ name, race, draw, decides }) {
  return html`<tr data-decides=${decides ? "" : undefined}><th scope="row">${name}${decides && html` <span class="tag">${t("race.decides")}</span>`}</th>
    ${race.candidates.map((one) => html`<td data-won=${won(race, one)}>${draw(one)}</td>`)}</tr>`;
}

function Result({ race, one }) {
  const words = one.outcome ? html`<${Outcome} name=${one.outcome.toUpperCase()} kind="ended" />` : html`<span class="hush">${t("race.open")}</span>`;
  return html`${words}${won(race, one) !== undefined && html` <span class="tag">${t("race.won")}</span>`}${one.message && html`<p class="hush">${one.message}</p>`}`;
}

/** The result in a sentence, or how far the race is. */
function resultWords(race) {
  const ended = race.candidates.filter((one) => one.outcome).length;
  if (!race.decided_at) return t("race.running", { n: ended, of: race.candidates.length });
  const winner = race.candidates.find((one) => one.id === race.winner);
  const reason = named("criterion", race.criterion || "none");
  return winner ? t("race.winner", { name: winner.name || winner.id, reason }) : reason;
}
