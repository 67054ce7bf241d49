// Output of agents and tools: logs, prompts, diffs.  Untrusted: text nodes only, limited in size.

import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { get } from "../api.js";
import { bytes } from "../amounts.js";
import { t } from "../words.js";
import { useDocument } from "../documents.js";
import { plain } from "../safe_text.js";
import { ErrorMessage } from "./components.js";

const PIECE = 16_384;
const DIFF_BYTES = 65_536;
const LINES = 400;

/** The tail of a log, followed while it grows; earlier pieces on request. */
export function Log({ path, file, growing, fromStart }) {
  const [log, setLog] = useState({ text: "", from: 0, until: 0, bytes: 0, error: null, ready: false });
  const box = useRef(null);
  useEffect(() => {
    const abort = new AbortController();
    let place = null;
    const more = async () => {
      const query = place === null ? { file, bytes: PIECE, ...(fromStart ? { from: 0 } : {}) } : { file, from: place, bytes: PIECE };
      const piece = await get(path, query, abort.signal);
      const first = place === null;
      place = piece.until;
      setLog((was) => ({ ...appendPiece(first ? null : was, piece), error: null, ready: true }));
    };
    const again = () => more().catch((error) => error.name === "AbortError" || setLog((was) => ({ ...was, error, ready: true })));
    again();
    const clock = growing ? setInterval(again, 1_500) : 0;
    return () => (abort.abort(), clearInterval(clock));
  }, [path, file, growing]);
  useEffect(() => {
    if (growing && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [log.text, growing]);
  const earlier = async () => {
    const from = Math.max(0, log.from - PIECE);
    const piece = await get(path, { file, from, bytes: log.from - from });
    setLog((was) => ({ ...was, text: piece.text + was.text, from: piece.from }));
  };
  if (log.error && !log.text) return log.error.status === 404 ? html`<p class="hush">${t("log.none")}</p>` : html`<${ErrorMessage} error=${log.error} />`;
  if (!log.ready) return html`<p class="hush">${t("loading")}</p>`;
  if (!log.text.trim()) return html`<p class="hush">${t("log.empty")}</p>`;
  return html`<div class="log">
    ${log.from > 0 && html`<button type="button" class="quiet" onClick=${earlier}>${t("log.earlier", { size: bytes(log.from) })}</button>`}
    <pre ref=${box} tabindex="0" aria-label=${t("log.of", { file })}>${plain(log.text)}</pre>
    ${fromStart && log.until < log.bytes && html`<p class="hush">${t("log.later", { size: bytes(log.bytes - log.until) })}</p>`}
  </div>`;
}

// ---------------------------------------------------------------- prompts

const PROMPT_BYTES = 131_072;
const SECTIONS_MAX = 20;

/** A prompt by sections; sections that differ between attempts are open. */
export function Prompt({ path, again }) {
  const answer = useDocument(path, { file: "prompt", from: 0, bytes: PROMPT_BYTES });
  if (answer.error) return html`<${ErrorMessage} error=${answer.error} />`;
  if (!answer.data) return html`<p class="hush">${t("loading")}</p>`;
  const parts = sections(plain(answer.data.text));
  const isOpen = (i) => parts.length < 3 || (i > (again ? 1 : 0) && i < parts.length - 1);
  return html`<div class="log prompt">${parts.map(([title, body], i) => html`<details open=${isOpen(i)}><summary>${title}</summary><pre tabindex="0">${body}</pre></details>`)}
    ${answer.data.until < answer.data.bytes && html`<p class="hush">${t("log.later", { size: bytes(answer.data.bytes - answer.data.until) })}</p>`}</div>`;
}

function sections(text) {
  const found = [];
  for (const piece of text.split(/^(?=# )/m)) {
    const [, title = "", body] = /^(?:# (.*)\n)?([^]*)$/.exec(piece);
    if (title && found.length < SECTIONS_MAX) found.push([title, body.trim()]);
    else if (found.length) found[found.length - 1][1] += `\n${piece}`;
    else found.push(["…", piece.trim()]);
  }
  return found;
}

// ---------------------------------------------------------------- joining

const TEXT_MAX = 1_048_576;

function appendPiece(was, piece) {
  if (!was) return piece;
  const text = (was.text + piece.text).slice(-TEXT_MAX);
  return { ...piece, text, from: was.from };
}

// ---------------------------------------------------------------- diffs

const KINDS = [["diff ", "file"], ["index ", "meta"], ["--- ", "meta"], ["+++ ", "meta"], ["@@", "hunk"], ["+", "plus"], ["-", "minus"]];

function kind(line) {
  return KINDS.find(([start]) => line.startsWith(start))?.[1] || "same";
}

export function Diff({ path, query }) {
  const answer = useDocument(path, { bytes: DIFF_BYTES, ...query });
  const [lines, setLines] = useState(LINES);
  if (answer.error) return answer.error.status === 409 ? html`<p class="hush">${t("diff.none")}</p>` : html`<${ErrorMessage} error=${answer.error} />`;
  if (!answer.data) return html`<p class="hush">${t("loading")}</p>`;
  const all = plain(answer.data.diff).split("\n");
  if (!answer.data.diff.trim()) return html`<p class="hush">${t("diff.none")}</p>`;
  return html`<div class="diff"><pre tabindex="0" aria-label=${t("diff")}>${all.slice(0, lines).map((line) => html`<span class=${kind(line)}>${named(line)}${"\n"}</span>`)}</pre>
    ${lines < all.length && html`<button type="button" class="quiet" onClick=${() => setLines(lines * 4)}>${t("diff.more", { n: all.length - lines })}</button>`}
    ${answer.data.cut && html`<p class="hush">${t("diff.cut", { size: bytes(answer.data.bytes) })}</p>`}
  </div>`;
}

/** `diff --git a/x b/x` has the path twice; one is enough. */
function named(line) {
  const found = /^diff --git a\/(.*) b\/\1$/.exec(line);
  return found ? found[1] : line;
}
