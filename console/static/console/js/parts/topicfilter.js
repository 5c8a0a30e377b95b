// Which topics are shown, in which order, in which groups. All of it lives in the address.
import { param, setParams } from "../core/address.js";
import { all, focusedElement, h, replace, setText } from "../core/dom.js";
import { shortcut } from "../core/keys.js";
import { language } from "../core/page.js";
import { gettext } from "../core/text.js";
import { CHIPS } from "./problems.js";
import { SORTABLE } from "./topictable.js";

/** @typedef {Live.TopicLine} Topic */
/** @typedef {[string | null, Topic[]]} Group */

const GROUP_FROM = 12;
const names = new Intl.Collator(language, { numeric: true });

export class TopicFilter {
  constructor(/** @type {() => void} */ onChange) {
    this.onChange = onChange;
    this.chipsShown = "";
    this.text = param("q");
    this.problem = param("problem");
    this.sort = SORTABLE.includes(param("sort").replace(/^-/, "")) ? param("sort") : "name";
    this.group = param("group");
    this.input = h("input", {
      type: "search",
      class: "rc-input",
      value: this.text,
      placeholder: gettext("Filter topics"),
      "aria-label": gettext("Filter topics"),
      oninput: () => this.change({ text: this.input.value }),
    });
    this.input.addEventListener("keydown", (event) => event.key === "Escape" && this.input.blur());
    this.groupButton = h(
      "button",
      { type: "button", class: "rc-chip", onclick: () => this.change({ group: this.grouped ? "no" : "yes" }) },
      gettext("Group by prefix"),
    );
    this.chips = h("div", { class: "rc-chips", role: "group", "aria-label": gettext("Problems") });
    this.shownCount = h("span", { class: "rc-muted" });
    this.element = h(
      "div",
      { class: "rc-toolbar" },
      h("label", { class: "rc-search" }, this.input, h("kbd", {}, "/")),
      this.chips,
      this.groupButton,
      this.shownCount,
    );
    shortcut("/", gettext("Search"), () => this.input.focus());
  }

  /**
   * @param {Partial<Pick<TopicFilter, "text" | "problem" | "sort" | "group">>} values
   */
  change(values) {
    Object.assign(this, values);
    setParams({ q: this.text, problem: this.problem, sort: this.sort, group: this.group }, { sort: "name" });
    this.onChange();
  }

  sortBy(/** @type {string} */ name) {
    // Numbers are most interesting when large, names from A to Z.
    const first = name === "name" ? "name" : `-${name}`;
    this.change({ sort: this.sort === first ? (name === "name" ? "-name" : name) : first });
  }

  /**
   * Groups of what is to be shown.
   * @returns {Group[]}
   */
  apply(/** @type {Topic[]} */ topics) {
    this.showChips(topics);
    const wanted = this.text.trim().toLowerCase();
    const shown = topics.filter(
      (topic) => topic.name.toLowerCase().includes(wanted) && (!this.problem || topic.problems.includes(this.problem)),
    );
    shown.sort((one, other) => this.compare(one, other));
    this.grouped = this.group ? this.group === "yes" : topics.length >= GROUP_FROM;
    this.groupButton.setAttribute("aria-pressed", String(this.grouped));
    setText(this.shownCount, shown.length === topics.length ? "" : `${shown.length} / ${topics.length}`);
    return this.grouped ? byPrefix(shown) : [[null, shown]];
  }

  compare(/** @type {Topic} */ one, /** @type {Topic} */ other) {
    const name = this.sort.replace(/^-/, "");
    const sign = this.sort.startsWith("-") ? -1 : 1;
    const byName = names.compare(one.name, other.name);
    return name === "name" ? sign * byName : sign * (number(one, name) - number(other, name)) || byName;
  }

  showChips(/** @type {Topic[]} */ topics) {
    /** @type {[string, number][]} */
    const counts = Object.keys(CHIPS).map((code) => [
      code,
      topics.filter((topic) => topic.problems.includes(code)).length,
    ]);
    const key = JSON.stringify([counts, this.problem]);
    if (key === this.chipsShown) return;
    this.chipsShown = key;
    const focused = focusedElement()?.dataset?.code;
    replace(
      this.chips,
      counts
        .filter(([code, number]) => number || code === this.problem)
        .map(([code, number]) =>
          h(
            "button",
            {
              type: "button",
              class: "rc-chip",
              dataset: { code },
              "aria-pressed": String(this.problem === code),
              onclick: () => this.change({ problem: this.problem === code ? "" : code }),
            },
            `${CHIPS[code]} `,
            h("b", {}, String(number)),
          ),
        ),
    );
    if (focused) all(this.chips, `[data-code="${focused}"]`)[0]?.focus();
  }
}

/** A figure of a topic; what is not known comes before all that is. */
const number = (/** @type {Topic} */ topic, /** @type {string} */ name) =>
  Number(topic[/** @type {keyof Live.Numbers} */ (name)] ?? -1);

/**
 * Topics whose names share the part before the first separator stand together.
 * @returns {Group[]}
 */
function byPrefix(/** @type {Topic[]} */ topics) {
  /** @type {Map<string, Topic[]>} */
  const groups = new Map();
  for (const topic of topics) {
    const prefix = topic.name.split(/[._-]/, 1)[0];
    groups.set(prefix, [...(groups.get(prefix) ?? []), topic]);
  }
  const alone = [...groups.values()].filter((group) => group.length === 1).flat();
  /** @type {Group[]} */
  const named = [...groups].filter(([, group]) => group.length > 1);
  return alone.length ? [...named, [named.length ? gettext("others") : null, alone]] : named;
}
