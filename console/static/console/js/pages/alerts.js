// Alerts: what fires now, what did, what is silenced, and whether those who are to be told were.
import { get, post } from "../core/api.js";
import { byId, h, icon, replace, setClass, setText, topicName } from "../core/dom.js";
import { dateTime, duration, relative } from "../core/format.js";
import "../core/keys.js";
import {
  about,
  named,
  SEVERITIES,
  SEVERITY_TAGS,
  STATE_TAGS,
  STATES,
  silencedFor,
  told,
} from "../alerts/alertwords.js";
import { Silences, silenceButton } from "../alerts/silences.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { atOnce } from "../parts/atonce.js";
import { Choice } from "../parts/choice.js";
import { LiveList } from "../parts/livelist.js";
import { problemPlace } from "../parts/problemnames.js";
import { Together } from "../parts/together.js";
import { putOnScreen } from "../screens/putonscreen.js";

const { alert_receiver: mayDefine } = page.grants.actions;
/** The rules look every five seconds; another keeper needs some of them to take over. */
const LATE_MS = 30_000;

class Row {
  constructor(/** @type {Api.AlertOut} */ item) {
    this.severity = h("span", { class: `rc-tag rc-tag-${SEVERITY_TAGS[item.severity]}` }, SEVERITIES[item.severity]);
    this.about = h("div", { class: "rc-muted rc-operation-query" });
    this.tag = h("span");
    this.quiet = h("div", { class: "rc-muted rc-free" });
    this.since = h("td");
    this.told = h("td", { class: "rc-less" });
    this.item = item;
    this.button = silenceButton(() => ({ rule: this.item.name, topics: silencedFor(this.item) }), refresh);
    this.button.hidden = item.state === "resolved";
    this.place = h("div", { class: "rc-operation-query" });
    this.element = h(
      "tr",
      {},
      h("th", { scope: "row", class: "rc-operation-name" }, h("div", {}, item.name), this.place),
      h("td", {}, this.severity, this.about),
      h("td", {}, this.tag, this.quiet),
      this.since,
      this.told,
      h("td", {}, h("div", { class: "rc-row-actions" }, this.button)),
    );
  }

  update(/** @type {Api.AlertOut} */ item, /** @type {number} */ now) {
    this.item = item;
    replace(this.place, where(item));
    this.place.title = item.topics.join(", ");
    setText(this.about, about(item));
    this.about.title = item.rule?.description ?? "";
    this.tag.className = `rc-tag rc-tag-${STATE_TAGS[item.state]}`;
    setText(this.tag, STATES[item.state]);
    setText(this.quiet, item.silence ? quiet(item.silence, now) : item.rule?.description || "");
    const begun = item.fired_ms ?? item.began_ms;
    setText(
      this.since,
      item.resolved_ms
        ? fill(gettext("%(time)s, for %(length)s"), {
            time: relative(begun, now),
            length: duration(item.resolved_ms - begun),
          })
        : relative(begun, now),
    );
    this.since.title = dateTime(begun);
    setText(this.told, item.state === "pending" ? "–" : told(item.deliveries));
  }
}

/** The topic, or the page that fixes what is wrong with the installation. */
function where(/** @type {Api.AlertOut} */ { topic, topics, rule }) {
  if (topic) return h("a", { class: "rc-link", href: topicAddress(topic) }, topicName(topic));
  const place = rule?.problem && !topics.length ? problemPlace({ code: rule.problem, topic: null }) : null;
  return place ? h("a", { class: "rc-link", href: place }, gettext("Open")) : named(topics);
}

const quiet = (/** @type {Api.SilenceOut} */ silence, /** @type {number} */ now) =>
  fill(gettext("silenced by %(user)s, ends %(end)s: %(reason)s"), {
    user: silence.username,
    end: relative(silence.until_ms, now),
    reason: silence.reason,
  });

const receivers = h("section", { class: "rc-card", "aria-label": gettext("Receivers") });

async function showReceivers() {
  /** @type {Api.ReceiverList} */
  const { receivers: found } = await get("alerts/receivers");
  const key = JSON.stringify(found);
  if (key === receivers.dataset.shown) return;
  receivers.dataset.shown = key;
  const lines = found.map((each) =>
    h(
      "li",
      {},
      h("strong", {}, each.name),
      h("span", { class: "rc-muted" }, each.kind === "webhook" ? gettext("Webhook") : "Apprise"),
      each.enabled ? null : h("span", { class: "rc-tag rc-tag-neutral" }, gettext("Disabled")),
      each.error ? h("span", { class: "rc-tag rc-tag-warn" }, each.error) : null,
      atOnce({ action: "test", symbol: "send", label: gettext("Send a test"), missing: mayDefine }, () => test(each)),
    ),
  );
  replace(
    receivers,
    h("h2", {}, gettext("Receivers")),
    lines.length
      ? h("ul", { class: "rc-rows" }, lines)
      : h("p", { class: "rc-muted" }, gettext("Nobody is told of alerts: there is no receiver yet.")),
  );
}

async function test(/** @type {Api.ReceiverOut} */ { id, name }) {
  await post(`alerts/receivers/${id}:test`, {});
  toast(fill(gettext("A test was sent to %(name)s."), { name }));
}

const state = new Choice(
  gettext("Which"),
  "state",
  [
    ["open", gettext("Now")],
    ["resolved", gettext("Past")],
  ],
  () => list.restart(),
);
const silences = new Silences(() => refresh());
/** @type {number | null} */
let lookedMs = null;
const list = new LiveList({
  ask: async (query) => {
    /** @type {Api.AlertList} */
    const { alerts, looked_ms, ...rest } = await get("alerts", query);
    lookedMs = looked_ms;
    return { ...rest, rows: alerts.map((item) => ({ ...item, created_ms: item.began_ms })) };
  },
  Row,
  isLive: (/** @type {Api.AlertOut} */ item) => item.state !== "resolved",
  params: () => ({ state: state.value }),
  label: gettext("Alerts"),
  columns: [
    [gettext("Rule")],
    [gettext("What")],
    [gettext("State")],
    [gettext("Since")],
    [gettext("Told"), "rc-less"],
    [gettext("Actions")],
  ],
  empty: ["notifications", gettext("No alerts"), gettext("Nothing is wrong by any rule, or was.")],
  shown: () => {
    showLook(list.list.as_of_ms);
    below.wait(showRest());
  },
});

/** What nobody has looked for is not known, however new the list is. */
function showLook(/** @type {number} */ now) {
  const late = lookedMs === null || now - lookedMs > LATE_MS;
  setClass(byId("rc-page"), "rc-stale", late);
  byId("rc-banner").hidden = !late;
  const words = fill(gettext("Nobody has looked by the rules since %(time)s: the keeper may be away."), {
    time: dateTime(lookedMs),
  });
  replace(
    byId("rc-banner"),
    icon("cloud_off"),
    h("span", {}, lookedMs ? words : gettext("Nobody has looked by the rules yet.")),
  );
}

async function showRest() {
  try {
    await Promise.all([silences.load(), showReceivers()]);
  } catch {
    // The list, which is asked for as often, says that the server is away.
  }
}

const below = new Together(list, [silences.element, receivers]);
const refresh = () => list.restart();

/**
 * @param {string} address
 * @param {string} symbol
 * @param {string} label
 */
const link = (address, symbol, label) => h("a", { class: "rc-button", href: address }, icon(symbol), label);
replace(
  byId("rc-page"),
  h(
    "div",
    { class: "rc-head" },
    state.element,
    link(page.rules, "rule", gettext("Rules")),
    mayDefine ? null : link(page.receivers, "outgoing_mail", gettext("Receivers")),
    putOnScreen([["alerts", gettext("Alerts")]]),
    h("div", { class: "rc-status" }, list.asOf),
  ),
  list.element,
  below.element,
);
