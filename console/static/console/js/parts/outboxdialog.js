// What is done to rows of an outbox: how many of all that are parked, why, and the last click.
import { post } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { exact } from "../core/format.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { ask } from "./ask.js";

/** @typedef {{ ids?: number[], all_parked?: boolean, topic?: string }} Which */
/** @typedef {{ path: "retry" | "discard", about: string, title: string, label: string, reason: "needed" | "optional", danger?: boolean }} About */

/**
 * @param {string} database
 * @param {Which} which
 * @param {About} about
 * @param {() => void} onDone
 */
export function outboxDialog(database, which, { path, about, title, label, reason, danger = false }, onDone) {
  const address = `outbox/${encodeURIComponent(database)}/messages:${path}`;
  const seen = h("div", { class: "rc-preview", role: "status", "aria-live": "polite" }, gettext("Counting…"));
  const dialog = ask({
    title,
    label,
    reason,
    danger,
    confirmWord: danger && which.all_parked ? database : null,
    body: [h("p", {}, about), which.all_parked ? seen : null],
    submit: async (given) => {
      const { confirm } = given;
      /** @type {Api.ChangedRows} */
      const { changed } = await post(address, { ...which, reason: given.reason, ...(confirm ? { confirm } : {}) });
      toast(fill(ngettext("%(n)s message changed.", "%(n)s messages changed.", changed), { n: exact(changed) }));
      onDone();
    },
  });
  if (!which.all_parked) return;
  dialog.needsWord(false);
  const look = () => post(address, { ...which, validate_only: true });
  dialog.plan(seen, look, (/** @type {Api.OutboxPlan} */ plan) => {
    replace(seen, h("p", {}, h("strong", {}, amount(plan))), h("p", { class: "rc-muted" }, query(database, which)));
    dialog.needsWord(plan.confirm);
    dialog.hold(!plan.rows);
  });
}

function amount(/** @type {Api.OutboxPlan} */ { rows, capped }) {
  const n = exact(rows);
  if (capped) return fill(gettext("More than %(n)s messages: no more were counted."), { n });
  return fill(ngettext("%(n)s message is parked.", "%(n)s messages are parked.", rows), { n });
}

function query(/** @type {string} */ database, /** @type {Which} */ { topic }) {
  return topic
    ? fill(gettext("In the database %(database)s, of the topic %(topic)s."), { database, topic })
    : fill(gettext("In the database %(database)s, of all topics."), { database });
}
