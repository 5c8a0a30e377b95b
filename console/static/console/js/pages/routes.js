// The routes: what is forwarded from topic to topic, how far behind each is, and what keeps it.
import { get, post, remove } from "../core/api.js";
import { byId, h, replace, setText, setTitle } from "../core/dom.js";
import { count, dateTime, duration, exact, relative } from "../core/format.js";
import "../core/keys.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { ask } from "../parts/ask.js";
import { atOnce } from "../parts/atonce.js";
import { guardedButton } from "../parts/guardedbutton.js";
import { LiveList } from "../parts/livelist.js";
import { editRoute, writeFilter } from "../parts/routeform.js";

const { actions } = page.grants;
/** @type {Record<string, [string, string]>} */
const STATES = {
  running: [gettext("Running"), "good"],
  failing: [gettext("Failing"), "dead"],
  paused: [gettext("Paused"), "paused"],
  idle: [gettext("Nobody runs it"), "warn"],
};

/**
 * @param {string} name
 * @param {string} [tab]
 * @param {string} [words]
 */
const topicLink = (name, tab = "", words = name) =>
  h("a", { class: "rc-route-link", href: topicAddress(name, tab) }, words);

/** What a target gets, and as what. */
function targetLine(/** @type {Record<string, any>} */ target) {
  const says = [
    target.priority ? fill(gettext("priority %(n)s"), { n: exact(target.priority) }) : null,
    target.priority_from ? fill(gettext("priority from %(name)s"), { name: target.priority_from }) : null,
    target.in_ms ? fill(gettext("after %(time)s"), { time: duration(target.in_ms) }) : null,
    target.range_ms ? fill(gettext("range %(time)s"), { time: duration(target.range_ms) }) : null,
    target.when ? fill(gettext("only %(filter)s"), { filter: writeFilter(target.when) }) : null,
    target.key ? fill(gettext("key %(key)s"), { key: target.key }) : null,
  ].filter(Boolean);
  return h(
    "div",
    {},
    "→ ",
    topicLink(target.topic),
    says.length ? h("span", { class: "rc-muted" }, ` ${says.join(" · ")}`) : null,
  );
}

class Row {
  constructor() {
    this.name = h("th", { scope: "row" });
    this.state = h("span");
    this.problem = h("div", { class: "rc-muted" });
    this.numbers = ["waiting", "forwarded"].map((field) => h("td", { class: "rc-num", dataset: { field } }));
    this.buttons = h("td", {});
    this.element = h(
      "tr",
      {},
      this.name,
      h("td", { class: "rc-route-state" }, this.state, this.problem),
      this.numbers,
      this.buttons,
    );
    this.etag = "";
  }

  update(/** @type {Api.RouteOut} */ route, /** @type {number} */ now) {
    const [words, look] = STATES[route.state] ?? [route.state, "neutral"];
    this.state.className = `rc-tag rc-tag-${look}`;
    setText(this.state, words);
    setTitle(this.state, route.runners.join(", "));
    const last = route.last_ms ? fill(gettext("last %(time)s"), { time: relative(route.last_ms, now) }) : "";
    setText(this.problem, route.problem && route.state !== "paused" ? route.problem : last);
    setTitle(this.problem, route.problem_ms ? dateTime(route.problem_ms) : "");
    const [waiting, forwarded] = this.numbers;
    waiting.dataset.title = gettext("Waiting");
    forwarded.dataset.title = gettext("Forwarded");
    replace(
      waiting,
      route.waiting === null ? gettext("unknown") : count(route.waiting),
      route.behind_ms ? line(fill(gettext("since %(time)s"), { time: duration(route.behind_ms) })) : null,
      route.on_its_way ? line(fill(gettext("%(n)s on their way"), { n: count(route.on_its_way) })) : null,
    );
    const dead = fill(gettext("%(n)s dead letters"), { n: count(route.dead) });
    replace(
      forwarded,
      count(route.forwarded),
      route.filtered ? line(fill(gettext("%(n)s filtered out"), { n: count(route.filtered) })) : null,
      route.parked ? line(fill(gettext("%(n)s parked"), { n: count(route.parked) })) : null,
      route.dead ? line(topicLink(route.queue, "dead", dead)) : null,
    );
    if (route.etag === this.etag) return;
    this.etag = route.etag;
    replace(
      this.name,
      h("div", {}, route.name),
      h("div", { class: "rc-route-way" }, topicLink(route.source), route.targets.map(targetLine)),
      route.description ? h("div", { class: "rc-muted rc-route-way" }, route.description) : null,
    );
    replace(this.buttons, h("div", { class: "rc-row-actions" }, buttonsOf(route)));
  }
}

const line = (/** @type {string | HTMLElement} */ words) => h("div", { class: "rc-muted" }, words);

function buttonsOf(/** @type {Api.RouteOut} */ route) {
  const pause = route.paused ? "resume" : "pause";
  return [
    guardedButton({ action: "edit", symbol: "edit", label: gettext("Change"), missing: actions.put_route }, () =>
      editRoute(route, again).catch(say),
    ),
    atOnce(
      {
        action: pause,
        symbol: route.paused ? "play_arrow" : "pause",
        label: route.paused ? gettext("Resume") : gettext("Pause"),
        missing: actions[`${pause}_route`],
      },
      async () => {
        await post(`routes/${route.name}:${pause}`);
        again();
      },
    ),
    guardedButton({ action: "delete", symbol: "delete", label: gettext("Delete"), missing: actions.delete_route }, () =>
      askDelete(route),
    ),
  ];
}

function askDelete(/** @type {Api.RouteOut} */ route) {
  ask({
    title: fill(gettext("Delete the route %(name)s?"), { name: route.name }),
    body: [
      h(
        "p",
        {},
        gettext("What was not forwarded stays where it is. A group through which it reads a stream goes with it."),
      ),
    ],
    label: gettext("Delete"),
    danger: true,
    submit: async ({ reason }) => {
      await remove(`routes/${route.name}`, { reason }, route.etag);
      again();
    },
  });
}

const say = (/** @type {Error} */ problem) => toast(problem.message, "error");
const again = () => list.load();

/** @type {[string, string?][]} */
const COLUMNS = [
  [gettext("Route")],
  [gettext("State")],
  [gettext("Waiting"), "rc-num"],
  [gettext("Forwarded"), "rc-num"],
  [""],
];
const list = new LiveList({
  ask: async () => {
    /** @type {Api.RouteList} */
    const found = await get("routes");
    return {
      rows: found.routes.map((route) => ({ ...route, id: route.name })),
      next: null,
      as_of_ms: found.as_of_ms,
    };
  },
  Row,
  isLive: (/** @type {Api.RouteOut} */ route) => route.state !== "paused",
  label: gettext("Routes"),
  columns: COLUMNS,
  empty: [
    "alt_route",
    gettext("No routes"),
    gettext("A route forwards what falls due in a topic, or arrives in a stream, to other topics."),
  ],
});
list.scroll.querySelector("table")?.classList.replace("rc-operations", "rc-routes");

replace(
  byId("rc-page"),
  h(
    "div",
    { class: "rc-head" },
    guardedButton(
      { action: "new", symbol: "add", label: gettext("New route"), missing: actions.put_route, look: "rc-primary" },
      () => editRoute(null, again).catch(say),
    ),
    h("div", { class: "rc-status" }, list.asOf),
  ),
  list.element,
);
