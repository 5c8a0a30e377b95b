// The send form: one message or many, checked before they go.
import { param, setParams } from "../core/address.js";
import { ofTopic, post } from "../core/api.js";
import { byId, h, icon, press, replace, setText } from "../core/dom.js";
import { bytes, count } from "../core/format.js";
import { parse } from "../core/json.js";
import { shortcut } from "../core/keys.js";
import { page } from "../core/page.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { copyAs } from "../parts/copyas.js";
import { drafts, refusal } from "../sending/drafts.js";
import { indented } from "../sending/jsontext.js";
import { pairRows } from "../sending/pairrows.js";
import { whenField } from "../sending/sendwhen.js";
import { showSent } from "../sending/sent.js";

const stream = page.topic.kind === "stream";
const FOLLOW = '{"topic": "…", "content": "…", "in_ms": 0}';
/** @type {Record<string, string[]>} */
const MODES = {
  one: [gettext("One message"), gettext("Content")],
  ...(stream ? { fields: [gettext("Fields"), gettext("Fields of one entry")] } : {}),
  lines: [gettext("One per line"), gettext("Contents, each in a line of its own")],
  objects: [
    "JSON Lines",
    stream
      ? gettext(
          "Entries, each a JSON object in a line of its own: content or fields, slot_basis, headers, id; what it leaves out comes from the form",
        )
      : gettext(
          "Messages, each a JSON object in a line of its own: content, key, slot_basis, headers, version, expires_ms, unique_for_ms, tenant and the time or priority; what it leaves out comes from the form",
        ),
  ],
};
const missing = page.grants.actions.send;
/** What was asked for last, by the lines it stands in. @type {import("../sending/drafts.js").Draft[]} */
let found = [];
/** What was sent last of what stands there: no loss. */
let sent = "";
let mode = Object.hasOwn(MODES, param("mode")) ? param("mode") : "one";

const segments = h(
  "div",
  { class: "rc-segments", role: "group", "aria-label": gettext("How many") },
  Object.entries(MODES).map(([name, [label]]) =>
    h("button", { type: "button", dataset: { name }, onclick: () => choose(name) }, label),
  ),
);
const content = h("textarea", {
  class: "rc-input rc-mono",
  rows: 10,
  name: "content",
  spellcheck: "false",
  oninput: check,
});
const contentTitle = h("span", {});
const verdict = h("span", { class: "rc-muted", role: "status" });
const format = h("button", { type: "button", class: "rc-button rc-small", onclick: tidy }, gettext("Format"));
const encoding = h(
  "select",
  { class: "rc-select", name: "encoding", "aria-label": gettext("Written as"), onchange: check },
  h("option", { value: "text" }, gettext("text")),
  h("option", { value: "base64" }, "base64"),
);
const when = whenField(page.topic.kind);
const key = h("input", { class: "rc-input", name: "key", autocomplete: "off", maxlength: 512 });
const basis = h("input", { class: "rc-input", name: "slot_basis", autocomplete: "off", maxlength: 512 });
const version = h("input", { class: "rc-input", name: "version", type: "number", min: 0, step: 1 });
const expires = h("input", { class: "rc-input", name: "expires_ms", type: "number", min: 0, step: 1 });
const unique = h("input", { class: "rc-input", name: "unique_for_ms", type: "number", min: 0, step: 1 });
const tenant = h("input", { class: "rc-input", name: "tenant", autocomplete: "off", maxlength: 64 });
const follow = () => h("input", { class: "rc-input rc-mono", autocomplete: "off", placeholder: FOLLOW });
const ifDone = follow();
const ifDead = follow();
const reason = h("input", { class: "rc-input", name: "reason", maxlength: 500, autocomplete: "off" });
const headers = pairRows(gettext("Header"), gettext("Add a header"));
const fields = pairRows(gettext("Field"), gettext("Add a field"));
const problem = h("p", { class: "rc-error", role: "alert", hidden: true });
const results = h("section", { class: "rc-card rc-flush", "aria-label": gettext("Result"), hidden: true });
const tryButton = h(
  "button",
  { type: "button", class: "rc-button", onclick: () => go(true) },
  icon("fact_check"),
  gettext("Check only"),
);
const sendButton = h("button", { type: "submit", class: "rc-button rc-primary" }, icon("send"), gettext("Send"));
const contentLabel = h("label", {}, contentTitle, content);
const contentBar = h("div", { class: "rc-send-field" }, encoding, verdict, format);
const form = h(
  "form",
  { class: "rc-card rc-send", "aria-label": gettext("Send a message") },
  missing ? h("p", { class: "rc-muted" }, missing) : null,
  segments,
  contentLabel,
  contentBar,
  fields.element,
  when.element,
  h(
    "div",
    { class: "rc-send-pairs" },
    stream ? null : h("label", {}, gettext("Key (merges equal ones; empty: the content)"), key),
    h(
      "label",
      {},
      stream
        ? gettext("Slot basis (in order; empty: the content)")
        : gettext("Slot basis (one at a time; empty: the key)"),
      basis,
    ),
    stream ? null : h("label", {}, gettext("Version (older never replaces newer)"), version),
    stream ? null : h("label", {}, gettext("Expires after so many ms (empty: the topic's)"), expires),
    stream ? null : h("label", {}, gettext("Once within so many ms (empty: the topic's)"), unique),
    stream ? null : h("label", {}, gettext("Tenant (empty: as the topic says)"), tenant),
    stream ? null : h("label", {}, gettext("If done: sent when it has succeeded (JSON)"), ifDone),
    stream ? null : h("label", {}, gettext("If dead: sent when it has died (JSON)"), ifDead),
    h("label", {}, gettext("Reason (optional)"), reason),
  ),
  h("h3", { class: "rc-strong" }, gettext("Headers")),
  headers.element,
  problem,
  h(
    "div",
    { class: "rc-form-bar" },
    copyAs(() => ask(false)),
    tryButton,
    sendButton,
  ),
);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  go(false);
});
replace(byId("rc-send"), form, results);
for (const button of [tryButton, sendButton]) button.disabled = Boolean(missing);
choose(mode);
addEventListener(
  "beforeunload",
  (event) => ![sent.trim(), ""].includes(content.value.trim()) && event.preventDefault(),
);
shortcut("/", gettext("Search"), () => content.focus());

function choose(/** @type {string} */ name) {
  mode = name;
  setParams({ mode }, { mode: "one" });
  press(segments, mode);
  setText(contentTitle, MODES[mode][1]);
  contentLabel.hidden = contentBar.hidden = mode === "fields";
  fields.element.hidden = mode !== "fields";
  if (mode === "fields" && !Object.keys(fields.read()).length) fields.add();
  encoding.hidden = mode !== "one";
  key.disabled = mode === "lines";
  check();
}

/** What the content is, before anybody is asked. */
function check() {
  const text = content.value;
  const size = new TextEncoder().encode(text).length;
  format.hidden = true;
  if (!text.trim()) return setText(verdict, gettext("Nothing written yet."));
  if (mode !== "one") {
    const lines = text.split(/\r\n|\r|\n/).filter((each) => each.trim());
    const bad = mode === "objects" ? lines.findIndex((each) => !isJson(each)) : -1;
    const words = fill(ngettext("%(n)s message", "%(n)s messages", lines.length), { n: count(lines.length) });
    const wrong = bad >= 0 ? ` · ${fill(gettext("message %(n)s is not JSON"), { n: count(bad + 1) })}` : "";
    return setText(verdict, words + wrong);
  }
  if (encoding.value === "base64") return setText(verdict, gettext("Bytes, written as base64."));
  const json = isJson(text);
  format.hidden = !json;
  const looks = /^\s*[[{]/.test(text);
  const words = json ? gettext("Valid JSON") : looks ? gettext("Not JSON, though it looks like it") : gettext("Text");
  const { max_content_bytes: most = Number.POSITIVE_INFINITY } = page.topic;
  const over =
    size > most ? ` · ${fill(gettext("more than the %(most)s this topic takes"), { most: bytes(most) })}` : "";
  setText(verdict, `${words} · ${bytes(size)}${over}`);
  verdict.classList.toggle("rc-error", Boolean(over) || (looks && !json));
}

function isJson(/** @type {string} */ text) {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

function tidy() {
  try {
    content.value = indented(content.value);
  } catch {
    // The button is only there for what is JSON.
  }
  check();
}

function read() {
  return {
    ...(mode === "one" ? { encoding: encoding.value } : {}),
    ...when.read(),
    ...(mode === "lines" ? {} : { key: key.value }),
    slot_basis: basis.value,
    version: version.value,
    expires_ms: expires.value,
    unique_for_ms: unique.value,
    tenant: tenant.value,
    headers: headers.read(),
    if_done: objectOf(ifDone.value),
    if_dead: objectOf(ifDead.value),
  };
}

/** What is no JSON is refused by the server, which says of which field. */
function objectOf(/** @type {string} */ text) {
  return isJson(text) ? JSON.parse(text) : text;
}

async function go(/** @type {boolean} */ dry) {
  problem.hidden = true;
  tryButton.disabled = sendButton.disabled = true;
  const given = content.value;
  try {
    const answer = await ask(dry);
    if (!dry && !answer.refused) sent = given;
    const words = showSent(results, answer, dry);
    if (!dry) toast(words, answer.refused ? "error" : "success");
  } catch (error) {
    replace(problem, refusal(error, found));
    problem.hidden = false;
  } finally {
    tryButton.disabled = sendButton.disabled = Boolean(missing);
  }
}

/** @returns {Promise<Api.SendAnswer>} */
function ask(/** @type {boolean} */ dry) {
  found = mode === "fields" ? [entryOf(read())] : drafts(mode, content.value, read());
  const messages = found.map(({ message }) => message);
  const single = mode === "one" || mode === "fields";
  const body = { ...(single ? messages[0] : { messages }), validate_only: dry, reason: reason.value };
  return post(ofTopic(page.topic.name, "/messages"), body);
}

/** An entry of fields; what is empty is left out. */
function entryOf(/** @type {Record<string, any>} */ values) {
  const given = Object.entries(values).filter(([, value]) =>
    typeof value === "object" ? Object.keys(value).length : value,
  );
  return { line: 0, message: { ...Object.fromEntries(given), fields: fields.read() } };
}
