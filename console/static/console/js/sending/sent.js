// What became of messages that were sent, or would become of those that were only checked.
import { h, headRow, replace } from "../core/dom.js";
import { bytes, count } from "../core/format.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { STATES } from "../parts/states.js";

const SHOWN = 200;
/** @type {Record<string, string>} */
const STATUS = {
  new: gettext("sent"),
  merged: gettext("merged"),
  unsure: gettext("sent, perhaps merged"),
  duplicate: gettext("not accepted: a duplicate"),
  outdated: gettext("not accepted: a newer version has been handed out"),
  failed: gettext("failed"),
};

/** What a message would be, and how that looks. @type {Record<string, [string, string]>} */
const OUTCOMES = {
  new: [gettext("new"), "good"],
  merged: [gettext("merges"), "warn"],
  older: [gettext("changes nothing"), "neutral"],
  duplicate: [gettext("not accepted: a duplicate"), "dead"],
  outdated: [gettext("not accepted: a newer version has been handed out"), "dead"],
  full: [gettext("no room now"), "dead"],
};

/**
 * Fill the box with what would become, or became, of each message. Returns it in a sentence.
 * @param {HTMLElement} results
 * @param {Api.SendAnswer} answer
 * @param {boolean} dry
 */
export function showSent(results, answer, dry) {
  const number = answer.results.filter((each) => !each.error).length;
  const words = dry
    ? fill(
        ngettext(
          "%(n)s message would be sent. Nothing was sent yet.",
          "%(n)s messages would be sent. Nothing was sent yet.",
          number,
        ),
        { n: count(number) },
      )
    : fill(gettext("%(new)s sent, %(merged)s merged, %(failed)s failed."), {
        new: count(answer.sent - answer.merged - (answer.unsure ?? 0)),
        merged: count(answer.merged),
        failed: count(answer.refused),
      });
  const unsure = answer.unsure
    ? fill(gettext("%(n)s more were sent twice, and may have merged."), { n: count(answer.unsure) })
    : "";
  const known = answer.duplicates
    ? fill(gettext("%(n)s more were duplicates, and not accepted."), { n: count(answer.duplicates) })
    : "";
  const outdated = answer.outdated
    ? fill(gettext("%(n)s more were outdated, and not accepted."), { n: count(answer.outdated) })
    : "";
  // Those that failed are what somebody has to see.
  const shown = [...answer.results.filter((each) => each.error), ...answer.results.filter((each) => !each.error)].slice(
    0,
    SHOWN,
  );
  replace(
    results,
    h("h2", { class: "rc-card-title rc-strong" }, [words, unsure, known, outdated].filter(Boolean).join(" ")),
    h(
      "div",
      { class: "rc-scroll", tabindex: "0" },
      h(
        "table",
        { class: "rc-table" },
        headRow([gettext("Id"), [gettext("Slot"), "rc-num"], [gettext("Size"), "rc-num"], gettext("Result")]),
        h(
          "tbody",
          {},
          shown.map((each) => line(each, dry)),
        ),
      ),
    ),
    answer.results.length > shown.length
      ? h(
          "p",
          { class: "rc-bars-note rc-muted" },
          fill(gettext("The first %(n)s are shown."), { n: count(shown.length) }),
        )
      : null,
  );
  results.hidden = false;
  results.scrollIntoView({ block: "nearest" });
  return words;
}

function line(/** @type {Api.SendResult} */ each, /** @type {boolean} */ dry) {
  const address = `${topicAddress(page.topic.name, "message")}?${new URLSearchParams({ id: each.id ?? "", slot: String(each.slot) })}`;
  const id = each.id ?? gettext("(given by the server)");
  return h(
    "tr",
    {},
    h(
      "td",
      { class: "rc-id" },
      dry || each.id === null
        ? h("span", { class: "rc-mono" }, id)
        : h("a", { class: "rc-link rc-mono", href: address }, id),
    ),
    h("td", { class: "rc-num" }, count(each.slot)),
    h("td", { class: "rc-num" }, bytes(each.size)),
    h(
      "td",
      {},
      dry
        ? prospect(each)
        : h("span", { class: `rc-tag rc-tag-${each.error ? "dead" : "good"}` }, STATUS[statusOf(each)]),
      each.error ? h("p", { class: "rc-error" }, each.message) : null,
    ),
  );
}

function statusOf(/** @type {Api.SendResult} */ { error, merged, duplicate_of_ms, outdated_by }) {
  if (error) return "failed";
  if (duplicate_of_ms !== null) return "duplicate";
  if (outdated_by !== null) return "outdated";
  return merged === null ? "unsure" : merged ? "merged" : "new";
}

function prospect(/** @type {Api.SendResult} */ each) {
  if (each.error) return null;
  if (!each.found) return gettext("not looked up");
  if (each.outcome && each.reasons)
    return [
      h("span", { class: `rc-tag rc-tag-${OUTCOMES[each.outcome][1]}` }, OUTCOMES[each.outcome][0]),
      h(
        "ul",
        { class: "rc-prospect" },
        each.reasons.map((reason) => h("li", {}, reason.text)),
      ),
    ];
  if (!each.found.length) return h("span", { class: "rc-tag rc-tag-good" }, gettext("new"));
  const states = each.found.map((state) => STATES[state] ?? state).join(", ");
  return h("span", { class: "rc-tag" }, fill(gettext("this id is there already: %(states)s"), { states }));
}
