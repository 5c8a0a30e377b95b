// The Groups tab of a stream: how each consumer group does, who works on it, and what can be done about it.

import { heatColors } from "../charts/scale.js";
import { drawStrip } from "../charts/strip.js";
import { param, setParams } from "../core/address.js";
import { byId, h, headRow, icon, replace, setText } from "../core/dom.js";
import { count, dateTime, duration, exact, rate } from "../core/format.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { onThemeChange } from "../core/theme.js";
import { atOnce } from "../parts/atonce.js";
import { guardedButton } from "../parts/guardedbutton.js";
import { courseSentence, courseTag } from "../streams/course.js";
import { deleteDialog, newGroupDialog, pauseDialog, resumeGroup, settingsDialog } from "../streams/groupactions.js";
import { Members } from "../streams/members.js";
import { moveDialog } from "../streams/movedialog.js";

const TITLES = [
  gettext("Group"),
  [gettext("Slots"), "rc-less"],
  [gettext("Lag"), "rc-num"],
  [gettext("Behind"), "rc-num"],
  [gettext("In flight"), "rc-num rc-less"],
  [gettext("Retrying"), "rc-num rc-less"],
  [gettext("Read/s"), "rc-num rc-less"],
  [gettext("Out/s"), "rc-num rc-less"],
  [gettext("Dead"), "rc-num"],
  [gettext("Missed"), "rc-num rc-less"],
  [gettext("Workers"), "rc-num rc-less"],
];

export class GroupsTab {
  constructor(/** @type {import("../core/live.js").Live} */ live) {
    this.live = live;
    this.rows = new Map();
    this.open = param("group");
    this.table = h("table", { class: "rc-table rc-group-table" }, headRow(TITLES));
    this.empty = h("p", { class: "rc-nothing", hidden: true });
    const missing = page.grants.actions.create_group;
    const about = { action: "create_group", symbol: "add", label: gettext("New group"), missing, look: "rc-end" };
    replace(
      byId("rc-tab"),
      h(
        "section",
        { class: "rc-card rc-flush", "aria-label": gettext("Consumer groups") },
        h(
          "div",
          { class: "rc-toolbar" },
          h("span", { class: "rc-muted" }, gettext("Each group sees every entry; its members share them.")),
          guardedButton(about, () => newGroupDialog(() => {})),
        ),
        h("div", { class: "rc-scroll" }, this.table),
        this.empty,
      ),
    );
    onThemeChange(() => this.render());
  }

  take(/** @type {Live.TopicMessage} */ message) {
    if (message.type === "topic") this.frame = message;
  }

  render() {
    if (!this.frame) return;
    const { groups } = this.frame;
    const names = new Set(groups.map((group) => group.group));
    for (const [name, row] of this.rows)
      if (!names.has(name)) {
        row.remove();
        this.rows.delete(name);
      }
    for (const group of groups) {
      let row = this.rows.get(group.group);
      if (!row) {
        row = new GroupRow(group, this.live, (name) => this.toggle(name));
        this.rows.set(group.group, row);
        if (this.open === group.group) row.unfold(true);
      }
      row.update(group);
    }
    groups.forEach((group, at) => {
      const { element } = this.rows.get(group.group);
      if (this.table.tBodies[at] !== element) this.table.insertBefore(element, this.table.tBodies[at] ?? null);
    });
    this.empty.hidden = groups.length > 0;
    setText(this.empty, gettext("No consumer groups yet. A worker makes one with its listener, or make one here."));
  }

  toggle(/** @type {string} */ name) {
    this.open = this.open === name ? "" : name;
    setParams({ group: this.open });
    for (const [each, row] of this.rows) row.unfold(each === this.open);
  }
}

class GroupRow {
  /**
   * @param {Live.Group} group
   * @param {import("../core/live.js").Live} live
   * @param {(name: string) => void} onToggle
   */
  constructor(group, live, onToggle) {
    this.live = live;
    this.group = group;
    this.fold = h(
      "button",
      {
        type: "button",
        class: "rc-icon-button",
        "aria-expanded": "false",
        "aria-label": fill(gettext("Who works on %(group)s"), { group: group.group }),
        onclick: () => onToggle(group.group),
      },
      icon("expand_more"),
    );
    this.tag = h("span", {});
    this.marks = h("span", { class: "rc-topic-meta" });
    this.strip = h("canvas", { class: "rc-strip", role: "img" });
    this.cells = TITLES.slice(2).map(([, look]) => h("td", { class: look }));
    this.sentence = h("p", { class: "rc-muted" });
    this.pause = h("span", {});
    this.place = h("div", {});
    this.more = h("tr", { class: "rc-group-more", hidden: true }, h("td", { colspan: TITLES.length }, this.details()));
    this.element = h(
      "tbody",
      {},
      h(
        "tr",
        {},
        h(
          "th",
          { scope: "row", class: "rc-group-name" },
          h(
            "div",
            {},
            this.fold,
            h("a", { class: "rc-topic-link", href: topicAddress(group.name) }, group.group),
            this.tag,
          ),
          this.marks,
        ),
        h("td", { class: "rc-less" }, this.strip),
        this.cells,
      ),
      this.more,
    );
  }

  details() {
    const { actions } = page.grants;
    /**
     * @param {string} action
     * @param {string} symbol
     * @param {string} label
     * @param {() => void} act
     * @param {string} [look]
     */
    const button = (action, symbol, label, act, look = "rc-small") =>
      guardedButton({ action, symbol, label, missing: actions[action], look }, act);
    return [
      this.sentence,
      h(
        "div",
        { class: "rc-actions" },
        button("move_group", "move_down", gettext("Set position…"), () =>
          moveDialog(page.topic.name, this.group, () => {}),
        ),
        this.pause,
        button("edit_group", "tune", gettext("Settings…"), () => settingsDialog(this.group, () => {})),
        h("a", { class: "rc-button rc-small", href: topicAddress(this.group.name, "messages") }, gettext("Pending")),
        h("a", { class: "rc-button rc-small", href: topicAddress(this.group.name, "dead") }, gettext("Dead letters")),
        button(
          "delete_group",
          "delete_forever",
          gettext("Delete…"),
          () => deleteDialog(this.group, () => {}),
          "rc-small rc-danger",
        ),
      ),
      this.place,
    ];
  }

  unfold(/** @type {boolean} */ open) {
    this.more.hidden = !open;
    this.fold.setAttribute("aria-expanded", String(open));
    replace(this.fold, icon(open ? "expand_less" : "expand_more"));
    this.members?.close();
    this.members = open ? new Members(this.group, this.live, () => this.members?.load()) : undefined;
    replace(this.place, this.members?.element ?? null);
  }

  remove() {
    this.members?.close();
    this.element.remove();
  }

  update(/** @type {Live.Group} */ group) {
    const another = group.created_ms !== this.group.created_ms;
    this.group = group;
    if (another && this.members) this.unfold(true); // who works on that one
    const tag = courseTag(group.course);
    if (this.tag.firstElementChild?.outerHTML !== tag.outerHTML) replace(this.tag, tag);
    setText(this.sentence, this.words(group));
    this.showMarks(group);
    this.strip.setAttribute("aria-label", fill(gettext("Backlog of %(slots)s slots"), { slots: page.topic.slots }));
    drawStrip(this.strip, group.strip, heatColors());
    const words = [
      group.lag === null ? gettext("unknown") : count(group.lag),
      group.lag === 0 ? "–" : duration(group.lag_ms),
      count(group.in_flight) + (group.oldest_ms ? ` (${duration(group.oldest_ms)})` : ""),
      count(group.retrying),
      rate(group.in_s),
      rate(group.out_s),
      count(group.dead),
      count(group.missed),
      count(group.workers),
    ];
    for (const [at, text] of words.entries()) setText(this.cells[at], text);
    this.cells[0].title = group.lag === null ? "" : exact(group.lag);
    this.cells[6].classList.toggle("rc-bad", group.dead > 0);
    this.cells[7].classList.toggle("rc-bad", group.missed > 0);
    this.showPause(group);
  }

  words(/** @type {Live.Group} */ group) {
    const until = group.paused && group.paused_until_ms ? dateTime(group.paused_until_ms) : null;
    if (until) return fill(gettext("Paused until %(time)s; then it goes on by itself."), { time: until });
    return courseSentence(group.course);
  }

  showMarks(/** @type {Live.Group} */ group) {
    const marks = [
      group.durable ? null : gettext("not durable"),
      group.acks === "none" ? gettext("no acknowledgements") : null,
      group.waits ? gettext("waits for retries") : null,
      group.member ? fill(gettext("broadcast to %(worker)s"), { worker: group.member }) : null,
    ].filter(Boolean);
    setText(this.marks, marks.join(" · "));
  }

  showPause(/** @type {Live.Group} */ group) {
    const key = String(group.paused);
    if (this.pause.dataset.paused === key) return;
    this.pause.dataset.paused = key;
    const { actions } = page.grants;
    const look = "rc-small";
    const resume = { action: "resume", symbol: "play_circle", label: gettext("Resume group"), missing: actions.resume };
    const pause = { action: "pause", symbol: "pause_circle", label: gettext("Pause…"), missing: actions.pause };
    replace(
      this.pause,
      group.paused
        ? atOnce({ ...resume, look }, () => resumeGroup(this.group))
        : guardedButton({ ...pause, look }, () => pauseDialog(this.group, this.live.nowMs(), () => {})),
    );
  }
}
