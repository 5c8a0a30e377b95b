// Everything about one entry of a stream, for the panel and for its own page.
import { address, ofTopic, remove } from "../core/api.js";
import { h, headRow } from "../core/dom.js";
import { bytes, count } from "../core/format.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { contentView } from "../messages/content.js";
import { ask } from "../parts/ask.js";
import { pairList } from "../parts/failure.js";
import { guardedButton } from "../parts/guardedbutton.js";
import { STATES } from "../parts/states.js";
import { accepted } from "./entrylist.js";

/** @import { Pair } from "../parts/failure.js" */

/** Where it stands in a group. @type {Record<string, string>} */
const STANDS = {
  ...STATES,
  ahead: gettext("not read yet"),
  passed: gettext("done, or passed over"),
};

/** The address of an entry's page. */
export function entryAddress(/** @type {Api.EntryView} */ entry) {
  return `${topicAddress(page.topic.name, "message")}?${new URLSearchParams({ id: entry.id, slot: String(entry.slot) })}`;
}

export function entryView(/** @type {Api.EntryView} */ entry, /** @type {() => void} */ onDone) {
  const hidden = entry.headers === null;
  return h(
    "div",
    { class: "rc-message" },
    h("div", { class: "rc-actions" }, deleteButton(entry, onDone)),
    pairList([
      [gettext("Id"), h("span", { class: "rc-mono" }, entry.id)],
      [gettext("Accepted"), accepted(entry.at_ms)],
      [gettext("Slot"), count(entry.slot)],
      entry.slot_basis === null ? [gettext("Slot basis"), "–"] : [gettext("Slot basis"), entry.slot_basis],
      [gettext("Size"), bytes(entry.size)],
    ]),
    h("h3", {}, entry.field_count ? fill(gettext("Fields (%(n)s)"), { n: entry.field_count }) : gettext("Content")),
    entry.field_count ? fields(entry) : contentView(entry, download(entry)),
    h("h3", {}, fill(gettext("Headers (%(n)s)"), { n: entry.header_count })),
    hidden
      ? h("p", { class: "rc-masked" }, gettext("Hidden: reading headers needs the permission “read_payload”."))
      : entry.header_count
        ? pairList(Object.entries(entry.headers ?? {}))
        : h("p", { class: "rc-muted" }, gettext("None.")),
    h("h3", {}, gettext("Consumer groups")),
    groups(entry),
  );
}

const download = (/** @type {Api.EntryView} */ entry) =>
  address(ofTopic(page.topic.name, `/entries/${entry.id}/content`), { slot: entry.slot });

function fields(/** @type {Api.EntryView} */ entry) {
  if (entry.fields === null)
    return h("p", { class: "rc-masked" }, gettext("Hidden: reading content needs the permission “read_payload”."));
  const bytesOf = (/** @type {string} */ text) => h("span", { class: "rc-mono", title: "base64" }, text);
  return pairList([
    ...Object.entries(entry.fields),
    ...Object.entries(entry.fields_base64 ?? {}).map(([name, value]) => /** @type {Pair} */ ([name, bytesOf(value)])),
  ]);
}

function groups(/** @type {Api.EntryView} */ entry) {
  if (!entry.groups.length) return h("p", { class: "rc-muted" }, gettext("The stream has none."));
  return h(
    "div",
    { class: "rc-scroll", tabindex: "0" },
    h(
      "table",
      { class: "rc-table" },
      headRow([gettext("Group"), gettext("There it is")]),
      h(
        "tbody",
        {},
        entry.groups.map(({ group, state }) =>
          h(
            "tr",
            {},
            h(
              "th",
              { scope: "row" },
              h("a", { class: "rc-link", href: topicAddress(group) }, group.slice(page.topic.name.length + 1)),
            ),
            h("td", {}, place(entry, group, state)),
          ),
        ),
      ),
    ),
  );
}

/**
 * @param {Api.EntryView} entry
 * @param {string} group
 * @param {string} state
 */
function place(entry, group, state) {
  const words = h("span", { class: `rc-tag rc-tag-${state === "dead" ? "dead" : "neutral"}` }, STANDS[state]);
  if (state === "ahead" || state === "passed") return words;
  const query = new URLSearchParams({ id: entry.id, slot: String(entry.slot) });
  return h("a", { class: "rc-link", href: `${topicAddress(group, "message")}?${query}` }, words);
}

function deleteButton(/** @type {Api.EntryView} */ entry, /** @type {() => void} */ onDone) {
  const missing = page.grants.actions.delete_entries;
  return guardedButton(
    { action: "delete_entries", symbol: "delete_forever", label: gettext("Delete"), missing, look: "rc-danger" },
    () =>
      ask({
        title: fill(gettext("Delete the entry %(id)s?"), { id: entry.id }),
        body: [h("p", {}, gettext("For good, also for the groups that have not read it. It cannot be restored."))],
        label: gettext("Delete"),
        danger: true,
        submit: async ({ reason }) => {
          await remove(ofTopic(page.topic.name, `/entries/${entry.id}`), { slot: entry.slot, reason });
          toast(gettext("The entry is deleted."), "success");
          onDone();
        },
      }),
  );
}
