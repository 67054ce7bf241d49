// The evidence that the checks of an attempt prove something: tests that fail without the change,
// hidden checks by the hash of their files, mutants of the changed lines, tell-tales in the diff.

import { html } from "../vendor/preact.js";
import { Outcome, State } from "../parts/shapes.js";
import { translate } from "../translation.js";
import { t } from "../words.js";

const SHOWN = 3;
const DIGEST_CHARS = 12;

export function Evidence({ data }) {
  const { red_first: red, hidden_checks: hidden, mutants, tell_tales: tellTales } = data.evidence;
  const kinds = [
    { name: "evidence.red", asked: red.asked, ran: red.outcome, content: () => html`<${RedFirst} red=${red} />` },
    { name: "evidence.hidden", asked: hidden.length, ran: hidden.some((one) => one.outcome), content: () => hidden.map((one) => html`<${HiddenCheck} one=${one} />`) },
    { name: "evidence.mutants", asked: mutants.asked, ran: mutants.outcome, content: () => html`<${Mutants} mutants=${mutants} />` },
  ];
  const shown = kinds.filter((kind) => kind.ran);
  return html`${(tellTales.outcome || shown.length > 0) && html`<dl class="evidence">
      ${tellTales.outcome && html`<${Kind} name="evidence.tell.tales"><${TellTales} found=${tellTales} /><//>`}
      ${shown.map(({ name, content }) => html`<${Kind} name=${name}>${content()}<//>`)}
    </dl>`}
    ${data.evidence.indistinct && html`<p>${t("evidence.indistinct")}</p>`}
    <${Missing} words=${whyNotRun(data)} kinds=${kinds.filter((kind) => kind.asked && !kind.ran)} />
    <${Missing} words="evidence.not.asked" kinds=${kinds.filter((kind) => !kind.asked)} />`;
}

/** The kinds of evidence that an attempt lacks for the same reason, in one sentence. */
function Missing({ words, kinds }) {
  return kinds.length > 0 && html`<p class="hush">${t(words, { names: kinds.map(({ name }) => t(name)).join(t("comma")) })}</p>`;
}

/** The attempt still runs, ended before, or changed nothing. */
function whyNotRun({ until, ended, changed }) {
  if (!until) return "evidence.later";
  if (ended !== "LANDED") return "evidence.ended";
  return changed ? "evidence.not.run" : "evidence.unchanged";
}

/** Are the items of a finding shown as evidence, so that the finding need not list them again? */
export function isInEvidence(finding, { evidence }) {
  const shown = { mutants: evidence.mutants.survivors, gamed: evidence.tell_tales.places }[finding.check];
  return finding.commit === evidence.commit && Boolean(shown?.length);
}

function Kind({ name, children }) {
  return html`<div><dt>${t(name)}</dt><dd>${children}</dd></div>`;
}

const Optional = ({ required }) => !required && html` <span class="tag">${t("optional")}</span>`;

function TellTales({ found }) {
  return html`<p>${found.outcome === "FAILED" ? html`<${State} state="ESCALATED" words=${t("evidence.found")} />` : html`<${Outcome} name=${found.outcome} />`}</p>
    <${Places} all=${found.places} left=${found.places_left_out} />`;
}

function RedFirst({ red }) {
  const words = red.tests.length ? t("evidence.red.n", { n: red.tests.length + red.tests_left_out }) : translate(red.reason);
  return html`<p><${Outcome} name=${red.outcome} /><${Optional} ...${red} /> ${words}</p>
    <${Places} all=${red.tests.map((where) => ({ where }))} left=${red.tests_left_out} />`;
}

function HiddenCheck({ one }) {
  const files = one.digest ? html`${t("evidence.hidden.files")} <code title=${`SHA-256 ${one.digest}`}>${one.digest.slice(0, DIGEST_CHARS)}</code>` : t("evidence.hidden.no.files");
  const outcome = one.outcome ? html`<${Outcome} name=${one.outcome} />` : html`<${State} state="WAITING" words=${t("evidence.outcome.none")} />`;
  return html`<p>${outcome} <b>${one.check}</b><${Optional} ...${one} /> <span class="hush">${files}</span></p>`;
}

function Mutants({ mutants }) {
  return html`<p><${Outcome} name=${mutants.outcome} /><${Optional} ...${mutants} /> ${mutants.counts ? mutantWords(mutants.counts) : translate(mutants.reason)}</p>
    <${Places} all=${mutants.survivors} left=${mutants.survivors_left_out} />`;
}

function mutantWords({ killed, survived, timed_out: late, unjudged, untried }) {
  const words = [late ? t("evidence.mutants.timed.out", { n: killed, late }) : t("evidence.mutants.killed", { n: killed }), t("evidence.mutants.survived", { n: survived })];
  if (unjudged) words.push(t("evidence.mutants.unjudged", { n: unjudged }));
  if (untried) words.push(t("evidence.mutants.untried", { n: untried }));
  return words.join(t("comma"));
}

/** The first few; the others on request. */
function Places({ all, left }) {
  if (all.length === 0) return null;
  const rest = all.slice(SHOWN);
  return html`<${List} all=${all.slice(0, SHOWN)} />
    ${rest.length > 0 && html`<details><summary>${t("and.more", { n: rest.length + left })}</summary><${List} all=${rest} />${left > 0 && html`<p class="hush">${t("and.more", { n: left })}</p>`}</details>`}`;
}

const List = ({ all }) => html`<ul class="items">${all.map(({ where, words }) => html`<li><code>${where}</code>${words && html` ${translate(words)}`}</li>`)}</ul>`;
