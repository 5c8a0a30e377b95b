// The Messages and Dead letters tabs: lists by state, an id at once, a bounded search in content.
import { param, setParams } from "../core/address.js";
import { get, ofTopic } from "../core/api.js";
import { all, byId, h, press, replace, setText } from "../core/dom.js";
import { count } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { page } from "../core/page.js";
import { gettext, messageOf } from "../core/text.js";
import { Clusters } from "../messages/deadclusters.js";
import { canHold, Holds, holdButton } from "../messages/holds.js";
import { MessageList } from "../messages/messagelist.js";
import { openFromAddress, openMessage } from "../messages/messagepanel.js";
import { Order } from "../messages/order.js";
import { Search } from "../messages/search.js";
import { bulkButton } from "../operations/bulk.js";
import { exportMenu } from "../operations/bulkexport.js";
import { asOf, moreFoot, slotInput } from "../parts/pagesoflists.js";

const REFRESH_MS = 3000;
const PAGE = 50;
/** @type {Record<string, [string, (now: Live.Numbers) => number | null]>} */
const TABS = {
  delayed: [gettext("Delayed"), (now) => now.delayed],
  // What is ahead of a group waits in its stream.
  ready: [gettext("Ready"), (now) => now.ready - (now.lag ?? 0)],
  retrying: [gettext("Retrying"), (now) => now.retrying],
  held: [gettext("Held"), (now) => now.held],
  in_flight: [gettext("In flight"), (now) => now.in_flight],
  trash: [gettext("Removed"), () => null],
};
/** @type {Record<string, string>} */
const EMPTY = {
  delayed: gettext("Nothing waits for its time."),
  ready: gettext("Nothing is ready: workers keep up."),
  retrying: gettext("Nothing is to be tried again."),
  held: gettext("Nothing is held."),
  in_flight: gettext("Nothing is in flight."),
  trash: gettext("Nothing was cancelled or dropped lately."),
  dead: gettext("No dead letters. Messages come here when all their retries have failed."),
};

export class MessagesTab {
  /**
   * `states`: those that can be chosen; one alone needs no choice.
   * @param {import("../core/live.js").Live} live
   * @param {string[]} states
   */
  constructor(live, states) {
    this.live = live;
    this.states = states;
    this.state = states.includes(param("state")) ? param("state") : states[0];
    this.usualOrder = states.includes("dead") ? "newest" : "oldest";
    this.order = ["newest", "oldest"].includes(param("order")) ? param("order") : this.usualOrder;
    this.slot = /^\d{1,4}$/.test(param("slot")) ? param("slot") : "";
    this.cursor = null;
    this.more = false;
    /** Which rows there are, and since when. */
    this.shown = { of: "", asOf: "" };
    this.list = new MessageList({
      onOpen: (row) => openMessage(row, live.nowMs(), () => this.changed()),
      onChanged: () => this.changed(),
      onSelection: () => {},
      nowMs: () => live.nowMs(),
    });
    this.search = new Search(
      () => this.state,
      (found) => this.showFound(found),
      () => this.load(),
    );
    this.segments = h("div", { class: "rc-segments", role: "group", "aria-label": gettext("State") });
    this.orderButton = h("button", {
      type: "button",
      class: "rc-chip",
      onclick: () => this.choose({ order: this.order === "oldest" ? "newest" : "oldest" }),
    });
    this.note = h("span", { class: "rc-muted" });
    this.foot = moreFoot(() => this.loadMore());
    this.build();
    this.load();
    setInterval(() => this.refresh(), REFRESH_MS);
    shortcut("/", gettext("Search"), () => this.search.input.focus());
    openFromAddress(live.nowMs(), () => this.changed());
  }

  build() {
    if (this.states.length > 1)
      this.segments.append(
        ...this.states.map((name) =>
          h(
            "button",
            { type: "button", dataset: { name }, onclick: () => this.choose({ state: name }) },
            TABS[name][0],
            " ",
            h("b", {}),
          ),
        ),
      );
    this.segments.hidden = this.states.length < 2;
    const dead = this.states.includes("dead");
    if (dead) this.clusters = new Clusters(page.topic);
    const holds = !dead && canHold();
    if (holds) this.holds = new Holds(this.live.nowMs.bind(this.live), () => this.changed());
    if (holds && page.topic.in_order) this.inOrder = new Order(this.live.nowMs.bind(this.live), () => this.changed());
    replace(
      byId("rc-tab"),
      this.clusters?.element,
      this.holds?.element,
      this.inOrder?.element,
      h(
        "section",
        { class: "rc-card rc-flush" },
        h(
          "div",
          { class: "rc-toolbar" },
          this.segments,
          this.search.element,
          this.orderButton,
          slotInput(this.slot, (slot) => this.choose({ slot })),
          this.note,
          h(
            "span",
            { class: "rc-actions rc-end" },
            dead ? exportMenu(page.topic.name) : null,
            holds ? holdButton(() => this.changed()) : null,
            bulkButton(
              page.topic,
              this.states.filter((name) => name !== "in_flight"),
              () => ({ filter: this.bulkFilter() }),
            ),
          ),
        ),
        this.search.progress,
        this.list.element,
        this.foot,
      ),
    );
  }

  /** A bulk action begins with what is shown. */
  bulkFilter() {
    const text = this.search.active && this.search.by.value === "content" ? this.search.input.value.trim() : "";
    return { state: this.state, text, slot: this.slot === "" ? null : Number(this.slot) };
  }

  choose(/** @type {Partial<Pick<MessagesTab, "state" | "order" | "slot">>} */ values) {
    Object.assign(this, values);
    setParams(
      { state: this.state, order: this.order, slot: this.slot },
      { state: this.states[0], order: this.usualOrder },
    );
    this.list.clear(false);
    this.search.clear();
    this.load();
  }

  take(/** @type {Live.TopicMessage} */ message) {
    if (message.type === "topic") this.now = message.now;
  }

  render() {
    if (!this.now || this.states.length < 2) return;
    for (const button of all(this.segments, "button")) {
      const number = TABS[button.dataset.name ?? ""][1](this.now);
      setText(/** @type {Node} */ (button.lastChild), number === null ? "" : count(Math.max(0, number)));
    }
  }

  /** A refresh must not move what somebody works with. */
  refresh() {
    if (
      this.live.paused ||
      this.live.gone ||
      document.hidden ||
      this.list.selected.size ||
      this.more ||
      document.querySelector("dialog[open]")
    )
      return;
    this.holds?.load();
    this.inOrder?.load();
    if (this.search.active) this.search.refresh();
    else this.load();
  }

  /** Somebody acted: whatever shows it shows it as it is now, what was found as well. */
  changed() {
    this.clusters?.load();
    this.holds?.load();
    this.inOrder?.load();
    if (this.search.active) this.search.start();
    else this.load();
  }

  async load() {
    this.more = false;
    await this.fetch(null, (rows) => rows);
  }

  async loadMore() {
    this.more = true;
    await this.fetch(this.cursor, (rows) => [...this.list.rows, ...rows]);
  }

  /**
   * @param {string | null} cursor
   * @param {(rows: Api.Row[]) => Api.Row[]} join
   */
  async fetch(cursor, join) {
    const wanted = this.wanted();
    press(this.segments, this.state);
    setText(this.orderButton, this.order === "newest" ? gettext("Latest first") : gettext("Earliest first"));
    try {
      /** @type {Api.Rows} */
      const found = await get(ofTopic(page.topic.name, "/messages"), {
        state: this.state,
        order: this.order,
        slot: this.slot,
        limit: PAGE,
        cursor,
      });
      if (wanted !== this.wanted() || this.search.active) return;
      this.cursor = found.next;
      this.list.show(join(found.rows), this.state, EMPTY[this.state]);
      this.shown = { of: wanted, asOf: asOf(found.as_of_ms, this.more) };
      setText(this.note, this.shown.asOf);
    } catch (problem) {
      if (wanted !== this.wanted() || this.search.active) return;
      if (this.shown.of !== wanted) this.empty();
      if (cursor !== null) this.more = this.list.rows.length > PAGE; // one page is refreshed, whatever was not loaded
      setText(this.note, `${messageOf(problem)} ${this.shown.asOf}`);
    }
    this.foot.hidden = this.cursor === null;
  }

  /** Rows of another state, or slot, would be taken for what was asked for. */
  empty() {
    this.shown = { of: this.wanted(), asOf: "" };
    this.cursor = null;
    this.list.show([], this.state, "");
  }

  wanted() {
    return `${this.state} ${this.order} ${this.slot}`;
  }

  showFound(/** @type {{ rows: Api.Row[], state: string, words: string }} */ { rows, state, words }) {
    this.list.show(rows, state, words);
    this.foot.hidden = true;
  }
}
