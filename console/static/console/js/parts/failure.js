// Why a message failed.
import { h } from "../core/dom.js";
import { count, dateTime, relative } from "../core/format.js";
import { gettext } from "../core/text.js";

/** @typedef {[any, any]} Pair */

export function failureView(/** @type {Api.Failure | null} */ failure, /** @type {number} */ nowMs) {
  if (!failure) return h("p", { class: "rc-muted" }, gettext("It has not failed."));
  /** @type {Pair[]} */
  const pairs = [
    [gettext("Error"), h("strong", {}, failure.error)],
    [
      gettext("Message"),
      failure.message === null ? h("span", { class: "rc-masked" }, gettext("hidden")) : failure.message,
    ],
    [gettext("Failures"), count(failure.failures)],
    [gettext("First"), `${dateTime(failure.first_ms)} (${relative(failure.first_ms, nowMs)})`],
    [gettext("Last"), `${dateTime(failure.last_ms)} (${relative(failure.last_ms, nowMs)})`],
    [gettext("Worker"), failure.worker || "–"],
  ];
  return h(
    "div",
    {},
    pairList(pairs),
    failure.traceback
      ? h("details", {}, h("summary", {}, gettext("Traceback")), h("pre", { class: "rc-pre" }, failure.traceback))
      : null,
  );
}

/** A list of names and values. */
export function pairList(/** @type {Pair[]} */ pairs) {
  return h(
    "dl",
    { class: "rc-pairs" },
    pairs.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );
}
