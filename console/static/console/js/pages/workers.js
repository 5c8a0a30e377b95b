// The workers: what each does, how it stands with ZooKeeper, who owns how much, and what happened lately.
import { param } from "../core/address.js";
import { byId, h, headRow, icon, replace, setClass, setText } from "../core/dom.js";
import { count, dateTime, duration, NONE, rate, relative } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { Live } from "../core/live.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { atMostOnce } from "../parts/atmostonce.js";
import { slowed } from "../parts/slowed.js";
import { Tile, tileRow } from "../parts/tiles.js";
import { fleetButton } from "../topics/fleetactions.js";
import { Timeline } from "../topics/timeline.js";

/** @typedef {Live.Fleet & { running: Live.FleetWorker[] }} Shown */

/** @type {Record<string, string>} */
const STATES = { running: gettext("Running"), stopping: gettext("Stopping"), lost: gettext("Silent") };
/** @type {Record<string, string>} */
const SESSIONS = {
  shared: gettext("without ZooKeeper"),
  connected: gettext("connected"),
  suspended: gettext("connection lost: takes nothing"),
  lost: gettext("session lost: takes nothing"),
};
/** @type {Live.Fleet | null} */
let frame = page.frame;

/**
 * @template Item
 * @param {Item[]} items
 * @param {(item: Item) => number} read
 */
const sum = (items, read) => items.reduce((total, item) => total + read(item), 0);
const tiles = [
  new Tile(gettext("Workers"), (/** @type {Shown} */ { running, workers }) => [
    count(running.length),
    running.length < workers.length
      ? fill(gettext("%(n)s silent or stopping"), { n: count(workers.length - running.length) })
      : "",
    running.length === 0,
  ]),
  new Tile(gettext("Slots owned"), (/** @type {Shown} */ { topics, running }) => {
    const all = sum(
      topics.filter((topic) => topic.serial),
      (topic) => topic.slots,
    );
    const missing = sum(topics, (topic) => topic.unowned);
    return [
      all ? count(sum(running, (worker) => worker.slots)) : "–",
      all
        ? missing
          ? fill(gettext("%(n)s without an owner"), { n: count(missing) })
          : gettext("every slot has an owner")
        : gettext("shared by all workers"),
      missing > 0,
    ];
  }),
  new Tile(gettext("Done/s"), (/** @type {Shown} */ { running }) => [
    rate(sum(running, (worker) => worker.done_per_s)),
  ]),
  new Tile(gettext("In flight"), (/** @type {Shown} */ { running }) => [
    count(sum(running, (worker) => worker.in_flight)),
  ]),
  new Tile(gettext("Stuck calls"), (/** @type {Shown} */ { running }) => [
    count(sum(running, (worker) => worker.stuck)),
    "",
    sum(running, (worker) => worker.stuck) > 0,
  ]),
  new Tile("ZooKeeper", (/** @type {Shown} */ { running }) => {
    const away = running.filter((worker) => ["suspended", "lost"].includes(worker.session)).length;
    if (running.every((worker) => worker.session === "shared")) return [gettext("not used")];
    return away
      ? [gettext("away"), fill(gettext("for %(n)s workers"), { n: count(away) }), true]
      : [gettext("connected")];
  }),
];
// [title, class]
const COLUMNS = [
  [gettext("Worker")],
  ["ZooKeeper", "rc-wide-cell"],
  [gettext("Topics and slots"), "rc-wide-cell"],
  [gettext("In flight"), "rc-num"],
  [gettext("Done/s"), "rc-num"],
  [gettext("Done"), "rc-num"],
  [gettext("Failed"), "rc-num"],
  [gettext("Stale"), "rc-num"],
  [gettext("Started")],
  [gettext("Actions"), "rc-wide-cell rc-hidden-title"],
];
const body = h("tbody");
const nothing = h(
  "div",
  { class: "rc-empty", hidden: true },
  icon("memory"),
  h("h2", {}, gettext("No workers")),
  h("p", {}, gettext("Start one with: rmq worker module:attribute, or manage.py worker.")),
);
const table = h(
  "section",
  { class: "rc-card rc-flush", "aria-label": gettext("Workers") },
  h("div", { class: "rc-scroll" }, h("table", { class: "rc-table rc-workers" }, headRow(COLUMNS), body)),
  nothing,
);
const pins = h("section", { class: "rc-card", "aria-label": gettext("Placement overrides"), hidden: true });
const timeline = new Timeline(gettext("Who took over what"));
const rows = new Map();
let sought = param("worker");

replace(
  byId("rc-page"),
  h(
    "div",
    { class: "rc-head" },
    h(
      "p",
      { class: "rc-muted" },
      gettext("With ZooKeeper every slot belongs to one worker, and messages of a slot never overlap."),
    ),
    h("div", { id: "rc-status", class: "rc-status" }),
  ),
  tileRow(tiles),
  table,
  pins,
  timeline.element,
);

const live = new Live(
  page.socket,
  (message) => {
    if (message.type === "fleet") frame = message;
  },
  render,
);
if (frame) live.receive(frame);
shortcut("g o", gettext("Go to the overview"), () => location.assign(page.root));

function render() {
  if (!frame) return;
  const running = frame.workers.filter((worker) => worker.state === "running");
  for (const tile of tiles) tile.update({ ...frame, running });
  nothing.hidden = frame.workers.length > 0;
  const names = new Set(frame.workers.map((worker) => worker.name));
  for (const name of [...rows.keys()])
    if (!names.has(name)) {
      rows.get(name).remove();
      rows.delete(name);
    }
  const newest = new Map(frame.topics.map(({ name, version }) => [name, version]));
  for (const [at, worker] of frame.workers.entries()) {
    showWorker(frame, newest, worker);
    const row = rows.get(worker.name);
    if (body.children[at] !== row) body.insertBefore(row, body.children[at] ?? null); // one that came, in its place
  }
  showSought();
  showPins(frame);
  timeline.update(frame.events);
}

/** The worker that the address names, once: from then on people scroll by themselves. */
function showSought() {
  const row = rows.get(sought);
  if (!row) return;
  sought = "";
  row.setAttribute("aria-current", "true");
  row.scrollIntoView({ block: "center" });
}

/**
 * A row is drawn again only when something in it changed, so that its buttons keep their focus. Of thousands of topics
 * only its own are looked at, or a fleet of a thousand workers holds the page up for seconds, every second.
 *
 * @param {Live.Fleet} frame
 * @param {Map<string, number>} newest Each topic's version.
 * @param {Live.FleetWorker} worker
 */
function showWorker(frame, newest, worker) {
  const minute = Math.floor((frame.at_ms - worker.started_ms) / 10_000); // it tells how long ago things were
  const key = JSON.stringify([worker, Object.keys(worker.topics).map((name) => newest.get(name)), minute]);
  let row = rows.get(worker.name);
  if (row?.dataset.key === key) return;
  if (!row) {
    row = h(
      "tr",
      {},
      COLUMNS.map(([title, extra], at) =>
        at ? h("td", { class: extra, dataset: title ? { title } : {} }) : h("th", { scope: "row" }),
      ),
    );
    rows.set(worker.name, row);
  }
  row.dataset.key = key;
  const [name, session, slots, inFlight, perSecond, done, failed, stale, started, actions] = row.children;
  const state = worker.drained ? gettext("Drained") : (STATES[worker.state] ?? worker.state);
  // What a silent one said last is not how it is: somebody else may have its slots, and what it had in flight.
  const silent = worker.state === "lost";
  const mood = silent ? "critical" : worker.drained || worker.state === "stopping" ? "paused" : "good";
  redraw(
    name,
    h("strong", {}, worker.name),
    " ",
    h("span", { class: `rc-tag rc-tag-${mood}` }, state),
    worker.stuck
      ? h("span", { class: "rc-tag rc-tag-critical" }, fill(gettext("%(n)s stuck"), { n: worker.stuck }))
      : null,
    h(
      "div",
      { class: "rc-topic-meta" },
      [
        `${worker.host} · pid ${worker.pid}`,
        `${worker.threads} ${gettext("threads")}`,
        worker.weight === 1 ? null : `${gettext("Weight")} ${count(worker.weight)}`,
        worker.version,
      ]
        .filter(Boolean)
        .join(" · "),
    ),
    silent
      ? h(
          "div",
          { class: "rc-topic-meta rc-bad", title: dateTime(worker.seen_ms) },
          fill(gettext("last heard of %(time)s"), { time: relative(worker.seen_ms, frame.at_ms) }),
        )
      : null,
  );
  redraw(
    session,
    silent ? NONE : (SESSIONS[worker.session] ?? worker.session),
    silent || worker.session === "shared"
      ? null
      : h(
          "div",
          { class: "rc-topic-meta" },
          fill(gettext("for %(time)s"), { time: duration(frame.at_ms - worker.session_since_ms) }),
        ),
  );
  setClass(session, "rc-bad", !silent && (worker.session === "suspended" || worker.session === "lost"));
  redraw(
    slots,
    Object.entries(worker.topics).map(([topic, number]) =>
      h(
        "div",
        {},
        h("a", { class: "rc-link", href: topicAddress(topic, "slots") }, topic),
        silent ? null : [` ${count(number)} `, followed(newest, worker, topic)],
        worker.at_most_once?.includes(topic) ? [" ", atMostOnce()] : null,
        silent ? null : [" ", slowed(worker.turns?.[topic])],
      ),
    ),
  );
  setText(inFlight, count(silent ? null : worker.in_flight));
  setText(perSecond, rate(silent ? null : worker.done_per_s));
  setText(done, count(worker.done));
  setText(failed, count(worker.failed));
  setText(stale, count(worker.stale));
  redraw(started, h("time", { title: dateTime(worker.started_ms) }, relative(worker.started_ms, frame.at_ms)));
  const serial = worker.session !== "shared";
  const offered = `${worker.drained} ${serial}`;
  if (actions.dataset.offered !== offered) {
    actions.dataset.offered = offered;
    replace(
      actions,
      serial
        ? h(
            "div",
            { class: "rc-row-actions" },
            fleetButton(worker.drained ? "undrain" : "drain", () => ({ worker: worker.name })),
            fleetButton("pin", () => ({ worker: worker.name, topics: topicsOf(worker.name) })),
          )
        : null,
    );
  }
}

/** As of now: its buttons stay for days, and it may come back with other topics; or these with other slots. */
function topicsOf(/** @type {string} */ name) {
  const own = frame?.workers.find((worker) => worker.name === name)?.topics ?? {};
  return frame?.topics.filter((topic) => topic.name in own) ?? [];
}

/**
 * What a cell shows, drawn only when it is something else. The frame of the page looks, in all that came, for each that
 * went: of a thousand rows drawn anew that takes seconds.
 *
 * @param {Element} cell
 * @param {...any} children
 */
function redraw(cell, ...children) {
  const made = h("td", {}, ...children);
  if (made.innerHTML !== cell.innerHTML) replace(cell, ...made.childNodes);
}

/** The version of the definition it works by; marked where that is not the newest. */
function followed(
  /** @type {Map<string, number>} */ newest,
  /** @type {Live.FleetWorker} */ worker,
  /** @type {string} */ topic,
) {
  const version = worker.versions[topic];
  if (version === undefined) return null;
  const last = newest.get(topic) ?? version;
  const title = gettext("Version of the definition that it follows");
  if (version === last) return h("span", { class: "rc-muted", title }, `v${version}`);
  const words = fill(gettext("follows v%(old)s, newest is v%(new)s"), { old: version, new: last });
  return h("span", { class: "rc-tag rc-tag-warn", title }, words);
}

function showPins(/** @type {Live.Fleet} */ frame) {
  const overrides = frame.topics.flatMap((topic) => topic.pins.map((pin) => ({ topic: topic.name, ...pin })));
  const key = JSON.stringify([overrides, frame.away]);
  if (pins.dataset.key === key) return;
  pins.dataset.key = key;
  pins.hidden = !overrides.length && !frame.away.length;
  replace(
    pins,
    h("header", {}, h("h2", {}, gettext("What operators want"))),
    h(
      "ul",
      { class: "rc-rows" },
      overrides.map((override) =>
        h(
          "li",
          {},
          h("span", {}, fill(gettext("Slots %(slots)s of %(topic)s stay with %(worker)s."), override)),
          fleetButton("unpin", () => override),
        ),
      ),
      frame.away.map((worker) =>
        h(
          "li",
          {},
          h("span", {}, fill(gettext("%(worker)s is drained, and away."), { worker })),
          fleetButton("undrain", () => ({ worker })),
        ),
      ),
    ),
  );
}
