// The steps of a message's life, in words.
import { h } from "../core/dom.js";
import { dateTime, exact } from "../core/format.js";
import { fill, gettext } from "../core/text.js";

/** @type {Record<string, string>} */
export const EVENTS = {
  sent: gettext("sent"),
  merged: gettext("merged with a duplicate"),
  taken: gettext("taken by a worker"),
  acked: gettext("done"),
  retried: gettext("failed, to be tried again"),
  promoted: gettext("its retry became due"),
  extended: gettext("a worker asked for more time"),
  expired: gettext("its visibility timeout ran out"),
  died: gettext("failed for good"),
  cancelled: gettext("cancelled"),
  rescheduled: gettext("given another time or priority"),
  requeued: gettext("requeued"),
  dropped: gettext("dropped"),
  duplicate: gettext("sent again within its period, and not accepted"),
  outdated: gettext("outdated: a newer version had been handed out"),
  lapsed: gettext("expired: it was not delivered in time"),
  held: gettext("set aside by a hold"),
  lifted: gettext("back from a hold"),
  released: gettext("given back without being tried"),
  restored: gettext("restored"),
  erased: gettext("can no longer be restored"),
};
const GOOD = new Set(["acked"]);
const BAD = new Set(["retried", "expired", "died", "lapsed"]);

/** One step, as the server tells it. */
export function stepWords(/** @type {Api.Step} */ step) {
  const details = [];
  if (["sent", "rescheduled", "retried", "requeued", "restored", "merged"].includes(step.event)) {
    if (step.due_ms !== null) details.push(fill(gettext("due %(time)s"), { time: dateTime(step.due_ms) }));
    if (step.priority !== null)
      details.push(fill(gettext("priority %(priority)s"), { priority: exact(step.priority) }));
  }
  if (step.worker) details.push(step.worker);
  if (step.failures) details.push(fill(gettext("failure %(n)s"), { n: exact(step.failures) }));
  const tone = GOOD.has(step.event) ? "rc-good" : BAD.has(step.event) ? "rc-bad" : "";
  return h(
    "span",
    { class: "rc-step" },
    h("span", { class: tone }, EVENTS[step.event] ?? step.event),
    details.length ? h("span", { class: "rc-muted" }, ` · ${details.join(" · ")}`) : null,
    step.error ? h("span", { class: "rc-muted" }, ` · ${step.error}`) : null,
  );
}
