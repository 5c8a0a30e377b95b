// What a message's listener told: its progress, lines of its log, what it returned; live while it runs.
import { get, ofId, ofTopic } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { dateTime } from "../core/format.js";
import { Num, parse } from "../core/json.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf, ngettext } from "../core/text.js";
import { jsonTree } from "./jsontree.js";

/** @typedef {import("../core/json.js").Json} Json */

const RUNNING_MS = 1000;
const WAITING_MS = 5000;

/** What is known of an id; of one that nobody knows all of it is empty. */
export const reportOf = (/** @type {string} */ ident) => get(ofTopic(page.topic.name, `/report/${ofId(ident)}`));

/** A place that follows it for as long as it is on the page and the message is not over. `report`: what is known now. */
export function reportView(/** @type {string} */ ident, /** @type {Api.MessageReport | null} */ report = null) {
  const place = h("div", { class: "rc-report" });
  if (report) replace(place, told(report));
  else replace(place, h("p", { class: "rc-muted" }, gettext("Loading…")));
  follow(place, ident);
  return place;
}

export function hasTold(/** @type {Api.MessageReport} */ report) {
  return report.progress_ms !== null || report.result_ms !== null || report.lines.length > 0;
}

async function follow(/** @type {HTMLElement} */ place, /** @type {string} */ ident) {
  /** @type {Api.MessageReport["state"]} */
  let state = null;
  for (;;) {
    try {
      const report = await reportOf(ident);
      replace(place, told(report));
      state = report.state;
      if (!state || state === "dead") return;
    } catch (problem) {
      replace(place, h("p", { class: "rc-error" }, messageOf(problem)));
    }
    await new Promise((resolve) => setTimeout(resolve, state === "in_flight" ? RUNNING_MS : WAITING_MS));
    if (!place.isConnected) return;
  }
}

function told(/** @type {Api.MessageReport} */ report) {
  if (!hasTold(report)) return h("p", { class: "rc-muted" }, gettext("Its listener has told nothing."));
  return [
    report.progress_ms === null ? null : value(gettext("Progress"), report.progress, report.progress_ms, bar),
    report.result_ms === null ? null : value(gettext("Result"), report.result, report.result_ms, jsonTree),
    report.lines.length ? lines(report) : null,
  ];
}

/**
 * @param {string} title
 * @param {string | null} text
 * @param {number} ms
 * @param {(value: Json) => HTMLElement} view
 */
function value(title, text, ms, view) {
  return h(
    "div",
    {},
    h("h4", {}, title, h("span", { class: "rc-muted" }, ` ${dateTime(ms)}`)),
    text === null ? hidden() : shown(text, view),
  );
}

/** Nested deeper than is read here, it stays text. */
function shown(/** @type {string} */ text, /** @type {(value: Json) => HTMLElement} */ view) {
  try {
    return view(parse(text));
  } catch {
    return h("p", { class: "rc-mono" }, text);
  }
}

/** A number from 0 to 1, or {done, of}, as a bar; anything else as it is. */
function bar(/** @type {Json} */ progress) {
  const parts = progress instanceof Map ? [progress.get("done"), progress.get("of")] : [progress, new Num("1")];
  const [done, of] = parts.map((part) => (part instanceof Num ? Number(part.digits) : Number.NaN));
  const share = done / of;
  if (!(share >= 0 && share <= 1)) return jsonTree(progress);
  const words = !(progress instanceof Map)
    ? `${Math.round(100 * share)} %`
    : fill(gettext("%(n)s of %(all)s"), { n: done, all: of });
  return h(
    "div",
    { class: "rc-progress-box" },
    h("progress", { value: share, max: 1, "aria-label": gettext("Progress") }),
    h("span", { class: "rc-progress-words" }, words),
    progress instanceof Map && progress.size > 2 ? jsonTree(progress) : null,
  );
}

function lines(/** @type {Api.MessageReport} */ report) {
  const dropped = report.lines_dropped;
  return h(
    "div",
    {},
    h("h4", {}, gettext("Log")),
    dropped
      ? h(
          "p",
          { class: "rc-muted" },
          fill(ngettext("%(n)s earlier line was dropped.", "%(n)s earlier lines were dropped.", dropped), {
            n: dropped,
          }),
        )
      : null,
    h(
      "ol",
      { class: "rc-timeline" },
      report.lines.map((line) =>
        h(
          "li",
          { class: "rc-wide-time" },
          h("time", {}, dateTime(line.at_ms)),
          h("span", {}, line.text ?? hidden()),
          line.attempt > 1
            ? h("span", { class: "rc-muted" }, fill(gettext(" (attempt %(n)s)"), { n: line.attempt }))
            : null,
        ),
      ),
    ),
  );
}

function hidden() {
  return h("span", { class: "rc-masked" }, gettext("(hidden)"));
}
