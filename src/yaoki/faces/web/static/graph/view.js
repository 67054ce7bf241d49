// The graph of a run: folded, searched, moved and zoomed by mouse, touch and keyboard.

import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { useRunGraph } from "../run_graph.js";
import { useDocument, useSize, ofTask } from "../documents.js";
import { Command, TaskName, ErrorMessage } from "../parts/components.js";
import { State } from "../parts/shapes.js";
import { go, refine, toRun, toTask } from "../routes.js";
import { translate, waitWords } from "../translation.js";
import { named, t } from "../words.js";
import { colours, draw } from "./draw.js";
import { FOLDS, fold, refreshBox } from "./fold.js";
import { layout, related } from "./layout.js";
import { useNavigation } from "./navigation.js";

export function Graph({ run, query }) {
  const runGraph = useRunGraph(run.run);
  if (runGraph?.error && !runGraph.nodes) return html`<${ErrorMessage} error=${runGraph.error} />`;
  if (!runGraph?.nodes) return html`<p class="hush" role="status">${t("loading")}</p>`;
  return html`<${GraphView} run=${run.run} runGraph=${runGraph} query=${query} />`;
}

function GraphView({ run, runGraph, query }) {
  const how = FOLDS.includes(query.fold) ? query.fold : "none";
  const [opened, setOpened] = useState(() => new Set());
  const [text, setText] = useState(query.text || "");
  const [key, setKey] = useState(query.at ? `${run}-${query.at}` : "");
  const [box, size] = useSize();
  const graph = useMemo(() => buildGraph(runGraph, how, opened, size), [runGraph.shape, how, opened, size.width > 0, how === "done" && runGraph.version]);
  const marked = useMemo(() => marks(graph, key, text), [graph, key, text]);
  const chosen = graph?.byKey.get(key);
  const open = (one) => (one.single ? go(toTask(one.single.id)) : setOpened(new Set([...opened, one.key])));
  const choose = (next) => {
    setKey(next || "");
    const node = graph.byKey.get(next)?.single;
    refine({ at: node ? String(node.n) : "" });
  };
  const options = FOLDS.filter((name) => name === "none" || name === "done" || (name === "phase" ? runGraph.nodes.some((node) => node.phase) : runGraph.nodes.some((node) => node.group)));
  return html`<div class="filters">
      <input type="search" placeholder=${t("filter.tasks")} aria-label=${t("filter.tasks")} value=${text} onInput=${(event) => (setText(event.target.value), refine({ text: event.target.value }))} />
      <label class="field inline"><span>${t("fold")}</span><select value=${how} onChange=${(event) => (setOpened(new Set()), refine({ fold: event.target.value === "none" ? "" : event.target.value }))}>${options.map((name) => html`<option value=${name}>${t(`fold.${name}`)}</option>`)}</select></label>
      <span class="hush">${countWords(runGraph)}</span>
      <a class="more" href=${toRun(run, "tasks", { text })}>${t("as.list")}</a>
    </div>
    <div class="graph" ref=${box}>
      ${graph && html`<${Canvas} graph=${graph} size=${size} marked=${marked} version=${runGraph.version} choose=${choose} open=${open} chosen=${chosen} />`}
      ${chosen && html`<${Panel} run=${run} box=${chosen} close=${() => choose("")} open=${open} />`}
    </div>`;
}

/** Final checks are drawn, but are not tasks of the plan and have no written needs. */
function countWords({ nodes, edges, layers }) {
  const proofs = new Set(nodes.filter((node) => node.proof).map((node) => node.n));
  const words = t("graph.words", { n: nodes.length - proofs.size, edges: edges.filter(([, to]) => !proofs.has(to)).length, layers });
  return proofs.size ? `${words} · ${t("proof")} ${proofs.size}` : words;
}

function buildGraph(runGraph, how, opened, { width, height }) {
  if (!width) return null;
  const folded = fold(runGraph, how, opened);
  const whole = layout(folded, width / Math.max(200, height));
  return { ...folded, ...whole, byKey: new Map(folded.boxes.map((box) => [box.key, box])) };
}

function marks(graph, key, text) {
  if (!graph) return {};
  const words = text.trim().toLowerCase();
  const found = words ? new Set(graph.boxes.filter((box) => box.nodes.some((node) => node.lower.includes(words))).map((box) => box.key)) : null;
  return { key, found, near: graph.byKey.has(key) ? related(graph, key) : null };
}

function Canvas({ graph, size, marked, version, choose, open, chosen }) {
  const ref = useRef(null);
  const [themeVersion, setThemeVersion] = useState(0);
  const [view, navigation] = useNavigation(ref, graph, size, { choose, open, key: marked.key });
  useEffect(() => {
    const change = () => setThemeVersion((n) => n + 1);
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    window.addEventListener("yaoki:theme", change);
    dark.addEventListener("change", change);
    return () => (window.removeEventListener("yaoki:theme", change), dark.removeEventListener("change", change));
  }, []);
  const paint = useMemo(colours, [themeVersion]);
  useEffect(() => {
    graph.boxes.forEach(refreshBox);
    const frame = requestAnimationFrame(() => {
      const ratio = window.devicePixelRatio || 1;
      const canvas = ref.current;
      if (!canvas) return;
      const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
      if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
      draw(canvas, graph, view, marked, paint);
      canvas.dataset.drawn = String(graph.boxes.length);
    });
    return () => cancelAnimationFrame(frame);
  });
  const label = chosen ? `${chosen.name || ""} ${named("state", chosen.state)}` : t("graph.label", { n: graph.boxes.length });
  return html`<canvas ref=${ref} tabindex="0" role="application" aria-roledescription=${t("tab.graph")} aria-label=${label} ...${navigation.events} />
    <div class="graph-buttons">${navigation.buttons.map(([words, title, act]) => html`<button type="button" title=${title} aria-label=${title} onClick=${act}>${words}</button>`)}</div>`;
}

function Panel({ run, box, close, open }) {
  const one = box.single;
  const answer = useDocument(one ? `/runs/${run}/tasks` : "", { ids: one?.id, limit: 1 }, { staleWhen: ofTask(one?.id), every: 5 });
  const task = answer.data?.tasks[0];
  return html`<aside class="panel" aria-label=${box.name}>
    <button type="button" class="quiet close" aria-label=${t("close")} onClick=${close}>×</button>
    ${one ? html`<h3><${TaskName} id=${one.id} name=${one.name} /></h3><p><${State} state=${box.state} /> ${one.state === "ACTIVE" ? named("stage", one.stage) : ""} ${one.attempt > 0 && html`<span class="hush">${t("attempt.n", { n: one.attempt })}</span>`}</p>` : html`<h3>${box.name || named("state", "DONE")} <span class="tally">${box.nodes.length}</span></h3>${Object.entries(box.counts).map(([state, n]) => html`<p><${State} state=${state} /> <b>${n}</b></p>`)}<button type="button" onClick=${() => open(box)}>${t("unfold")}</button>`}
    ${task?.waits_for && html`<p>${waitWords(task)}</p>`}${task?.question && html`<p class="cause">${translate(task.question)}</p>`}
    ${task?.next && html`<p><${Command} text=${task.next} /></p>`}
  </aside>`;
}
