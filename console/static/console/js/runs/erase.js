// Erasing somebody's messages: first they are counted, and then a person says why, and types the word.
import { post } from "../core/api.js";
import { h } from "../core/dom.js";
import { exact } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { ask } from "../parts/ask.js";

/** Why a message stays. @type {Record<string, string>} */
export const STAYS = {
  redis: gettext("still in Redis: cancel or drop it there, and let the trash's time go by"),
  journal: gettext("its journal says more of it than the archive: run an archive first"),
  mention: gettext(
    "another message tells of it that is still in Redis, or not archived yet: when that is over, archive, and erase again",
  ),
};

/** The lines of a text, without empty ones. */
export const lines = (/** @type {string} */ text) =>
  text
    .split("\n")
    .map((each) => each.replace(/\r$/, ""))
    .filter((each) => each !== "");

/** Ask whose messages; they are counted, and nothing is changed. */
export function askErasure() {
  const area = (/** @type {string} */ name) =>
    h("textarea", { class: "rc-input rc-mono", name, rows: 4, spellcheck: false, autocomplete: "off" });
  const ids = area("ids");
  const bases = area("slot_bases");
  const topics = h(
    "select",
    { class: "rc-select", name: "topics", multiple: true, size: Math.min(6, Math.max(2, page.topics.length)) },
    page.topics.map((/** @type {string} */ name) => h("option", { value: name }, name)),
  );
  ask({
    title: gettext("Erase somebody's messages"),
    body: [
      h(
        "p",
        { class: "rc-muted" },
        gettext(
          "From the archive, its closing state, the record and the findings, for good. Journals, the audit, reports that were written and backups keep what they have. First they are counted.",
        ),
      ),
      h(
        "div",
        { class: "rc-fields" },
        h("label", {}, gettext("Ids, one on each line"), ids),
        h("label", {}, gettext("Slot bases, one on each line: all messages with it"), bases),
        h("label", {}, gettext("Topics (none chosen: all)"), topics),
      ),
    ],
    label: gettext("Count them"),
    wide: true,
    reason: null,
    focus: ids,
    submit: async () => {
      /** @type {Api.Run} */
      const run = await post("reconciliations", {
        kind: "erase",
        dry_run: true,
        ids: lines(ids.value),
        slot_bases: lines(bases.value),
        topics: [...topics.selectedOptions].map((option) => option.value),
      });
      location.assign(`${page.places.reconciliation}${run.id}/`);
    },
  });
}

/** Ask why, and erase what a preview has counted. */
export function confirmErasure(/** @type {Api.Detail} */ run, /** @type {Api.Erased} */ erased) {
  ask({
    title: gettext("Erase these messages"),
    body: [
      h("p", {}, counted(erased)),
      erased.left_n
        ? h(
            "p",
            {},
            fill(ngettext("%(n)s message stays.", "%(n)s messages stay.", erased.left_n), { n: exact(erased.left_n) }),
          )
        : null,
      h("p", { class: "rc-error" }, gettext("Nothing brings them back.")),
    ],
    label: gettext("Erase"),
    danger: true,
    confirmWord: "erase",
    submit: async ({ reason, confirm }) => {
      /** @type {Api.Run} */
      const begun = await post("reconciliations", { kind: "erase", preview: run.id, reason, confirm });
      location.assign(`${page.places.reconciliation}${begun.id}/`);
    },
  });
}

/** What an erasure is about, in a sentence. */
export function counted(/** @type {Api.Erased} */ erased) {
  return fill(
    gettext(
      "Messages in the archive: %(messages)s (transitions: %(transitions)s); open in the closing state: %(open)s; in the record: %(records)s; findings: %(findings)s. Other messages that tell of them: %(mentioning)s in the archive, %(recorded)s in the record.",
    ),
    {
      messages: exact(erased.messages),
      transitions: exact(erased.transitions),
      open: exact(erased.open),
      records: exact(erased.records),
      findings: exact(erased.findings),
      mentioning: exact(erased.mentioning),
      recorded: exact(erased.record_mentions),
    },
  );
}

/** Each message that stays, and why. */
export function staying(/** @type {Api.Erased} */ erased) {
  const named = erased.left.map((each) =>
    h(
      "div",
      {},
      each.id === null ? each.topic : [`${each.topic}: `, h("span", { class: "rc-mono" }, each.id)],
      ` – ${STAYS[each.why] ?? each.why}`,
    ),
  );
  const more = erased.left_n - erased.left.length;
  return more > 0 ? [...named, h("div", {}, fill(gettext("… and %(n)s more"), { n: exact(more) }))] : named;
}
