// The Slots tab: every slot with its owner and numbers, and who owned what when.

import { param, setParams } from "../core/address.js";
import { get, ofTopic } from "../core/api.js";
import { byId, h, headRow, icon, replace, setClass, setText } from "../core/dom.js";
import { count, dateTime, duration, exact, NONE, rate } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { fleetButton } from "../topics/fleetactions.js";
import { openSlot } from "../topics/slotpanel.js";
import { Timeline } from "../topics/timeline.js";

const PAGE = 64;
const TIMELINE_MS = 3000;
/** [title, look] */
const COLUMNS = [
  [gettext("Owner"), "rc-one-line"],
  [gettext("Epoch"), "rc-mono"],
  [gettext("Since"), "rc-one-line"],
];
const stream = page.topic.kind === "stream";
/** [metric of the frame, title, words]. @type {[string, string, (value: number) => string][]} */
const NUMBERS = stream
  ? [
      ["backlog", gettext("Entries"), count],
      ["out_s", gettext("In/s"), rate],
    ]
  : [
      ["backlog", gettext("Backlog"), count],
      ["lag_ms", gettext("Due lag"), (/** @type {number} */ ms) => (page.topic.timed ? duration(ms) : NONE)],
      ["in_flight", gettext("In flight"), count],
      ["dead", gettext("Dead"), count],
    ];
/** What the slots are ordered by: their numbers, or how much is missing. @type {Record<string, "ascending" | "descending">} */
const ORDERS = { slot: "ascending", ledger: "descending" };

export class SlotsTab {
  constructor(/** @type {import("../core/live.js").Live} */ live) {
    this.live = live;
    this.from = Math.max(0, Number(param("from", "0")) || 0);
    this.order = param("sort") in ORDERS ? param("sort") : "slot";
    /** @type {Record<string, HTMLElement>} */
    this.heads = {
      slot: this.head("slot", gettext("Slot")),
      ledger: this.head("ledger", gettext("Ledger")),
    };
    const head = headRow([
      ...(stream ? [] : COLUMNS.map(([title]) => title)),
      ...NUMBERS.map(([, title]) => [title, "rc-num"]),
    ]);
    head.rows[0].prepend(this.heads.slot, this.heads.ledger); // in sight on a telephone, too
    this.body = h("tbody");
    this.note = h("span", { class: "rc-muted" });
    this.before = h(
      "button",
      { type: "button", class: "rc-button rc-small", onclick: () => this.go(-PAGE) },
      gettext("Before"),
    );
    this.after = h(
      "button",
      { type: "button", class: "rc-button rc-small", onclick: () => this.go(PAGE) },
      gettext("Next"),
    );
    this.unfence = fleetButton("unfence", () => ({ topic: page.topic.name }));
    this.unfence.hidden = true;
    this.timeline = new Timeline(gettext("Who owned what"));
    replace(
      byId("rc-tab"),
      h(
        "section",
        { class: "rc-card rc-flush" },
        h(
          "div",
          { class: "rc-toolbar" },
          this.note,
          this.unfence,
          h("span", { class: "rc-pages" }, this.before, this.after),
        ),
        h("div", { class: "rc-scroll" }, h("table", { class: "rc-table rc-blocks" }, head, this.body)),
      ),
      stream ? null : this.timeline.element,
    );
    if (!stream) {
      this.load();
      setInterval(() => this.load(), TIMELINE_MS);
    }
    const slot = Number(param("slot", "-1"));
    if (Number.isInteger(slot) && slot >= 0 && slot < page.topic.slots) openSlot(slot, live, () => {});
  }

  head(/** @type {string} */ name, /** @type {string} */ title) {
    const onclick = () => this.sort(name);
    return h("th", { scope: "col" }, h("button", { type: "button", onclick }, title, icon("arrow_drop_down")));
  }

  go(/** @type {number} */ step) {
    this.from = Math.min(Math.max(0, this.from + step), Math.max(0, page.topic.slots - 1));
    setParams({ from: String(this.from) }, { from: "0" });
    this.render();
  }

  sort(/** @type {string} */ name) {
    this.order = name;
    setParams({ sort: name }, { sort: "slot" });
    this.go(-this.from);
  }

  /** The slots as they are ordered: by ledger those of which most is missing first. */
  ordered(/** @type {number} */ all, /** @type {Record<string, number>} */ gaps) {
    const slots = Array.from({ length: all }, (_, slot) => slot);
    const missing = (/** @type {number} */ slot) => Math.abs(gaps[slot] ?? 0);
    return this.order === "ledger" ? slots.sort((one, other) => missing(other) - missing(one)) : slots;
  }

  async load() {
    if (this.live.paused || document.hidden) return;
    try {
      this.timeline.update((await get(ofTopic(page.topic.name, "/ownership"))).events);
    } catch (problem) {
      setText(this.note, messageOf(problem));
    }
  }

  take(/** @type {Live.TopicMessage} */ message) {
    if (message.type === "topic") this.frame = message;
    if (message.type === "details") this.owners = message.owners;
  }

  render() {
    if (!this.frame?.slots?.backlog) return;
    const { slots, fenced, gaps } = this.frame;
    const all = slots.backlog.length;
    const to = Math.min(all, this.from + PAGE);
    for (const [name, head] of Object.entries(this.heads))
      head.setAttribute("aria-sort", name === this.order ? ORDERS[name] : "none");
    const words =
      this.order === "ledger"
        ? fill(gettext("Slots, the largest gap first: %(from)s to %(to)s of %(all)s"), {
            from: this.from + 1,
            to,
            all: count(all),
          })
        : fill(gettext("Slots %(from)s to %(to)s of %(all)s"), { from: this.from, to: to - 1, all: count(all) });
    setText(this.note, words + this.rule(fenced));
    this.unfence.hidden = !fenced;
    this.before.disabled = this.from === 0;
    this.after.disabled = to >= all;
    while (this.body.children.length > to - this.from) this.body.deleteRow(-1);
    for (const [place, slot] of this.ordered(all, gaps).slice(this.from, to).entries())
      this.show(place, slot, slots, gaps[slot]);
  }

  /** Who may take from the slots, where the table does not say it. */
  rule(/** @type {number} */ fenced) {
    if (this.owners || stream) return "";
    if (!fenced) return ` · ${gettext("shared: every worker takes from every slot")}`;
    return ` · ${fill(gettext("%(n)s slots wait for workers with ZooKeeper"), { n: count(fenced) })}`;
  }

  /**
   * @param {number} place its row
   * @param {number} slot
   * @param {Live.SlotValues} slots
   * @param {number | undefined} gap
   */
  show(place, slot, slots, gap) {
    const row = this.body.rows[place] ?? this.body.appendChild(this.row());
    const [name, ...cells] = row.children;
    row.dataset.slot = String(slot);
    setText(name.children[0], fill(gettext("Slot %(slot)s"), { slot }));
    const owner = this.owners?.of[slot] ?? -1;
    const owned = [
      this.owners ? (this.owners.names[owner] ?? gettext("nobody")) : NONE,
      this.owners?.epochs[slot] ?? NONE,
      this.owners?.since_ms[slot] ? dateTime(this.owners.since_ms[slot]) : NONE,
    ];
    const words = NUMBERS.map(([metric, , text]) => text(slots[metric][slot]));
    const ledger = gap ? fill(gettext("Off by %(gap)s"), { gap: exact(gap) }) : gettext("Balances");
    for (const [at, text] of [ledger, ...(stream ? [] : owned), ...words].entries()) {
      setText(cells[at], text);
      setClass(cells[at], "rc-less", text === NONE);
    }
    setClass(cells[0], "rc-bad", Boolean(gap));
  }

  row() {
    const open = h("button", {
      type: "button",
      class: "rc-link",
      onclick: (/** @type {any} */ event) =>
        openSlot(Number(event.target.closest("tr").dataset.slot), this.live, () => {}),
    });
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, open),
      h("td", { class: "rc-one-line" }),
      stream ? null : COLUMNS.map(([title, look]) => h("td", { class: look, "data-title": title })),
      NUMBERS.map(([, title]) => h("td", { class: "rc-num", "data-title": title })),
    );
  }
}
