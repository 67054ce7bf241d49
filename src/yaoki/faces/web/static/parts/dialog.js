// Confirmation dialogs, and the results of actions.

import { html, render, useEffect, useRef, useState } from "../vendor/preact.js";
import { t } from "../words.js";
import { Command, ErrorMessage } from "./components.js";

/** Resolves with true only when the person confirms. */
export function confirmAction({ title, words, yes }) {
  return new Promise((resolve) => {
    const place = document.body.appendChild(document.createElement("div"));
    const end = (answer) => {
      render(null, place);
      place.remove();
      resolve(answer);
    };
    render(html`<${ConfirmDialog} title=${title} words=${words} yes=${yes} end=${end} />`, place);
  });
}

function ConfirmDialog({ title, words, yes, end }) {
  const ref = useRef(null);
  useEffect(() => ref.current.showModal(), []);
  return html`<dialog ref=${ref} class="dialog" aria-labelledby="sure-title" onCancel=${() => end(false)}>
    <h2 id="sure-title">${title}</h2>
    <p>${words}</p>
    <div class="buttons">
      <button type="button" autofocus onClick=${() => end(false)}>${t("no.keep")}</button>
      <button type="button" class="ends" onClick=${() => end(true)}>${yes}</button>
    </div>
  </dialog>`;
}

/** Runs one action at a time; returns [act, state] with its result. */
export function useAction() {
  const [state, setState] = useState({ busy: false, done: null, error: null });
  const act = async (what) => {
    setState({ busy: true, done: null, error: null });
    try {
      setState({ busy: false, done: await what(), error: null });
    } catch (error) {
      if (!("code" in error)) throw error;
      setState({ busy: false, done: null, error });
    }
  };
  return [act, state];
}

export function ActionResult({ state, words }) {
  if (state.error) return html`<${ErrorMessage} error=${state.error} />`;
  if (!state.done) return null;
  return html`<p class="came" role="status">${words(state.done)} ${state.done.next && html`<${Command} text=${state.done.next} />`}</p>`;
}
