// One bulk action: what was asked for, how far it is, what was not done and why.
import { get, post } from "../core/api.js";
import { byId, h, headRow, replace, setText } from "../core/dom.js";
import { dateTime, duration, exact, rate, time } from "../core/format.js";
import "../core/keys.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext, messageOf, ngettext } from "../core/text.js";
import { CanaryMessages } from "../operations/canarymessages.js";
import {
  isLive,
  manner,
  NOT_DONE,
  OPERATION_ACTIONS,
  OPERATION_STATES,
  phase,
  subject,
} from "../operations/operationwords.js";
import { Progress } from "../operations/progress.js";
import { ask } from "../parts/ask.js";
import { atOnce } from "../parts/atonce.js";
import { downloadLinks } from "../parts/downloads.js";
import { pairList } from "../parts/failure.js";
import { guardedButton } from "../parts/guardedbutton.js";
import { Tile, tileRow } from "../parts/tiles.js";
import { viaWords } from "../parts/viawords.js";

/** @import { Pair } from "../parts/failure.js" */

const REFRESH_MS = 500;
const path = `operations/${page.ident}`;
/** @type {Api.OperationDetail} */
let operation = await get(path);
let timer = 0;

const tag = h("span");
const asOf = h("span", { class: "rc-as-of" });
const words = h("p", { class: "rc-phase", role: "status", "aria-live": "polite" });
const progress = new Progress(gettext("Progress"));
const tiles = [
  new Tile(gettext("Done"), (now) => [exact(now.done)]),
  new Tile(gettext("Skipped"), (now) => [exact(now.skipped), now.skipped ? gettext("see below") : ""]),
  new Tile(gettext("Failed"), (now) => [exact(now.failed), now.failed ? gettext("see below") : "", now.failed > 0]),
  new Tile(gettext("Per second"), (now) => [
    rate(perSecond(now)),
    fill(gettext("in %(time)s"), { time: duration(took(now)) }),
  ]),
];
const row = tileRow(tiles);
row.classList.add("rc-spread");
const buttons = h("span", { class: "rc-actions" });
const facts = h("section", { class: "rc-card", "aria-label": gettext("What was asked for") });
const listed = h("section", { class: "rc-card rc-flush", "aria-label": gettext("Not done") });
const canary = new CanaryMessages();
const title = OPERATION_ACTIONS[operation.action] ?? operation.action;

replace(
  byId("rc-page"),
  h(
    "div",
    { class: "rc-head" },
    h("a", { href: page.places.operations }, gettext("All operations")),
    h("div", { class: "rc-status" }, asOf),
  ),
  h(
    "section",
    { class: "rc-card", "aria-label": gettext("Progress") },
    h("header", {}, h("h2", {}, `${title} · ${operation.topic} `, tag), buttons),
    progress.element,
    words,
  ),
  row,
  facts,
  canary.element,
  listed,
);
show();

function took(/** @type {Api.OperationDetail} */ now) {
  return now.started_ms ? Math.max(0, (now.finished_ms ?? now.as_of_ms) - now.started_ms) : 0;
}

function perSecond(/** @type {Api.OperationDetail} */ now) {
  const handled = now.done + now.skipped + now.failed;
  return took(now) > 0 ? (1000 * handled) / Math.max(took(now), 1) : 0;
}

async function load() {
  clearTimeout(timer);
  try {
    operation = await get(path);
    byId("rc-page").classList.remove("rc-stale");
    show();
  } catch (problem) {
    byId("rc-page").classList.add("rc-stale");
    setText(asOf, `${messageOf(problem)} ${fill(gettext("as of %(time)s"), { time: time(operation.as_of_ms) })}`);
    again();
  }
}

function again() {
  clearTimeout(timer);
  timer = setTimeout(() => (document.hidden ? again() : load()), REFRESH_MS);
}

function show() {
  tag.className = `rc-tag rc-tag-${operation.state}`;
  setText(tag, OPERATION_STATES[operation.state]);
  setText(asOf, fill(gettext("as of %(time)s"), { time: time(operation.as_of_ms) }));
  progress.update(operation);
  const said = operation.error || phase(operation, operation.as_of_ms);
  setText(words, said);
  words.hidden = !said;
  words.classList.toggle("rc-error", Boolean(operation.error));
  for (const tile of tiles) tile.update(operation);
  showButtons();
  showFacts();
  showNotDone();
  canary.update(operation);
  if (isLive(operation)) again();
}

function showButtons() {
  const key = `${operation.state} ${operation.undoable} ${operation.undone_by.length}`;
  if (buttons.dataset.key === key) return;
  buttons.dataset.key = key;
  const own = operation.mine ? null : page.grants.actions.drop;
  const stop = page.grants.actions.stop_operation ?? own;
  const resume = page.grants.actions[operation.action] ?? stop;
  const undo = page.grants.actions.restore;
  replace(
    buttons,
    isLive(operation) && operation.state !== "stopping"
      ? atOnce({ action: "stop", symbol: "stop_circle", label: gettext("Stop"), missing: stop }, () => act("stop"))
      : null,
    ["stopped", "failed"].includes(operation.state)
      ? atOnce({ action: "resume", symbol: "resume", label: gettext("Resume"), missing: resume }, () => act("resume"))
      : null,
    operation.undoable
      ? guardedButton({ action: "undo", symbol: "undo", label: gettext("Undo"), missing: undo }, askUndo)
      : null,
  );
}

async function act(/** @type {string} */ name) {
  await post(`${path}:${name}`);
  await load();
}

function askUndo() {
  const n = exact(operation.done);
  ask({
    title: fill(ngettext("Bring %(n)s message back?", "Bring %(n)s messages back?", operation.done), { n }),
    body: [h("p", {}, gettext("They return to where they were; what is due by now is delivered at once."))],
    label: gettext("Restore"),
    submit: async ({ reason }) => {
      /** @type {Api.OperationView} */
      const { id } = await post(`${path}:undo`, { reason });
      location.assign(`${page.places.operations}${id}/`);
    },
  });
}

function showFacts() {
  const other = (/** @type {string} */ id) =>
    h("a", { href: `${page.places.operations}${id}/` }, gettext("this operation"));
  /** @type {Pair[]} */
  const all = [
    [gettext("Topic"), h("a", { href: topicAddress(operation.topic) }, operation.topic)],
    [
      gettext("Messages"),
      operation.undoes ? [subject(operation), " (", other(operation.undoes), ")"] : subject(operation),
    ],
    [gettext("How"), manner(operation)],
    [gettext("Found by"), operation.values.run ? foundBy(operation.values.run) : ""],
    [gettext("Reason"), operation.reason],
    [gettext("Who"), `${operation.who} (${viaWords(operation.via)})`],
    [gettext("Created"), dateTime(operation.created_ms)],
    [gettext("Started"), operation.started_ms ? dateTime(operation.started_ms) : ""],
    [gettext("Finished"), operation.finished_ms ? dateTime(operation.finished_ms) : ""],
    [gettext("Looked at"), operation.looked_at ? exact(operation.looked_at) : ""],
    [
      gettext("Interruptions"),
      operation.interruptions
        ? fill(
            ngettext(
              "%(n)s time a worker ended in the middle",
              "%(n)s times a worker ended in the middle",
              operation.interruptions,
            ),
            { n: exact(operation.interruptions) },
          )
        : "",
    ],
    [gettext("Undone by"), operation.undone_by.length ? operation.undone_by.flatMap((id) => [other(id), " "]) : ""],
  ];
  replace(facts, pairList(all.filter(([, value]) => value)));
}

function foundBy(/** @type {string} */ run) {
  return h("a", { href: `${page.root}reconciliation/${run}/` }, gettext("a reconciliation"));
}

function showNotDone() {
  const number = operation.skipped + operation.failed;
  listed.hidden = number === 0;
  if (!number || listed.dataset.number === String(number)) return;
  listed.dataset.number = String(number);
  const missing = page.grants.payload ? null : gettext("The report names ids: it needs the permission “read_payload”.");
  replace(
    listed,
    h(
      "header",
      { class: "rc-toolbar" },
      h("h2", { class: "rc-strong" }, gettext("Not done")),
      h("span", { class: "rc-muted" }, shownWords(number)),
      h("span", { class: "rc-actions rc-end" }, downloadLinks(`${path}/report`, missing)),
    ),
    h(
      "div",
      { class: "rc-scroll rc-tall" },
      h(
        "table",
        { class: "rc-table" },
        headRow([gettext("Id"), gettext("Slot"), gettext("Why")]),
        h(
          "tbody",
          {},
          operation.not_done.map((each) =>
            h(
              "tr",
              {},
              h("td", { class: "rc-mono rc-id" }, each.id ?? gettext("(hidden)")),
              h("td", {}, exact(each.slot)),
              h("td", {}, NOT_DONE[each.status] ?? each.status),
            ),
          ),
        ),
      ),
    ),
  );
}

function shownWords(/** @type {number} */ number) {
  const shown = operation.not_done.length;
  return shown < number
    ? fill(gettext("the first %(n)s of %(all)s; the report has them all"), { n: exact(shown), all: exact(number) })
    : "";
}
