// One message in the panel at the right.
import { param, setParams } from "../core/address.js";
import { get, ofTopic } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { page } from "../core/page.js";
import { gettext, messageOf } from "../core/text.js";
import { Drawer } from "../parts/drawer.js";
import { activity } from "./activity.js";
import { ArchiveLook } from "./archived.js";
import { goneWords } from "./gone.js";
import { messageAddress, messageView } from "./messageview.js";

/**
 * Show a message by its slot and id, which the address keeps. `onDone()` after an action.
 * @param {{ id: string | null, slot: number }} row
 * @param {number} nowMs
 * @param {() => void} onDone
 */
export async function openMessage(row, nowMs, onDone) {
  const drawer = new Drawer(row.id ?? gettext("Message"), () => setParams({ message: "" }));
  if (row.id !== null) setParams({ message: `${row.slot}/${row.id}` });
  drawer.show(h("p", { class: "rc-muted" }, gettext("Loading…")));
  if (row.id === null) {
    drawer.show(
      h(
        "p",
        { class: "rc-masked" },
        gettext("This message is nothing but its content, and reading content needs the permission “read_payload”."),
      ),
    );
    return;
  }
  replace(drawer.extra, h("a", { href: messageAddress({ id: row.id, slot: row.slot }) }, gettext("Open as page")));
  try {
    /** @type {Api.Known} */
    const { messages, records } = await get(ofTopic(page.topic.name, "/messages:find"), { id: row.id });
    const found = messages.find((message) => message.slot === row.slot) ?? messages[0];
    if (!found) {
      const archive = records.length ? null : new ArchiveLook(row.id);
      drawer.show(
        archive?.head ?? h("div", { class: "rc-empty" }, h("h2", {}, goneWords(records))),
        archive?.steps ?? null,
        h("h3", {}, gettext("What happened")),
        activity(row.id, row.slot),
      );
      return;
    }
    drawer.show(
      messageView(found, nowMs, () => {
        drawer.close();
        onDone();
      }),
    );
  } catch (problem) {
    drawer.show(h("p", { class: "rc-error" }, messageOf(problem)));
  }
}

/** Open the message the address names, if it does. */
export function openFromAddress(/** @type {number} */ nowMs, /** @type {() => void} */ onDone) {
  const [, slot, id] = /^(\d{1,4})\/(.+)$/s.exec(param("message")) ?? [];
  if (id) openMessage({ slot: Number(slot), id }, nowMs, onDone);
}
