// The browser's tab says how many problems there are, also while nobody looks at the page.
import { get } from "../core/api.js";
import { page } from "../core/page.js";

const LOOK_MS = 30_000;
const title = document.title;
let told = 0;

/** What was just learnt by another way; information is no problem. */
export function showInTab(/** @type {Pick<Live.Problem, "severity">[]} */ problems) {
  told = Date.now();
  show(problems.filter(({ severity }) => severity !== "info").length);
}

/** `number` null: not known. */
function show(/** @type {number | null} */ number) {
  const wanted = number ? `(${number}) ${title}` : number === null ? `(?) ${title}` : title;
  if (document.title === wanted) return;
  document.title = wanted;
  const [usual, problem] = page.icons;
  document.querySelector('link[rel="icon"]')?.setAttribute("href", number ? problem : usual);
}

async function look() {
  if (Date.now() - told < LOOK_MS) return;
  try {
    /** @type {Api.Problems} */
    const { at_ms, problems } = await get("problems");
    if (at_ms === null) show(null);
    else showInTab(problems);
  } catch {
    show(null); // signed out, or nobody answers: the page says which
  }
}

look();
setInterval(look, LOOK_MS);
