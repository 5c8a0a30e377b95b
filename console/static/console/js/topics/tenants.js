// Who causes a topic's load, where its messages say whose they are.
import { get, ofTopic } from "../core/api.js";
import { h, headRow, replace, setText } from "../core/dom.js";
import { count, duration, percent, rate } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { bulkButton } from "../operations/bulk.js";

const REFRESH_MS = 10_000;
const SHOWN = 10;

export class Tenants {
  /** `live` says when to stand still. Shown once a message has named a tenant. */
  constructor(/** @type {import("../core/live.js").Live} */ live) {
    this.live = live;
    this.any = false;
    this.body = h("tbody");
    this.note = h("p", { class: "rc-muted rc-bars-note" });
    const heads = [
      gettext("Tenant"),
      [gettext("Sent/s"), "rc-num"],
      [gettext("Of all sent"), "rc-num"],
      [gettext("Taken/s"), "rc-num"],
      [gettext("Of all taken"), "rc-num"],
      gettext("Actions"),
    ];
    this.turnRows = h("tbody");
    const turnHeads = [
      gettext("Whose turn"),
      [gettext("Waiting"), "rc-num"],
      [gettext("Weight"), "rc-num"],
      [gettext("Its share of the turns"), "rc-num"],
      gettext("Its limit"),
    ];
    this.turns = h(
      "div",
      { class: "rc-scroll", tabindex: "0", hidden: true },
      h("table", { class: "rc-table" }, headRow(turnHeads), this.turnRows),
    );
    const title = gettext("Tenants: who causes the load");
    this.element = h(
      "section",
      { class: "rc-card rc-flush", "aria-label": title, hidden: true },
      h("h2", { class: "rc-card-title rc-strong" }, title),
      h("div", { class: "rc-scroll", tabindex: "0" }, h("table", { class: "rc-table" }, headRow(heads), this.body)),
      this.turns,
      this.note,
    );
    this.load();
    setInterval(() => this.load(), REFRESH_MS);
  }

  /** Not shown beside a moment of the past: it is of now alone. */
  stand(/** @type {boolean} */ past) {
    this.element.hidden = past || !this.any;
  }

  async load() {
    if (this.loaded && (this.live.paused || this.live.replay || document.hidden)) return;
    if (this.body.contains(document.activeElement)) return; // a button with the focus stays
    this.loaded = true;
    try {
      this.show(await get(ofTopic(page.topic.name, "/tenants"), { limit: SHOWN }));
    } catch (problem) {
      setText(this.note, messageOf(problem));
    }
  }

  show(/** @type {Api.TenantLoads} */ found) {
    this.any = found.tenants.length > 0 || found.turns.length > 0;
    this.showTurns(found);
    this.stand(Boolean(this.live.replay));
    replace(
      this.body,
      found.tenants.map((each) =>
        h(
          "tr",
          {},
          h("td", { class: "rc-mono" }, each.tenant),
          h("td", { class: "rc-num" }, rate(each.sent_s)),
          h("td", { class: "rc-num" }, percent(each.sent_share)),
          h("td", { class: "rc-num" }, rate(each.taken_s)),
          h("td", { class: "rc-num" }, percent(each.taken_share)),
          h("td", {}, allOf(each.tenant)),
        ),
      ),
    );
    const lately = fill(gettext("Lately: older load counts half for every %(time)s."), {
      time: duration(found.half_life_ms),
    });
    const over = found.over_s
      ? fill(gettext("Many tenants: each figure may be too high by up to %(rate)s/s."), { rate: rate(found.over_s) })
      : "";
    const capped = found.fair
      ? gettext(
          "Tenants take turns, the next one first: what caps each is its share, by its weight among those who wait.",
        )
      : "";
    const without = found.without_turn
      ? fill(gettext("%(n)s messages are still to be given a turn."), { n: count(found.without_turn) })
      : "";
    setText(this.note, [lately, over, capped, without].filter(Boolean).join(" "));
  }

  showTurns(/** @type {Api.TenantLoads} */ found) {
    this.turns.hidden = !found.fair;
    replace(
      this.turnRows,
      found.turns.map((each) =>
        h(
          "tr",
          {},
          h("td", { class: "rc-mono" }, each.tenant || gettext("(no tenant)")),
          h("td", { class: "rc-num" }, count(each.waiting)),
          h("td", { class: "rc-num" }, count(each.weight)),
          h("td", { class: "rc-num" }, percent(each.share)),
          h("td", {}, limitOf(each)),
        ),
      ),
    );
  }
}

/** Cancels, requeues … whatever of a tenant is in a state; nothing for messages of nobody. */
function allOf(/** @type {string} */ tenant) {
  const states = ["ready", "delayed", "retrying", "held", "dead", "trash"];
  return tenant ? bulkButton(page.topic, states, () => ({ filter: { tenant } })) : null;
}

/** What caps a tenant beside its share. */
function limitOf(/** @type {Api.TenantTurn} */ { limit, capped }) {
  if (limit === "held") return gettext("held: nothing is handed out");
  return capped ? fill(gettext("%(limit)s, used up now"), { limit }) : limit;
}
