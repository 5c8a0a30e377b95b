// A wall display: asks every two seconds, turns its pages, says how old it is, and outlives whatever it meets.
import { byId, h, replace, setText } from "../core/dom.js";
import { duration, time } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { drawn, fit } from "../screens/screenpanels.js";

const EVERY_MS = 2_000;
const LATE_MS = 10_000;
const PATIENCE_MS = 10_000;
const RELOAD_MS = 6 * 3_600_000; // what a browser may lose in months does not pile up
const opened = performance.now();
/** @type {Api.ScreenData | null} */
let newest = null;
let heardAt = 0;
let problem = "";
let at = 0;
let turnedAt = performance.now();
let gone = false;

async function ask() {
  try {
    const response = await fetch(page.data, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    if (response.status === 404 || response.status === 401 || response.status === 403) return location.reload();
    if (!response.ok) throw new Error(String(response.status));
    const found = await response.json();
    if (gone) return;
    // Only when the server has just answered: a page that is reloaded while it is away could not come back.
    if (found.release !== page.release || performance.now() - opened > RELOAD_MS) {
      gone = true;
      return location.reload();
    }
    newest = found;
    heardAt = performance.now();
    problem = "";
    show();
  } catch {
    problem = gettext("no connection");
  } finally {
    if (!gone) setTimeout(ask, EVERY_MS);
  }
}

function turn() {
  if (!newest || newest.pages.length < 2 || !newest.rotate_s) return;
  if (performance.now() - turnedAt < newest.rotate_s * 1000) return;
  turnedAt = performance.now();
  at += 1;
  show();
}

function show() {
  if (!newest) return;
  const { title, theme, now_ms: now } = newest;
  document.title = title;
  setText(byId("sc-title"), title);
  document.documentElement.dataset.theme = theme;
  look();
  at %= newest.pages.length;
  const panels = newest.pages[at];
  const main = byId("sc-main");
  const columns = panels.length < 3 && innerWidth < innerHeight ? 1 : Math.ceil(Math.sqrt(panels.length));
  main.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
  replace(
    main,
    panels.map((each) => drawn(/** @type {Live.Panel} */ (each), now)),
  );
  for (const panel of main.children) fit(/** @type {HTMLElement} */ (panel));
  const pages = newest.pages.length;
  setText(byId("sc-page"), pages > 1 ? `${at + 1} / ${pages}` : "");
}

/** How old is what stands here: by the clock of Redis when it came, and by ours since. */
function tell() {
  turn();
  const place = byId("sc-age");
  if (!newest) return setText(place, problem || gettext("Loading…"));
  const { now_ms: now, age_ms: then } = newest;
  const age = then === null ? null : then + performance.now() - heardAt;
  const late = age === null || age > LATE_MS;
  document.body.classList.toggle("sc-stale", late);
  if (then === null || age === null) return setText(place, gettext("STALE: nobody samples"));
  const words = { time: time(now - then), age: duration(1000 * Math.floor(age / 1000)) };
  const said = late ? gettext("STALE: last updated %(time)s, %(age)s ago") : gettext("Last updated %(time)s");
  setText(place, fill(said, words) + (problem && late ? ` · ${problem}` : ""));
}

const dark = matchMedia("(prefers-color-scheme: dark)");
function look() {
  const theme = document.documentElement.dataset.theme;
  document.documentElement.dataset.look = theme === "auto" ? (dark.matches ? "dark" : "light") : theme;
}

dark.addEventListener("change", look);
byId("sc-full").addEventListener("click", () => document.documentElement.requestFullscreen?.());
addEventListener("keydown", (event) => {
  const steps = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (event.key === "f") document.documentElement.requestFullscreen?.();
  if (!steps || !newest) return;
  at += steps + newest.pages.length;
  turnedAt = performance.now();
  show();
});
look();
replace(byId("sc-main"), h("p", { class: "sc-calm" }, gettext("Loading…")));
ask();
setInterval(tell, 500);
