// The words of the page: one dictionary per language, the same keys in each.

export const LANGUAGES = { en: "English", ja: "日本語" };
let words = {};
// Translations of the server's sentences; English needs none.
let serverPatterns = {};
let sentences = [];
export let language = "en";

/** The browser's preferred language among the available ones. */
export function preferredLanguage() {
  const known = (navigator.languages || [navigator.language]).map((name) => name.slice(0, 2).toLowerCase());
  return known.find((name) => name in LANGUAGES) || "en";
}

export async function loadWords(wanted) {
  language = wanted in LANGUAGES ? wanted : "en";
  const other = language !== "en";
  const [own, server, patterns] = await Promise.all([fetchWords(language), other ? fetchWords(`server.${language}`) : {}, other ? fetchWords(`sentences.${language}`) : []]);
  [words, serverPatterns] = [own, server];
  sentences = patterns.map(([pattern, other]) => [new RegExp(`^(?:${pattern})$`, "su"), other]);
  document.documentElement.lang = language;
}

async function fetchWords(name) {
  const answer = await fetch(new URL(`./words/${name}.json`, import.meta.url));
  return answer.json();
}

/** The first pattern that matches a whole English sentence, with its placeholders. */
export function matchSentence(sentence) {
  for (const [pattern, other] of sentences) {
    const found = pattern.exec(sentence);
    if (found) return { other, places: found.groups || {} };
  }
  return null;
}

export const serverWords = (key) => serverPatterns[key] || "";

/** `t("blocks.n", {n: 2})`; a key with `.one` beside it is used for a single thing. */
export function t(key, values = {}) {
  const found = (values.n === 1 && words[`${key}.one`]) || words[key] || key;
  return found.replace(/\{(\w+)\}/g, (all, name) => (name in values ? number(values[name]) : all));
}

/** Is there a word for this key?  Other names are shown unchanged. */
export function named(kind, name) {
  const key = `${kind}.${name}`;
  return key in words ? words[key] : String(name ?? "");
}

export function number(value) {
  return typeof value === "number" ? value.toLocaleString(language) : String(value);
}
