// A topic's page: header, actions, and the tab that is shown.

import { byId, h, icon, replace, setText } from "../core/dom.js";
import { count, dateTime, duration, percent, rate } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { Live } from "../core/live.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { actionButton } from "../parts/actions.js";
import { atMostOnce } from "../parts/atmostonce.js";
import { guardedLink } from "../parts/guardedbutton.js";
import { showProblems } from "../parts/problems.js";
import { WAITING } from "../parts/states.js";
import { openWhy } from "../parts/why.js";
import { Star } from "../topics/favourites.js";
import { topicState } from "../topics/topicstate.js";

/** @typedef {Live.TopicFrame | Live.PastFrame} Shown */

const DEAD = ["dead_growing", "dead"];
const LATE = [
  "objective_burning",
  "starving",
  "lagging",
  "falling_behind",
  "no_workers",
  "unowned",
  "stuck",
  "group_stuck",
  "group_behind",
];
const FLEET = ["unowned", "no_workers", "group_stuck"];
/** @type {Live.TopicFrame | null} */
let frame = null;
const build = await tabModule();
const live = new Live(page.socket, take, render);
const tab = build();
const problems = byId("rc-problems");
byId("rc-topic-state").before(new Star().show(page.topic.name));

shortcut("g d", gettext("Go to this topic's dead letters"), () =>
  location.assign(topicAddress(page.topic.name, "dead")),
);
if (page.topic.kind === "stream")
  shortcut("g c", gettext("Go to this topic's consumer groups"), () =>
    location.assign(topicAddress(page.topic.name, "groups")),
  );
shortcut("g m", gettext("Go to this topic's messages"), () =>
  location.assign(topicAddress(page.topic.name, "messages")),
);
shortcut("g s", gettext("Go to this topic's slots"), () => location.assign(topicAddress(page.topic.name, "slots")));
shortcut("g t", gettext("Go to this topic's trends"), () => location.assign(topicAddress(page.topic.name, "trends")));
shortcut("g l", gettext("Go to this topic's live view"), () => location.assign(topicAddress(page.topic.name)));
if (page.topic.kind !== "group") {
  shortcut("g e", gettext("Go to this topic's definition"), () =>
    location.assign(topicAddress(page.topic.name, "definition")),
  );
  shortcut("g n", gettext("Send a message to this topic"), () =>
    location.assign(topicAddress(page.topic.name, "send")),
  );
}
addEventListener("resize", () => live.draw());
showState(page.topic);
showWrong(page.problems);

/** Only the modules of the tab that is shown are fetched: together they are three times as many. */
async function tabModule() {
  const stream = page.topic.kind === "stream";
  switch (page.tab) {
    case "live": {
      const { LiveTab } = await import("./live.js");
      return () => new LiveTab(live, () => render());
    }
    case "slots": {
      const { SlotsTab } = await import("./slots.js");
      return () => new SlotsTab(live);
    }
    case "trends": {
      const { TrendsTab } = await import("./trends.js");
      return () => new TrendsTab();
    }
    case "groups": {
      const { GroupsTab } = await import("./groups.js");
      return () => new GroupsTab(live);
    }
    case "definition": {
      const { DefinitionTab } = await import("./definition.js");
      return () => new DefinitionTab();
    }
  }
  if (stream && page.tab === "dead") {
    const { GroupsDeadTab } = await import("./groupsdead.js");
    return () => new GroupsDeadTab();
  }
  if (stream) {
    const { EntriesTab } = await import("./entries.js");
    return () => new EntriesTab(live);
  }
  const { MessagesTab } = await import("./messages.js");
  return () => new MessagesTab(live, page.tab === "dead" ? ["dead"] : WAITING);
}

function take(/** @type {Live.TopicMessage} */ message) {
  if (message.type === "topic") frame = message;
  if (message.type === "topic" || message.type === "gone") live.gone = goneWords(message);
  tab.take(message);
}

/** What this page is about is no longer there: the words, and the way out; null where it is as it was. */
function goneWords(/** @type {{ topic?: Live.Topic }} */ { topic }) {
  if (!topic) {
    const words = fill(gettext("The topic %(topic)s was deleted. What you see is what it was."), {
      topic: page.topic.name,
    });
    return [words, [gettext("All topics"), () => location.assign(page.root)]];
  }
  if (topic.created_ms === page.topic.created_ms) return null;
  const words = gettext(
    "This topic was deleted, and another of the same name was made. This page is about the old one.",
  );
  return [words, [gettext("Reload"), () => location.reload()]];
}

function render() {
  if (live.gone) return;
  tab.render();
  const past = live.replay ? /** @type {any} */ (tab).past : null;
  if (live.replay && !past) return;
  const shown = past ?? frame;
  if (!shown) return;
  if (!past) page.topic = shown.topic;
  showState(shown.topic, shown);
  showWrong(shown.problems, Boolean(past));
  setText(byId("rc-facts"), facts(shown).filter(Boolean).join(" · "));
  const dead = byId("rc-dead-count");
  if (!dead || past || !frame) return;
  const died = frame.groups.reduce((sum, group) => sum + group.dead, frame.now.dead);
  setText(dead, died ? ` ${count(died)}` : "");
}

function showWrong(/** @type {Live.Problem[]} */ found, past = false) {
  showProblems(problems, found, place, past ? () => null : act);
  problems.hidden = !found.length;
}

function facts(/** @type {Shown} */ shown) {
  const { now, topic, journal: held, acknowledged: known } = shown;
  if (!now) return [gettext("Nothing was kept of this moment.")];
  return [
    ...(topic.kind === "stream" ? kept(now) : waiting({ ...shown, now })),
    held ? journal(held) : null,
    shown.objective ? objective(shown.objective) : null,
    known && now.dead ? acknowledged(known) : null,
  ];
}

function kept(/** @type {Live.Numbers} */ now) {
  return [
    fill(ngettext("%(n)s entry kept", "%(n)s entries kept", now.length), { n: count(now.length) }),
    fill(gettext("in %(in)s/s"), { in: rate(now.in_s) }),
  ];
}

function waiting(/** @type {Shown & { now: Live.Numbers }} */ { now, topic, workers, routed }) {
  const words =
    topic.kind === "group"
      ? [
          now.lag === null ? gettext("lag unknown") : fill(gettext("lag %(n)s"), { n: count(now.lag ?? now.ready) }),
          fill(gettext("read %(in)s/s"), { in: rate(now.in_s) }),
        ]
      : [
          fill(gettext("%(n)s waiting"), { n: count(now.backlog) }),
          fill(gettext("in %(in)s/s"), { in: rate(now.in_s) }),
        ];
  return [
    ...words,
    fill(gettext("out %(out)s/s"), { out: rate(now.out_s) }),
    topic.timed ? fill(gettext("due lag %(lag)s"), { lag: duration(now.lag_ms) }) : null,
    now.missed ? fill(gettext("%(n)s missed"), { n: count(now.missed) }) : null,
    routed ? gettext("forwarded by a route") : null,
    workers === null || (routed && !workers)
      ? null
      : fill(ngettext("%(n)s worker", "%(n)s workers", workers), { n: count(workers) }),
  ];
}

function place(/** @type {Live.Problem} */ problem) {
  if (DEAD.includes(problem.code) && page.tab !== "dead") return topicAddress(page.topic.name, "dead");
  if (problem.code === "ledger") return `${topicAddress(page.topic.name, "slots")}?sort=ledger`;
  return FLEET.includes(problem.code) ? `${page.root}workers/` : null;
}

function act(/** @type {Live.Problem} */ problem) {
  if (DEAD.includes(problem.code)) return acknowledge();
  return LATE.includes(problem.code) ? small(whyButton()) : null;
}

function whyButton() {
  return h(
    "button",
    { type: "button", class: "rc-button", onclick: () => openWhy(live) },
    icon("help"),
    gettext("Why is it late?"),
  );
}

/** Of what is shown: who died since then is news. */
function acknowledge() {
  const button = actionButton(
    "acknowledge",
    () => [],
    () => {},
    () => [],
    () => ({ until_ms: live.shownMs || page.problems_at_ms }),
  );
  return small(button);
}

function small(/** @type {HTMLButtonElement} */ button) {
  button.classList.add("rc-small");
  return button;
}

function acknowledged(/** @type {Api.Acknowledged} */ found) {
  return fill(
    ngettext(
      "%(n)s dead letter acknowledged by %(who)s, %(time)s",
      "%(n)s dead letters acknowledged by %(who)s, %(time)s",
      found.count,
    ),
    { n: count(found.count), who: found.by, time: dateTime(found.at_ms) },
  );
}

/** How the lateness objective is kept, over a week. */
function objective(/** @type {Live.Objective} */ { objective_ms: most, kept, budget, burn }) {
  if (kept === null) return fill(gettext("at most %(time)s late: nothing delivered yet"), { time: duration(most) });
  const words =
    budget > 0
      ? gettext("at most %(time)s late: %(kept)s, %(budget)s of the budget left, burn rate %(burn)s")
      : gettext("at most %(time)s late: %(kept)s, the budget is used up, burn rate %(burn)s");
  return fill(words, { time: duration(most), kept: percent(kept), budget: percent(budget), burn: rate(burn) });
}

/** How many entries the journal holds, and who has not read them. */
function journal(/** @type {NonNullable<Live.TopicFrame["journal"]>} */ state) {
  const held = fill(ngettext("journal %(n)s entry", "journal %(n)s entries", state.entries), {
    n: count(state.entries),
  });
  const [slowest] = state.readers.filter((each) => each.behind > 0).sort((one, other) => other.behind - one.behind);
  if (!slowest) return held;
  return `${held} (${fill(gettext("%(reader)s is %(time)s behind"), { reader: slowest.name, time: duration(slowest.behind_ms) })})`;
}

function showState(/** @type {Live.Topic} */ topic, /** @type {Shown | null} */ shown = frame) {
  const badge = byId("rc-topic-state");
  const marks = [topicState(topic, shown), ...(shown?.at_most_once ? [atMostOnce()] : [])];
  const text = marks.map((each) => each.outerHTML).join("");
  if ([...badge.children].map((each) => each.outerHTML).join("") !== text) replace(badge, marks);
  const place = byId("rc-topic-actions");
  if (live.replay) return; // what can be done is done now
  const paused = topic.paused || (frame !== null && frame.at_ms < topic.paused_until_ms);
  if (place.dataset.paused === String(paused)) return;
  place.dataset.paused = String(paused);
  replace(
    place,
    topic.kind === "stream" ? null : whyButton(),
    topic.kind === "group" ? null : sendLink(),
    topic.kind === "stream"
      ? null
      : actionButton(
          paused ? "resume" : "pause",
          () => [],
          () => showState({ ...topic, paused: !paused, paused_until_ms: 0 }),
        ),
  );
}

function sendLink() {
  const missing = page.grants.actions.send;
  return guardedLink({ href: topicAddress(page.topic.name, "send"), symbol: "send", label: gettext("Send"), missing });
}
