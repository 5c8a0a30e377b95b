// The audit: who did what, to what, why, with what result. The filter lives in the address.
import { param, setParams } from "../core/address.js";
import { address, get } from "../core/api.js";
import { byId, h, headRow, replace, setText } from "../core/dom.js";
import { count, dateTime } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext, messageOf, ngettext } from "../core/text.js";
import { inZone, momentIn, momentOf, putMoment } from "../core/zone.js";
import { Drawer } from "../parts/drawer.js";
import { pairList } from "../parts/failure.js";
import { viaWords } from "../parts/viawords.js";

const TYPING_MS = 300;
/** @type {Record<string, string>} */
const RESULT_TAGS = {
  done: "good",
  partly: "warn",
  nothing: "warn",
  refused: "dead",
  failed: "dead",
  started: "neutral",
};
const NAMES = ["who", "action", "topic", "result", "via", "text", "since", "until"];

const TIMES = ["since", "until"];

const values = Object.fromEntries(NAMES.map((name) => [name, param(name)]));
for (const name of TIMES) values[name] = momentText(values[name]);
/** @type {Api.Entry[]} */
let rows = [];
/** @type {string | null} */
let next = null;
let asked = 0;

const body = h("tbody");
const total = h("span", { class: "rc-muted", role: "status" });
const nothing = h("p", { class: "rc-nothing", hidden: true });
const problem = h("p", { class: "rc-error", role: "alert", hidden: true });
const more = h("button", { type: "button", class: "rc-button", onclick: () => load(next) }, gettext("Load more"));
const foot = h("div", { class: "rc-more", hidden: true }, more);
const exportLinks = ["csv", "jsonl"].map((form) =>
  h("a", { class: "rc-button", download: "", dataset: { form } }, form === "csv" ? "CSV" : "JSON Lines"),
);
/** @type {Record<string, { field: HTMLInputElement | HTMLSelectElement, label: HTMLElement }>} */
const controls = {
  who: input("who", gettext("Who")),
  action: select("action", gettext("Action"), page.actions),
  topic: input("topic", gettext("Topic")),
  result: select("result", gettext("Result"), page.results),
  via: select(
    "via",
    gettext("Via"),
    page.vias.map((/** @type {string} */ each) => [each, viaWords(each)]),
  ),
  text: input("text", gettext("In the reason")),
  since: moment("since", inZone(gettext("From"))),
  until: moment("until", inZone(gettext("Until"))),
};

replace(
  byId("rc-audit"),
  h(
    "section",
    { class: "rc-card rc-flush", "aria-label": gettext("Audit") },
    h(
      "form",
      {
        class: "rc-toolbar rc-filters",
        role: "search",
        onsubmit: (/** @type {Event} */ event) => event.preventDefault(),
      },
      Object.values(controls).map(({ label }) => label),
      h("button", { type: "button", class: "rc-button", onclick: clear }, gettext("Clear")),
    ),
    h(
      "div",
      { class: "rc-toolbar rc-filters-foot" },
      total,
      h("span", { class: "rc-pages" }, h("span", { class: "rc-muted" }, gettext("Export")), exportLinks),
    ),
    problem,
    h(
      "div",
      { class: "rc-scroll" },
      h(
        "table",
        { class: "rc-table rc-blocks rc-audit" },
        headRow([
          gettext("When"),
          gettext("Who"),
          gettext("Action"),
          gettext("Topic"),
          [gettext("Done"), "rc-num rc-less"],
          gettext("Result"),
          gettext("Reason"),
          [gettext("Via"), "rc-less"],
        ]),
        body,
      ),
    ),
    nothing,
    foot,
  ),
);
shortcut("/", gettext("Search"), () => controls.who.field.focus());
load();
const open = Number(param("entry"));
if (Number.isInteger(open) && open > 0) show(open);

function input(/** @type {string} */ name, /** @type {string} */ title) {
  const field = h("input", { type: "search", class: "rc-input", value: values[name], name, maxlength: 150 });
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => change(name, field.value.trim()), TYPING_MS);
  });
  return { field, label: h("label", {}, h("span", {}, title), field) };
}

/**
 * @param {string} name
 * @param {string} title
 * @param {[string, string][]} options
 */
function select(name, title, options) {
  const field = h(
    "select",
    { class: "rc-select", name, onchange: () => change(name, field.value) },
    h("option", { value: "" }, gettext("any")),
    options.map(([value, label]) => h("option", { value }, label)),
  );
  field.value = values[name];
  return { field, label: h("label", {}, h("span", {}, title), field) };
}

function moment(/** @type {string} */ name, /** @type {string} */ title) {
  const field = h("input", {
    type: "datetime-local",
    class: "rc-input",
    name,
    onchange: () => change(name, String(momentIn(field) || "")),
  });
  if (values[name]) putMoment(field, Number(values[name]));
  return { field, label: h("label", {}, h("span", {}, title), field) };
}

/** As the address has it, which is read in other zones, too; former ones have what was typed. */
function momentText(/** @type {string} */ text) {
  return /^\d{1,15}$/.test(text) ? text : String(momentOf(text) || "");
}

function change(/** @type {string} */ name, /** @type {string} */ value) {
  if (values[name] === value) return;
  values[name] = value;
  setParams(values);
  load();
}

function clear() {
  for (const name of NAMES) {
    values[name] = "";
    controls[name].field.value = "";
  }
  setParams(values);
  load();
}

/** What the server is asked. */
function query() {
  const { since, until, ...others } = values;
  return { ...others, since_ms: since, until_ms: until };
}

async function load(/** @type {string | null} */ cursor = null) {
  const number = ++asked;
  for (const link of exportLinks) {
    link.href = address("audit/export", { ...query(), form: link.dataset.form });
  }
  try {
    /** @type {Api.Entries} */
    const found = await get("audit", { ...query(), cursor });
    if (number !== asked) return;
    rows = cursor ? [...rows, ...found.entries] : found.entries;
    next = found.next;
    problem.hidden = true;
    const words = fill(ngettext("%(n)s entry", "%(n)s entries", found.count), { n: count(found.count) });
    setText(total, found.exact ? words : fill(gettext("more than %(words)s"), { words }));
  } catch (error) {
    if (number !== asked) return;
    replace(problem, messageOf(error));
    problem.hidden = false;
    if (cursor === null) {
      [rows, next] = [[], null];
      setText(total, "");
    }
  }
  replace(body, rows.map(line));
  nothing.hidden = rows.length > 0 || !problem.hidden;
  const narrowed = NAMES.some((name) => values[name] !== "");
  setText(
    nothing,
    narrowed
      ? gettext("No entry matches.")
      : gettext("Nothing yet: every action that somebody takes is recorded here."),
  );
  foot.hidden = next === null;
}

function line(/** @type {Api.Entry} */ entry) {
  return h(
    "tr",
    {},
    h(
      "td",
      {},
      h(
        "button",
        { type: "button", class: "rc-link", dataset: { entry: entry.id }, onclick: () => show(entry.id) },
        dateTime(entry.at_ms),
      ),
    ),
    h("td", { class: "rc-strong" }, entry.who || "–"),
    h("td", {}, labelOf(page.actions, entry.action)),
    h(
      "td",
      { class: entry.topic ? null : "rc-less" },
      entry.topic ? h("a", { class: "rc-link", href: topicAddress(entry.topic) }, entry.topic) : "–",
    ),
    h(
      "td",
      { class: "rc-num rc-less" },
      entry.asked === 1 ? count(entry.done) : `${count(entry.done)} / ${count(entry.asked)}`,
    ),
    h("td", {}, tag(entry)),
    h("td", { class: entry.reason ? "rc-why rc-whole" : "rc-why rc-less" }, entry.reason || "–"),
    h("td", { class: "rc-less" }, viaWords(entry.via)),
  );
}

const labelOf = (/** @type {[string, string][]} */ labels, /** @type {string} */ name) =>
  labels.find(([each]) => each === name)?.[1] ?? name;

function tag(/** @type {Api.Entry} */ entry) {
  return h(
    "span",
    { class: `rc-tag rc-tag-${RESULT_TAGS[entry.result] ?? "neutral"}` },
    labelOf(page.results, entry.result),
  );
}

async function show(/** @type {number} */ number) {
  const drawer = new Drawer(fill(gettext("Entry %(number)s"), { number }), () => setParams({ entry: "" }));
  setParams({ entry: number });
  try {
    /** @type {Api.Entry} */
    const entry = await get(`audit/${number}`);
    drawer.show(
      pairList([
        [gettext("When"), dateTime(entry.at_ms)],
        [gettext("Who"), entry.who || "–"],
        [gettext("From"), entry.address ?? "–"],
        [gettext("Via"), viaWords(entry.via)],
        [gettext("Action"), [labelOf(page.actions, entry.action), " ", h("code", {}, entry.action)]],
        [gettext("Topic"), entry.topic || "–"],
        [gettext("Result"), tag(entry)],
        [gettext("Done"), `${count(entry.done)} / ${count(entry.asked)}`],
        [gettext("Reason"), entry.reason || "–"],
      ]),
      h("h3", {}, gettext("What was asked")),
      h("pre", { class: "rc-pre" }, JSON.stringify(entry.query, null, 1)),
      h("h3", {}, gettext("What came of it")),
      h("pre", { class: "rc-pre" }, JSON.stringify(entry.detail, null, 1)),
    );
  } catch (error) {
    drawer.show(h("p", { class: "rc-error" }, messageOf(error)));
  }
}
