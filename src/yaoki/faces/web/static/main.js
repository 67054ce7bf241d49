// The page: the session, the frame around the views, and notices.

import { html, render, useEffect, useState } from "./vendor/preact.js";
import { get } from "./api.js";
import { applyTheme, readPreference } from "./preferences.js";
import { listen } from "./keys.js";
import { follow, onEntries } from "./live.js";
import { session } from "./session.js";
import { language, preferredLanguage, loadWords, t } from "./words.js";
import { Command } from "./parts/components.js";
import { Frame } from "./frame.js";
import { announce } from "./announcements.js";

const place = document.getElementById("page");
// The server's answer to an expired link; a browser with a valid cookie continues.
const isExpiredLink = window.location.pathname === "/enter";
if (isExpiredLink) window.history.replaceState(null, "", `/${window.location.hash}`);
let redraws = 0;

async function start() {
  applyTheme(readPreference("theme"));
  const chosen = readPreference("language");
  const loading = chosen && loadWords(chosen);
  try {
    Object.assign(session, await get("/session"));
  } catch (error) {
    await (loading || loadWords(preferredLanguage()));
    return render(error.status === 401 ? html`<${SignIn} />` : html`<${Unreachable} error=${error} />`, place);
  }
  await (loading || loadWords(session.language || preferredLanguage()));
  follow(session.cursor, session.now);
  announce();
  // The first run may start while the page is open.
  onEntries((entries) => {
    session.has_store = true;
    session.newest = entries.findLast((entry) => entry.event === "PLAN_SUBMITTED")?.run || session.newest;
  });
  listen(() => window.dispatchEvent(new CustomEvent("yaoki:help")));
  return show();
}

function show() {
  // A new language redraws everything.
  redraws += 1;
  render(html`<${Frame} key=${`${language}${redraws}`} />`, place);
}

/** Shown without a token: how to get a link. */
function SignIn() {
  return html`<main class="door"><img src="/static/favicon.svg" alt="" width="56" height="56" /><h1>yaoki</h1>${isExpiredLink && html`<p role="alert">${t("door.old")}</p>`}<p>${t("door.words")}</p><${Command} text="yaoki ui" /><p class="hush">${t("door.why")}</p></main>`;
}

function Unreachable({ error }) {
  const [left, setLeft] = useState(3);
  useEffect(() => {
    const clock = setTimeout(() => (left > 1 ? setLeft(left - 1) : window.location.reload()), 1000);
    return () => clearTimeout(clock);
  }, [left]);
  return html`<main class="door" role="alert"><h1>yaoki</h1><p>${error.code === "AWAY" ? t("away") : error.message}</p>${error.hint && html`<${Command} text=${error.hint} />`}<p class="hush">${t("again.in", { n: left })}</p></main>`;
}

window.addEventListener("yaoki:locked", () => render(html`<${SignIn} />`, place));
window.addEventListener("yaoki:language", show);

start();
