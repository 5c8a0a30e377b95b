// Keyboard shortcuts: one key, or two in a row. `?` lists them.
import { h, replace } from "./dom.js";
import { page } from "./page.js";
import { gettext } from "./text.js";

/** @type {Map<string, {title: string, action: () => void}>} */
const shortcuts = new Map();
const PAUSE_MS = 1200;
let first = "";
let firstAt = 0;

/** shortcut("g o", "Overview", fn) */
export function shortcut(/** @type {string} */ keys, /** @type {string} */ title, /** @type {() => void} */ action) {
  shortcuts.set(keys, { title, action });
}

function typing(/** @type {any} */ target) {
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (document.querySelector("dialog[open]:modal")) return;
  const pair = `${first} ${event.key}`;
  const known = Date.now() - firstAt < PAUSE_MS ? shortcuts.get(pair) : undefined;
  const found = known ?? shortcuts.get(event.key);
  first = event.key;
  firstAt = Date.now();
  if (!found) return;
  event.preventDefault();
  first = "";
  found.action();
});

function showHelp() {
  const dialog = h("dialog", { class: "rc-dialog", "aria-labelledby": "rc-help-title" });
  const rows = [...shortcuts].map(([keys, { title }]) =>
    h("tr", {}, h("td", {}, ...keys.split(" ").map((key) => h("kbd", {}, key))), h("td", {}, title)),
  );
  const close = h(
    "button",
    { type: "button", class: "rc-button", autofocus: true, onclick: () => dialog.close() },
    gettext("Close"),
  );
  replace(
    dialog,
    h("h2", { id: "rc-help-title" }, gettext("Keyboard")),
    h("table", { class: "rc-keys" }, h("tbody", {}, ...rows)),
    h("div", { class: "rc-dialog-buttons" }, close),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

shortcut("?", gettext("This help"), showHelp);
// The pages of the console, for whoever may open them; a page may give a key a closer meaning.
for (const [name, keys, title] of [
  ["overview", "g o", gettext("Go to the overview")],
  ["workers", "g w", gettext("Go to the workers")],
  ["dead", "g d", gettext("Go to the dead letters of all topics")],
  ["operations", "g p", gettext("Go to the operations")],
  ["audit", "g a", gettext("Go to the audit")],
])
  if (page.places[name]) shortcut(keys, title, () => location.assign(page.places[name]));
