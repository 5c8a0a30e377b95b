// Beside the form of an alert rule: when such a rule would have fired, asked for whenever the form changes.
import { released } from "../core/press.js";

const place = /** @type {HTMLElement} */ (document.querySelector(".rc-alert-preview"));
const form = /** @type {HTMLFormElement | undefined} */ (place?.closest("form") ?? undefined);
const NUMBERS = ["threshold", "for_ms", "fire_after", "resolve_after"];
const WORDS = ["problem", "metric", "comparison", "topics", "severity"];
let timer = 0;
let turn = 0;

async function ask() {
  const mine = ++turn;
  const given = new FormData(form);
  /** @type {Record<string, any>} */
  const body = {};
  for (const name of WORDS) if (given.get(name)) body[name] = given.get(name);
  for (const name of NUMBERS) if (given.get(name)) body[name] = Number(given.get(name));
  if (!body.problem && !body.metric) return;
  if (body.problem && !body.metric) delete body.comparison;
  try {
    const response = await fetch(place.dataset.address ?? "", {
      method: "POST",
      credentials: "same-origin",
      headers: { "Content-Type": "application/json", "X-CSRFToken": String(given.get("csrfmiddlewaretoken")) },
      body: JSON.stringify(body),
    });
    const found = await response.json();
    await released(); // what it says may push the form's buttons away
    if (mine === turn) place.textContent = response.ok ? said(found) : found.message;
  } catch (error) {
    if (mine === turn) place.textContent = String(error);
  }
}

function said(/** @type {any} */ { count, firings: [last], left_out }) {
  if (!count) return place.dataset.never ?? "";
  const time = new Date(last.from_ms).toLocaleString(document.documentElement.lang, { timeZone: zone() });
  const values = { n: count, time, topic: last.topic || "*" };
  const rest = left_out ? fill(place.dataset.leftOut, { n: left_out }) : "";
  return fill(place.dataset.fires, values) + rest;
}

/** The one that was chosen, where this browser has it. */
function zone() {
  const chosen = place.dataset.timeZone || undefined;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: chosen }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

const fill = (/** @type {string | undefined} */ text, /** @type {Record<string, any>} */ values) =>
  (text ?? "").replace(/%\((\w+)\)s/g, (_, name) => String(values[name]));

if (form?.querySelector("[name=fire_after]")) {
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 400);
  };
  form.addEventListener("input", soon);
  form.addEventListener("change", soon);
  ask();
}
