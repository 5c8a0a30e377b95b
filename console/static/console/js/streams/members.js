// Who takes from a consumer group and what each has; and who owns which of its slots.
import { get, ofTopic } from "../core/api.js";
import { h, headRow, replace, setText } from "../core/dom.js";
import { count, duration, rate } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { guardedButton } from "../parts/guardedbutton.js";
import { claimDialog } from "./groupactions.js";

const REFRESH_MS = 3000;

export class Members {
  /**
   * `live`: says when to stand still; `onDone()` after a claim.
   * @param {import("./groupactions.js").Of} group
   * @param {import("../core/live.js").Live} live
   * @param {() => void} onDone
   */
  constructor(group, live, onDone) {
    this.group = group;
    this.live = live;
    this.onDone = onDone;
    this.body = h("tbody");
    this.note = h("p", { class: "rc-muted" }, gettext("Loading…"));
    this.owners = h("p", { class: "rc-muted rc-owners" });
    const titles = [
      gettext("Member"),
      [gettext("In flight"), "rc-num"],
      [gettext("Oldest"), "rc-num"],
      [gettext("Slots"), "rc-less"],
      [gettext("Acked/s"), "rc-num rc-less"],
      [gettext("Acked"), "rc-num rc-less"],
      [gettext("Failed"), "rc-num rc-less"],
      [gettext("Last seen"), "rc-num rc-less"],
      h("span", { class: "rc-sr" }, gettext("Actions")),
    ];
    this.table = h(
      "div",
      { class: "rc-scroll", hidden: true },
      h("table", { class: "rc-table" }, headRow(titles), this.body),
    );
    this.element = h("div", { class: "rc-members" }, this.table, this.note, this.owners);
    this.load();
    this.timer = setInterval(() => this.load(), REFRESH_MS);
  }

  close() {
    clearInterval(this.timer);
  }

  async load() {
    if (!this.element.isConnected && this.loaded) return this.close();
    if (this.loaded && (this.live.paused || document.hidden || document.querySelector("dialog[open]"))) return;
    this.loaded = true;
    try {
      const [{ members, as_of_ms }, { slots }] = await Promise.all([
        get(ofTopic(page.topic.name, `/groups/${this.group.group}/members`)),
        get(ofTopic(this.group.name, "/slots")),
      ]);
      this.show(members, as_of_ms);
      this.showOwners(slots);
    } catch (problem) {
      setText(this.note, messageOf(problem));
      this.note.hidden = false;
    }
  }

  show(/** @type {Api.GroupMember[]} */ members, /** @type {number} */ nowMs) {
    this.table.hidden = !members.length;
    this.note.hidden = members.length > 0;
    setText(this.note, gettext("Nobody has taken from it lately."));
    const focused = this.body.contains(document.activeElement)
      ? document.activeElement?.closest("tr")?.dataset.member
      : null;
    replace(
      this.body,
      members.map((member) => this.line(member, nowMs)),
    );
    if (focused !== null && focused !== undefined)
      [...this.body.rows]
        .find((row) => row.dataset.member === focused)
        ?.querySelector("button")
        ?.focus();
  }

  line(/** @type {Api.GroupMember} */ member, /** @type {number} */ nowMs) {
    const ago = (/** @type {number | null} */ ms) => (ms === null ? "–" : duration(Math.max(0, nowMs - ms)));
    const state =
      member.alive === null ? null : member.alive ? [gettext("running"), "good"] : [gettext("lost"), "dead"];
    const missing = page.grants.actions.claim;
    const about = { action: "claim", symbol: "back_hand", label: gettext("Claim"), missing, look: "rc-small" };
    return h(
      "tr",
      { dataset: { member: member.name } },
      h(
        "th",
        { scope: "row" },
        h("span", {}, member.name || gettext("(no name)")),
        " ",
        state ? h("span", { class: `rc-tag rc-tag-${state[1]}` }, state[0]) : null,
      ),
      h("td", { class: "rc-num" }, count(member.in_flight)),
      h("td", { class: "rc-num" }, ago(member.oldest_taken_ms)),
      h("td", { class: "rc-mono rc-less" }, member.slots || "–"),
      h("td", { class: "rc-num rc-less" }, rate(member.acked_per_s)),
      h("td", { class: "rc-num rc-less" }, count(member.acked)),
      h("td", { class: "rc-num rc-less" }, count(member.failed)),
      h("td", { class: "rc-num rc-less" }, ago(member.seen_ms)),
      h(
        "td",
        { class: "rc-row-end" },
        member.in_flight ? guardedButton(about, () => claimDialog(this.group, member.name, () => this.onDone())) : null,
      ),
    );
  }

  /** Who owns which slots, where they are owned. */
  showOwners(/** @type {Api.SlotLine[]} */ slots) {
    const of = new Map();
    for (const { owner, epoch, slot } of slots) {
      if (epoch === null) continue;
      const name = owner ?? gettext("nobody");
      of.set(name, [...(of.get(name) ?? []), slot]);
    }
    const words = [...of].map(([name, some]) => `${name}: ${ranges(some)}`);
    setText(
      this.owners,
      words.length
        ? fill(gettext("Owners of the slots: %(owners)s"), { owners: words.join(" · ") })
        : gettext("Its slots are shared: every worker takes from every slot."),
    );
  }
}

/** "0-7,12" of numbers in order. */
export function ranges(/** @type {number[]} */ numbers) {
  /** @type {number[][]} */
  const found = [];
  for (const number of numbers) {
    const last = found.at(-1);
    if (last && last[1] === number - 1) last[1] = number;
    else found.push([number, number]);
  }
  return found.map(([low, high]) => (low === high ? String(low) : `${low}-${high}`)).join(",");
}
