// A stream is cut to its bounds at once: what goes and who has not read it, why, and the last click.
import { ofTopic, post } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { count, dateTime, duration, exact, time } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { ask } from "../parts/ask.js";

export function trimDialog(/** @type {() => void} */ onDone) {
  const { name } = page.topic;
  const path = ofTopic(name, ":trim");
  const seen = h("div", { class: "rc-preview", role: "status", "aria-live": "polite" }, gettext("Counting…"));
  const dialog = ask({
    title: fill(gettext("Trim %(topic)s to its bounds now?"), { topic: name }),
    body: [
      h("p", {}, gettext("Sending and the keeper do this, too, a little at a time. What is trimmed is gone for good.")),
      seen,
    ],
    label: gettext("Trim now"),
    danger: true,
    confirmWord: name,
    submit: async (given) => {
      /** @type {Api.Trimmed} */
      const { entries } = await post(path, given);
      toast(
        fill(ngettext("%(n)s entry trimmed.", "%(n)s entries trimmed.", entries), { n: exact(entries) }),
        "success",
      );
      onDone();
    },
  });
  dialog.needsWord(false);
  const look = () => post(path, { validate_only: true });
  dialog.plan(seen, look, (/** @type {Api.TrimPlan} */ plan) => {
    replace(seen, planLines(plan));
    dialog.needsWord(plan.confirm);
    dialog.hold(!plan.entries);
  });
}

function planLines(/** @type {Api.TrimPlan} */ plan) {
  return [
    h(
      "p",
      {},
      h("strong", {}, amount(plan)),
      h("span", { class: "rc-muted" }, ` ${fill(gettext("Counted at %(time)s."), { time: time(plan.as_of_ms) })}`),
    ),
    h("p", { class: "rc-muted" }, bounds(plan)),
    plan.last_ms === null
      ? null
      : h("p", {}, fill(gettext("The last of them came %(time)s."), { time: dateTime(Number(plan.last_ms)) })),
    plan.unread.length
      ? [
          h("p", { class: "rc-warning" }, gettext("Groups that have not read all of them, and never will:")),
          h("ul", { class: "rc-examples" }, plan.unread.map(missing)),
        ]
      : null,
  ];
}

/** How many go, and how sure that is. */
function amount(/** @type {Api.TrimPlan} */ { entries, bound }) {
  const n = exact(entries);
  if (!entries) return gettext("Nothing is beyond its bounds.");
  if (bound === "at_most")
    return fill(ngettext("At most %(n)s entry would go.", "At most %(n)s entries would go.", entries), { n });
  if (bound === "at_least")
    return fill(ngettext("At least %(n)s entry would go.", "At least %(n)s entries would go.", entries), { n });
  return fill(ngettext("%(n)s entry would go.", "%(n)s entries would go.", entries), { n });
}

/** What is kept: the query, as it were. */
function bounds(/** @type {Api.TrimPlan} */ { max_length: length, max_age_ms: age }) {
  const words = [
    length ? fill(gettext("It keeps %(n)s entries."), { n: exact(length) }) : null,
    age ? fill(gettext("It keeps entries for %(time)s."), { time: duration(age) }) : null,
  ].filter(Boolean);
  return words.length ? words.join(" ") : gettext("It has no bounds: it keeps everything.");
}

const missing = (/** @type {Api.Unread} */ { group, entries }) =>
  h(
    "li",
    {},
    h("span", { class: "rc-mono" }, group.slice(group.indexOf("@") + 1)),
    h(
      "span",
      { class: "rc-muted" },
      ` ${fill(ngettext("misses %(n)s", "misses %(n)s", entries), { n: count(entries) })}`,
    ),
  );
