// What this browser remembers: language and theme.  Without storage nothing is remembered.

export function kept(name) {
  try {
    return window.localStorage.getItem(`yaoki.${name}`) || "";
  } catch {
    return "";
  }
}

export function keep(name, value) {
  try {
    window.localStorage.setItem(`yaoki.${name}`, value);
  } catch {
    // Private windows may refuse; the choice then holds until the page is closed.
  }
}

export const THEMES = ["auto", "light", "dark"];

export function dress(theme) {
  const known = THEMES.includes(theme) ? theme : "auto";
  document.documentElement.dataset.theme = known;
  window.dispatchEvent(new CustomEvent("yaoki:dressed"));
  return known;
}
