// One entry of a stream in the panel at the right.
import { param, setParams } from "../core/address.js";
import { get, ofTopic } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { page } from "../core/page.js";
import { gettext, messageOf } from "../core/text.js";
import { Drawer } from "../parts/drawer.js";
import { entryAddress, entryView } from "./entryview.js";

/**
 * Show an entry by its id and slot (null: in whichever it is), which the address keeps. `onDone()` after an action.
 * @param {{ id: string, slot: number | null }} entry
 * @param {() => void} onDone
 */
export async function openEntry({ id, slot }, onDone) {
  const drawer = new Drawer(id, () => setParams({ entry: "" }));
  setParams({ entry: slot === null ? id : `${slot}/${id}` });
  drawer.show(h("p", { class: "rc-muted" }, gettext("Loading…")));
  try {
    /** @type {Api.FoundEntries} */
    const { entries } = await get(ofTopic(page.topic.name, `/entries/${id}`), { slot });
    if (entries.length === 1)
      replace(drawer.extra, h("a", { href: entryAddress(entries[0]) }, gettext("Open as page")));
    drawer.show(
      entries.map((entry) =>
        entryView(entry, () => {
          drawer.close();
          onDone();
        }),
      ),
    );
  } catch (problem) {
    drawer.show(h("p", { class: "rc-error" }, messageOf(problem)));
  }
}

/** Open the entry the address names, if it does. */
export function openEntryFromAddress(/** @type {() => void} */ onDone) {
  const [, slot, id] = /^(?:(\d{1,4})\/)?(\d{1,20}-\d{1,20})$/.exec(param("entry")) ?? [];
  if (id) openEntry({ id, slot: slot === undefined ? null : Number(slot) }, onDone);
}
