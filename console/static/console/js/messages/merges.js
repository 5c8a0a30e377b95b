// Which sends became one delivery, and whose content and time won.
import { h } from "../core/dom.js";
import { count, dateTime } from "../core/format.js";
import { fill, gettext, ngettext } from "../core/text.js";

/** One line for each delivery that several sends became. */
export const mergeLines = (/** @type {Api.Life} */ life) => life.merges.map(line).reverse();

function line(/** @type {Api.Merged} */ merged) {
  const several = fill(
    ngettext(
      "%(n)s send became one message, from %(from)s to %(to)s.",
      "%(n)s sends became one message, from %(from)s to %(to)s.",
      merged.sends,
    ),
    { n: count(merged.sends), from: dateTime(merged.first_ms), to: dateTime(merged.last_ms) },
  );
  const content =
    merged.content === "latest"
      ? gettext("The content of the last one wins, unless its version was older: this topic keeps the latest.")
      : gettext("The content of the first one wins: this topic keeps the first.");
  return h(
    "li",
    { class: "rc-merged" },
    h("strong", {}, several),
    h("p", {}, content),
    h("p", {}, place(merged)),
    h("p", { class: "rc-muted" }, taken(merged)),
  );
}

/** Whose time, or priority, holds. */
function place(/** @type {Api.Merged} */ merged) {
  const last = merged.moves.at(-1);
  const { due_ms: due, priority } = last ?? merged;
  const at = { time: dateTime(last ? last.at_ms : merged.first_ms), due: dateTime(due), p: priority ?? "" };
  if (priority !== null) return fill(gettext("Its priority %(p)s is that of the send of %(time)s."), at);
  return fill(gettext("Its due time %(due)s is by the send of %(time)s."), at);
}

const taken = (/** @type {Api.Merged} */ { taken_ms: at }) =>
  at === null
    ? gettext("It has not been handed out.")
    : fill(gettext("It was handed out first at %(time)s."), { time: dateTime(at) });
