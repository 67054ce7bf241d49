// Preferences stored in the browser: language and theme.  Without storage they are not kept.

export function readPreference(name) {
  try {
    return window.localStorage.getItem(`yaoki.${name}`) || "";
  } catch {
    return "";
  }
}

export function storePreference(name, value) {
  try {
    window.localStorage.setItem(`yaoki.${name}`, value);
  } catch {
    // Private windows may refuse storage; the choice then lasts until the page is closed.
  }
}

export const THEMES = ["auto", "light", "dark"];

export function applyTheme(theme) {
  const known = THEMES.includes(theme) ? theme : "auto";
  document.documentElement.dataset.theme = known;
  window.dispatchEvent(new CustomEvent("yaoki:theme"));
  return known;
}
