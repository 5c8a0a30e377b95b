// The Messages tab of a stream: its entries by id and time, page by page, or as they come.

import { param, setParams } from "../core/address.js";
import { get, ofTopic } from "../core/api.js";
import { byId, h, press, replace, setText } from "../core/dom.js";
import { shortcut } from "../core/keys.js";
import { page } from "../core/page.js";
import { gettext, messageOf } from "../core/text.js";
import { toast } from "../core/toast.js";
import { inZone, localText, momentOf } from "../core/zone.js";
import { guardedButton } from "../parts/guardedbutton.js";
import { asOf, moreFoot, slotInput } from "../parts/pagesoflists.js";
import { EntryList } from "../streams/entrylist.js";
import { openEntry, openEntryFromAddress } from "../streams/entrypanel.js";
import { trimDialog } from "../streams/trimdialog.js";

const REFRESH_MS = 3000;
const PAGE = 50;
const ID = /^\d{1,20}-\d{1,20}$/;
const ORDERS = { newest: gettext("Newest first"), oldest: gettext("Oldest first") };

export class EntriesTab {
  constructor(/** @type {import("../core/live.js").Live} */ live) {
    this.live = live;
    this.order = param("order") === "oldest" ? "oldest" : "newest";
    this.slot = /^\d{1,4}$/.test(param("slot")) ? param("slot") : "";
    this.at = /^\d{1,15}$/.test(param("at")) ? Number(param("at")) : null;
    this.cursor = null;
    this.pages = 1;
    this.list = new EntryList((row) => this.open(row));
    this.segments = h(
      "div",
      { class: "rc-segments", role: "group", "aria-label": gettext("Order") },
      Object.entries(ORDERS).map(([name, label]) =>
        h("button", { type: "button", dataset: { name }, onclick: () => this.choose({ order: name }) }, label),
      ),
    );
    this.find = h("input", {
      class: "rc-input rc-mono",
      type: "search",
      placeholder: "1764000000000-0",
      "aria-label": gettext("Find an entry by its id"),
    });
    this.when = h("input", {
      class: "rc-input",
      type: "datetime-local",
      step: 1,
      value: this.at === null ? null : localText(this.at),
      "aria-label": inZone(gettext("From this time on")),
      title: inZone(gettext("From this time on")),
      onchange: () => this.choose({ at: this.when.value ? momentOf(this.when.value) : null }),
    });
    this.note = h("span", { class: "rc-muted" });
    /** Which entries there are, and since when. */
    this.shown = { of: "", asOf: "" };
    this.foot = moreFoot(() => this.loadMore());
    replace(
      byId("rc-tab"),
      h(
        "section",
        { class: "rc-card rc-flush" },
        h(
          "div",
          { class: "rc-toolbar" },
          this.segments,
          this.when,
          slotInput(this.slot, (slot) => this.choose({ slot })),
          this.finder(),
          this.note,
          trimButton(() => this.load()),
        ),
        this.list.element,
        this.foot,
      ),
    );
    shortcut("/", gettext("Search"), () => this.find.focus());
    this.load();
    setInterval(() => this.refresh(), REFRESH_MS);
    openEntryFromAddress(() => this.load());
  }

  finder() {
    const form = h(
      "form",
      { class: "rc-find", role: "search" },
      h("label", { class: "rc-search" }, this.find, h("kbd", {}, "/")),
      h("button", { class: "rc-button" }, gettext("Find")),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const id = this.find.value.trim();
      if (ID.test(id)) this.open({ id, slot: null });
      else toast(gettext("An entry's id looks like 1764000000000-0."), "error");
    });
    return form;
  }

  open(/** @type {{ id: string, slot: number | null }} */ row) {
    openEntry(row, () => this.load());
  }

  choose(/** @type {Partial<Pick<EntriesTab, "order" | "slot" | "at">>} */ values) {
    Object.assign(this, values);
    setParams({ order: this.order, slot: this.slot, at: this.at }, { order: "newest" });
    this.load();
  }

  take() {}

  render() {}

  /** A refresh must not move what somebody reads. */
  refresh() {
    const still = this.live.paused || this.live.gone || document.hidden || this.pages > 1 || this.at !== null;
    if (!still && !document.querySelector("dialog[open]")) this.load();
  }

  load() {
    this.pages = 1;
    const { slot, order } = this;
    const bound = order === "newest" ? { until: this.at } : { since: this.at };
    return this.fetch({ order, slot, ...bound }, []);
  }

  loadMore() {
    this.pages += 1;
    return this.fetch({ cursor: this.cursor }, this.list.rows);
  }

  async fetch(/** @type {Record<string, any>} */ query, /** @type {Api.EntryRow[]} */ before) {
    const wanted = this.wanted();
    press(this.segments, this.order);
    try {
      /** @type {Api.EntryRows} */
      const found = await get(ofTopic(page.topic.name, "/entries"), { ...query, limit: PAGE });
      if (wanted !== this.wanted()) return;
      this.cursor = found.cursor;
      this.list.show([...before, ...found.rows], this.at !== null ? gettext("Nothing there.") : gettext("No entries."));
      this.shown = { of: this.place(), asOf: asOf(found.as_of_ms, this.pages > 1) };
      setText(this.note, this.shown.asOf);
      this.foot.hidden = !found.more;
    } catch (problem) {
      if (wanted !== this.wanted()) return;
      if (this.shown.of !== this.place()) this.empty();
      this.pages = Math.max(1, Math.ceil(this.list.rows.length / PAGE)); // those that are shown
      setText(this.note, `${messageOf(problem)} ${this.shown.asOf}`);
    }
  }

  /** Entries of another slot, or time, would be taken for what was asked for. */
  empty() {
    this.shown = { of: this.place(), asOf: "" };
    this.foot.hidden = true;
    this.list.show([], "");
  }

  place() {
    return `${this.order} ${this.slot} ${this.at}`;
  }

  wanted() {
    return `${this.place()} ${this.pages}`;
  }
}

/** Cuts the stream to its bounds at once. */
const trimButton = (/** @type {() => void} */ onDone) =>
  guardedButton(
    {
      action: "trim",
      symbol: "content_cut",
      label: gettext("Trim now"),
      missing: page.grants.actions.trim,
      look: "rc-end",
    },
    () => trimDialog(onDone),
  );
