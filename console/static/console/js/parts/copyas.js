// "Copy as": what an action would ask the API for, as a command for a terminal or as Python, to copy.
import { Captured, captured } from "../core/api.js";
import { h, icon } from "../core/dom.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { toast } from "../core/toast.js";
import { copyText } from "./command.js";

/** @typedef {import("../core/api.js").Asked} Asked */

const quoted = (/** @type {string} */ text) => `'${text.replaceAll("'", "'\\''")}'`;

/** In a shell, with the token in RMQ_TOKEN. */
export function asCurl(/** @type {Asked} */ { method, url, body, headers }) {
  const lines = [`curl -X ${method} ${quoted(url)}`, `-H "Authorization: Bearer $RMQ_TOKEN"`];
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body !== undefined) lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`);
  return lines.join(" \\\n  ");
}

/** With what every Python has. JSON in a string, for its words are not all Python's. */
export function asPython(/** @type {Asked} */ { method, url, body, headers }) {
  const known = Object.entries(headers).map(([name, value]) => `    ${literal(name)}: ${literal(value)},\n`);
  const data = body === undefined ? "None" : `${literal(JSON.stringify(body))}.encode()`;
  return `import json, os, urllib.request

headers = {
    "Authorization": f"Bearer {os.environ['RMQ_TOKEN']}",
    "Content-Type": "application/json",
${known.join("")}}
body = ${data}
request = urllib.request.Request(${literal(url)}, body, headers, method="${method}")
with urllib.request.urlopen(request) as answer:
    print(json.load(answer))
`;
}

/** JSON's strings are Python's, but for halves of characters. */
const literal = (/** @type {string} */ text) => JSON.stringify(text);

/** What `ask()` would ask for, or null where that is nothing; what it throws otherwise is said. */
async function requestOf(/** @type {() => any} */ ask) {
  try {
    await captured(ask);
    toast(gettext("There is nothing to copy yet: fill in the form."), "info");
  } catch (problem) {
    if (problem instanceof Captured) return problem.asked;
    toast(messageOf(problem), "error");
  }
  return null;
}

/** Two buttons; `ask()` does what is done otherwise, and is stopped where it would change something. */
export function copyAs(/** @type {() => any} */ ask) {
  const copy = async (/** @type {(asked: Asked) => string} */ words) => {
    const asked = await requestOf(ask);
    if (asked) await copyText(words(asked));
  };
  const button = (/** @type {string} */ name, /** @type {(asked: Asked) => string} */ words) =>
    h("button", { type: "button", class: "rc-chip", onclick: () => copy(words) }, icon("content_copy"), name);
  return h(
    "span",
    { class: "rc-copy-as" },
    h("span", { class: "rc-muted" }, gettext("Copy as")),
    button("curl", asCurl),
    button("Python", asPython),
  );
}

/** Beside a button that does at once what it says: one symbol, which shows the request and the two ways to copy it. */
export function copyButton(/** @type {string} */ action, /** @type {() => any} */ act) {
  const label = fill(gettext("Copy the request: %(action)s"), { action });
  return h(
    "button",
    {
      type: "button",
      class: "rc-icon-button rc-copy-button",
      "aria-label": label,
      "aria-haspopup": "dialog",
      title: label,
      onclick: async () => {
        const asked = await requestOf(act);
        if (asked) showRequest(label, asked);
      },
    },
    icon("content_copy"),
  );
}

function showRequest(/** @type {string} */ title, /** @type {Asked} */ asked) {
  const close = h("button", { type: "button", class: "rc-button", onclick: () => dialog.close() }, gettext("Close"));
  const dialog = h(
    "dialog",
    { class: "rc-dialog", "aria-label": title },
    h("h2", {}, title),
    h("pre", { class: "rc-pre", tabindex: "0" }, asCurl(asked)),
    h(
      "div",
      { class: "rc-dialog-buttons" },
      copyAs(() => Promise.reject(new Captured(asked))),
      close,
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
