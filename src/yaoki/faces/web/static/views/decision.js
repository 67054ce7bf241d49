// One decision: what was concluded, by which rule, from what, and what would have changed it.

import { html } from "../vendor/preact.js";
import { clock } from "../amounts.js";
import { Fact } from "../parts/components.js";
import { ruleWords, translate } from "../translation.js";
import { named, t } from "../words.js";

export function Decision({ one }) {
  const inputs = Object.entries(one.inputs || {});
  return html`<li class="decision"><p><time class="code hush" datetime=${one.at}>${clock(one.at)}</time> <b>${named("decision", one.decision)}</b> <span class="hush">${t("attempt.n", { n: one.attempt })}</span></p>
    ${one.failure && html`<p class="cause">${one.failure}</p>`}
    <p>${translate(one.reasoning)}</p>
    ${one.draw && html`<${Draw} draw=${one.draw} />`}
    <details><summary>${t("rule")} ${one.rule}</summary><p>${ruleWords(one)}</p>
      ${inputs.length > 0 && html`<dl class="facts">${inputs.map(([name, value]) => html`<${Fact} name=${name}>${typeof value === "string" ? value : JSON.stringify(value)}<//>`)}</dl>`}
      ${one.otherwise?.length > 0 && html`<p class="hush">${t("otherwise")}</p><ul>${one.otherwise.map((words) => html`<li>${translate(words)}</li>`)}</ul>`}
    </details></li>`;
}

/** The arms of a draw with their counts and samples; the largest sample was chosen. */
export function Draw({ draw }) {
  return html`<p class="hush">${t("draw")}</p><ul class="draw">${draw.arms.map((arm) => html`<li><b>${arm.name}</b>: ${t("draw.arm", { cured: arm.cured, failed: arm.failed, sample: arm.sample })}${arm.name === draw.chosen && html` <b>(${t("draw.chosen")})</b>`}</li>`)}</ul>`;
}
