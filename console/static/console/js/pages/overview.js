// The overview: problems first, then numbers, then every topic.

import { byId, h, icon, replace } from "../core/dom.js";
import { bytes, count, duration, rate } from "../core/format.js";
import { Live } from "../core/live.js";
import { page } from "../core/page.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { onThemeChange } from "../core/theme.js";
import { guardedLink } from "../parts/guardedbutton.js";
import { acceptButton } from "../parts/lostdata.js";
import { problemPlace } from "../parts/problemnames.js";
import { showProblems } from "../parts/problems.js";
import { showInTab } from "../parts/tabsign.js";
import { Tile, tileRow } from "../parts/tiles.js";
import { putOnScreen } from "../screens/putonscreen.js";
import { Sparks } from "../time/sparks.js";
import { firstSteps } from "../topics/firststeps.js";
import { TopicFilter } from "../topics/topicfilter.js";
import { TopicTable } from "../topics/topictable.js";

/** @type {Live.Overview | null} */
let frame = page.frame;
const sparks = new Sparks();
if (page.sparks) sparks.load(page.sparks);

const tiles = [
  new Tile(gettext("In/s"), (t) => [rate(t.in_s)]),
  new Tile(gettext("Out/s"), (t) => [
    rate(t.out_s),
    t.failed_s ? fill(gettext("%(rate)s/s failed"), { rate: rate(t.failed_s) }) : "",
  ]),
  new Tile(gettext("Backlog"), (t) => [count(t.backlog), fill(gettext("%(ready)s ready"), { ready: count(t.ready) })]),
  new Tile(gettext("Due lag"), (t) => [
    duration(t.lag_ms),
    t.p99 === null || t.lag_ms > page.lag_warning_ms
      ? (t.lag_topic ?? "")
      : fill(gettext("p99 late %(p99)s"), { p99: duration(t.p99) }),
    t.lag_ms > page.lag_warning_ms,
  ]),
  new Tile(gettext("In flight"), (t) => [count(t.in_flight)]),
  new Tile(gettext("Oldest in flight"), (t) => [duration(t.oldest_ms)]),
  new Tile(gettext("Dead"), (t) => [
    count(t.dead),
    t.retrying ? fill(gettext("%(retrying)s retrying"), { retrying: count(t.retrying) }) : "",
  ]),
  new Tile(gettext("Workers"), (t) => [count(t.workers), "", t.workers === 0 && t.ready > 0]),
];
const toScreen = putOnScreen([
  ["figures", gettext("All topics")],
  ["topics *", gettext("Topics")],
  ["problems", gettext("Problems")],
]);
const server = h("p", { class: "rc-server rc-muted" });
const problemList = h("ul", { class: "rc-problems" });
const problems = h("section", { "aria-label": gettext("Problems") }, problemList);
const filter = new TopicFilter(() => render());
const table = new TopicTable({
  onSort: (name) => filter.sortBy(name),
  onFold: (name) => filter.fold(name),
  onStar: () => render(),
  sparks: sparkOf,
});
const topics = h(
  "section",
  { class: "rc-card rc-flush" },
  filter.element,
  h("div", { class: "rc-scroll" }, table.element),
);
filter.element.append(newTopic());
const nothing = h("p", { class: "rc-nothing" }, gettext("No topic matches."));
topics.append(nothing);

replace(
  byId("rc-page"),
  h("div", { class: "rc-head" }, server, toScreen, h("div", { id: "rc-status", class: "rc-status" })),
  problems,
  tileRow(tiles),
  topics,
);

const live = new Live(page.socket, take, render);
if (frame) live.receive(frame);
else showEmptyFrame();
onThemeChange(render);
addEventListener("resize", () => live.draw());

function take(
  /** @type {Live.Overview | Live.OverviewChanges | ({ type: "sparks" } & Parameters<Sparks["load"]>[0])} */ message,
) {
  if (message.type === "sparks") sparks.load(message);
  if (message.type === "sparks") return;
  if (message.type === "overview") frame = message;
  else if (frame?.at_ms === message.from_ms) frame = changed(frame, message);
  else return live.socket?.again();
  sparks.follow(frame);
  showInTab(frame.problems);
}

/** Lines that stay are the same objects, which are not drawn again. @returns {Live.Overview} */
function changed(/** @type {Live.Overview} */ before, /** @type {Live.OverviewChanges} */ { names, topics, ...head }) {
  const lines = new Map(before.topics.map((topic) => [topic.name, topic]));
  for (const topic of topics) lines.set(topic.name, topic);
  const shown = (names ?? [...lines.keys()]).flatMap((name) => lines.get(name) ?? []);
  return { ...before, ...head, type: "overview", topics: shown };
}

function render() {
  if (!frame) return;
  table.look();
  byId("rc-page").classList.remove("rc-waiting");
  for (const tile of tiles) tile.update(frame.totals);
  if (frame.problems.length) showProblems(problemList, frame.problems, problemPlace, acceptButton);
  else showNone(frame.totals.acknowledged);
  showServer(frame);
  // Every worker has a group of its own of a broadcast: those are on the page of their stream.
  const listed = frame.topics.filter((topic) => !topic.broadcast || topic.problems.length);
  const groups = filter.apply(listed);
  const shown = groups.reduce((sum, group) => sum + group.topics.length, 0);
  nothing.hidden = shown > 0 || frame.topics.length === 0;
  showFirstSteps(frame.topics.length === 0);
  table.update(groups, filter.sort);
}

function showNone(/** @type {number} */ known) {
  const words = [
    gettext("No problems."),
    known
      ? fill(ngettext("%(n)s dead letter is acknowledged.", "%(n)s dead letters are acknowledged.", known), {
          n: count(known),
        })
      : null,
  ];
  const text = words.filter(Boolean).join(" ");
  if (problemList.dataset.shown === text) return;
  problemList.dataset.shown = text;
  replace(problemList, h("li", { class: "rc-problem rc-problem-none" }, icon("check_circle"), h("span", {}, text)));
}

/** The coarse history, ended by what is true now. */
function sparkOf(/** @type {Live.TopicLine} */ topic) {
  return [...sparks.of(topic.name), topic.backlog + (topic.length ?? 0)];
}

function newTopic() {
  const missing = page.grants.actions.create_topic;
  return guardedLink({
    href: `${page.root}define/`,
    symbol: "add",
    label: gettext("New topic"),
    missing,
    look: "rc-end",
  });
}

function showServer(/** @type {Live.Overview} */ frame) {
  const info = frame.server;
  const groups = frame.topics.filter((topic) => topic.kind === "group").length;
  const number = frame.topics.length - groups;
  const words = [fill(ngettext("%(n)s topic", "%(n)s topics", number), { n: count(number) })];
  if (groups) words.push(fill(ngettext("%(n)s consumer group", "%(n)s consumer groups", groups), { n: count(groups) }));
  if (info) {
    const memory = info.maxmemory ? `${bytes(info.used_memory)} / ${bytes(info.maxmemory)}` : bytes(info.used_memory);
    words.push(
      `${info.program ?? "Redis"} ${info.version}`,
      memory,
      fill(gettext("%(ops)s commands/s"), { ops: count(info.ops_per_s) }),
    );
  }
  if (frame.interval_ms > 1500)
    words.push(fill(gettext("sampled every %(time)s"), { time: duration(frame.interval_ms) }));
  const text = words.join(" · ");
  if (server.textContent !== text) server.textContent = text;
}

function showFirstSteps(/** @type {boolean} */ empty) {
  topics.classList.toggle("rc-is-empty", empty);
  if (empty && !topics.querySelector(".rc-empty")) topics.append(firstSteps(newTopic()));
  else if (!empty) topics.querySelector(".rc-empty")?.remove();
}

function showEmptyFrame() {
  byId("rc-page").classList.add("rc-waiting");
  const words =
    page.problem ??
    gettext(
      "Waiting for the first sample. If this stays, the keeper is not running: start `manage.py keeper` or `manage.py up`.",
    );
  replace(
    problemList,
    h(
      "li",
      { class: `rc-problem rc-problem-${page.problem ? "critical" : "info"}` },
      icon(page.problem ? "error" : "hourglass_empty"),
      h("span", {}, words),
    ),
  );
}
