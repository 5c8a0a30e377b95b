// Who causes a topic's load and, where tenants take turns, whose turn it is and what caps each.
import { get, ofTopic } from "../core/api.js";
import { h, headRow, setText } from "../core/dom.js";
import { count, duration, percent, rate } from "../core/format.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { bulkButton } from "../operations/bulk.js";
import { TenantRows } from "./tenantrows.js";

const REFRESH_MS = 5_000;
const SHOWN = 100;
const NUMBER = "rc-num";
const LESS = "rc-num rc-less";
/** What a slot calls those who share a lane, because it has no more of them: there are thousands then. */
const OTHERS = " ";

export class Tenants {
  /** `live` says when to stand still. Shown once a message has named a tenant, and where tenants take turns. */
  constructor(/** @type {import("../core/live.js").Live} */ live) {
    this.live = live;
    this.any = false;
    this.version = 0;
    this.note = h("p", { class: "rc-muted rc-bars-note" });
    this.rows = new TenantRows([LESS, NUMBER, LESS, NUMBER], gettext("No message has named a tenant lately."));
    const heads = [
      gettext("Tenant"),
      [gettext("Sent/s"), LESS],
      [gettext("Of all sent"), NUMBER],
      [gettext("Taken/s"), LESS],
      [gettext("Of all taken"), NUMBER],
      gettext("Actions"),
    ];
    this.turnRows = new TenantRows([NUMBER, NUMBER, LESS, NUMBER, "rc-tenant-limit"], gettext("Nothing waits."));
    const turnHeads = [
      gettext("Who waits"),
      [gettext("Waiting"), NUMBER],
      [gettext("Turn"), NUMBER],
      [gettext("Weight"), LESS],
      [gettext("Its share of the turns"), NUMBER],
      gettext("Its limit"),
      gettext("Actions"),
    ];
    const title = gettext("Tenants: who causes the load");
    const turnsTitle = gettext("Tenants: whose turn it is");
    this.turnNote = h("p", { class: "rc-muted rc-bars-note" });
    this.turns = h(
      "div",
      { hidden: true },
      h("h2", { class: "rc-card-title rc-strong" }, turnsTitle),
      scrolled(turnsTitle, turnHeads, this.turnRows),
      h("p", { class: "rc-bars-note" }, limitsLink()),
      this.turnNote,
    );
    this.element = h(
      "section",
      { class: "rc-card rc-flush rc-tenants", "aria-label": title, hidden: true },
      this.turns,
      h("h2", { class: "rc-card-title rc-strong" }, title),
      scrolled(title, heads, this.rows),
      this.note,
    );
    this.load();
    setInterval(() => this.load(), REFRESH_MS);
  }

  /** Not shown beside a moment of the past: it is of now alone. */
  stand(/** @type {boolean} */ past) {
    this.element.hidden = past || !this.any;
  }

  /** A new definition may bring other limits: they are shown at once. */
  follow(/** @type {number} */ version) {
    if (this.version && version !== this.version) this.load();
    this.version = version;
  }

  async load() {
    if (this.loaded && (this.live.paused || this.live.replay || document.hidden)) return;
    this.loaded = true;
    try {
      this.show(await get(ofTopic(page.topic.name, "/tenants"), { limit: SHOWN }));
    } catch (problem) {
      setText(this.note, messageOf(problem));
    }
  }

  show(/** @type {Api.TenantLoads} */ found) {
    this.any = found.fair || found.tenants.length > 0;
    this.stand(Boolean(this.live.replay));
    this.turns.hidden = !found.fair;
    if (found.fair) this.turnRows.show(turnsOf(found.turns));
    this.rows.show(
      found.tenants.map((each) => ({
        tenant: each.tenant,
        words: [rate(each.sent_s), percent(each.sent_share), rate(each.taken_s), percent(each.taken_share)],
        button: () => allOf(each.tenant),
      })),
    );
    const over = fill(gettext("Many tenants: each figure may be too high by up to %(rate)s/s."), {
      rate: rate(found.over_s),
    });
    sentences(this.note, [
      fill(gettext("Lately: older load counts half for every %(time)s."), { time: duration(found.half_life_ms) }),
      found.over_s && over,
      found.tenants.length === SHOWN && fill(gettext("The %(n)s with the most load."), { n: count(SHOWN) }),
    ]);
    sentences(this.turnNote, [
      gettext(
        "Turn 1 is next. Turns are shared by weight among those of whom something waits and who are not at their limit.",
      ),
      found.turns.length === SHOWN && fill(gettext("The %(n)s of whom most waits."), { n: count(SHOWN) }),
      found.without_turn &&
        fill(gettext("%(n)s messages are still to be given a turn."), { n: count(found.without_turn) }),
    ]);
  }
}

/** Those of whom most waits first: the order of turns changes all the time, and is a column. */
function turnsOf(/** @type {Api.TenantTurn[]} */ turns) {
  const places = new Map(turns.filter((each) => !each.capped).map((each, n) => [each.tenant, n + 1]));
  const rows = turns.toSorted((one, other) => other.waiting - one.waiting || (one.tenant < other.tenant ? -1 : 1));
  return rows.map((each) => ({
    tenant: each.tenant,
    label: labelOf(each.tenant, turns.length),
    words: [
      count(each.waiting),
      each.capped ? "–" : count(places.get(each.tenant) ?? 0),
      count(each.weight),
      percent(each.share),
      limitOf(each),
    ],
    button: () => allOf(each.tenant),
  }));
}

/** For rows that are of no one tenant. */
function labelOf(/** @type {string} */ tenant, /** @type {number} */ rows) {
  if (tenant === "") return gettext("(no tenant)");
  return tenant === OTHERS && rows === SHOWN ? gettext("(others, who share a lane)") : "";
}

/** What caps a tenant beside its share. */
function limitOf(/** @type {Api.TenantTurn} */ { limit, capped }) {
  if (limit === "held") return gettext("held: nothing is handed out");
  return capped ? fill(gettext("%(limit)s, used up now"), { limit }) : limit;
}

/** Cancels, requeues … whatever of a tenant is in a state; nothing for messages of nobody. */
function allOf(/** @type {string} */ tenant) {
  const states = ["ready", "delayed", "retrying", "held", "dead", "trash"];
  return tenant ? bulkButton(page.topic, states, () => ({ filter: { tenant } })) : null;
}

/** Limits and weights are part of the definition. */
function limitsLink() {
  const href = `${topicAddress(page.topic.name, "definition")}?field=tenant_limits`;
  return h("a", { class: "rc-link", href }, gettext("Hold or limit a tenant…"));
}

/**
 * @param {string} title
 * @param {any[]} heads
 * @param {TenantRows} rows
 */
function scrolled(title, heads, rows) {
  return h(
    "div",
    { class: "rc-scroll rc-tall", tabindex: "0", role: "group", "aria-label": title },
    h("table", { class: "rc-table" }, headRow(heads), rows.element),
  );
}

const sentences = (/** @type {Node} */ element, /** @type {(string | number | false)[]} */ lines) =>
  setText(element, lines.filter(Boolean).join(" "));
