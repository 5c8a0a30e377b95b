// Which topics are shown, in which order, in which groups. All of it lives in the address.
import { param, setParams } from "../core/address.js";
import { all, focusedElement, h, replace, setText } from "../core/dom.js";
import { shortcut } from "../core/keys.js";
import { language } from "../core/page.js";
import { gettext } from "../core/text.js";
import { CHIPS } from "../parts/problems.js";
import { anyFavourites, isFavourite } from "./favourites.js";
import { KINDS, SORTABLE } from "./topictable.js";

/** @typedef {Live.TopicLine} Topic */
/** `title` null: of what stands in no group. @typedef {{ name: string, title: string | null, topics: Topic[], folded: boolean }} Group */

const GROUP_FROM = 12;
const names = new Intl.Collator(language, { numeric: true });

export class TopicFilter {
  constructor(/** @type {() => void} */ onChange) {
    this.onChange = onChange;
    this.chipsShown = "";
    this.text = param("q");
    this.problem = param("problem");
    this.sort = SORTABLE.includes(param("sort").replace(/^-/, "")) ? param("sort") : "name";
    this.group = param("group") in GROUPINGS ? param("group") : "";
    this.favourites = param("favourites");
    this.folded = new Set(param("folded").split(",").filter(Boolean));
    this.input = h("input", {
      type: "search",
      class: "rc-input",
      value: this.text,
      placeholder: gettext("Filter topics"),
      "aria-label": gettext("Filter topics"),
      oninput: () => this.change({ text: this.input.value }),
    });
    this.input.addEventListener("keydown", (event) => event.key === "Escape" && this.input.blur());
    this.groupChoice = h(
      "select",
      {
        class: "rc-select",
        "aria-label": gettext("Groups"),
        onchange: () => this.change({ group: this.groupChoice.value, folded: new Set() }),
      },
      Object.entries(GROUPINGS).map(([value, [words]]) => h("option", { value }, words)),
    );
    this.star = h(
      "button",
      { type: "button", class: "rc-chip", onclick: () => this.change({ favourites: this.favourites ? "" : "yes" }) },
      gettext("Favourites"),
    );
    this.chips = h("div", { class: "rc-chips", role: "group", "aria-label": gettext("Problems") });
    this.shownCount = h("span", { class: "rc-muted" });
    this.element = h(
      "div",
      { class: "rc-toolbar" },
      h("label", { class: "rc-search" }, this.input, h("kbd", {}, "/")),
      this.star,
      this.chips,
      this.groupChoice,
      this.shownCount,
    );
    shortcut("/", gettext("Search"), () => this.input.focus());
  }

  /**
   * @param {Partial<Pick<TopicFilter, "text" | "problem" | "sort" | "group" | "favourites" | "folded">>} values
   */
  change(values) {
    Object.assign(this, values);
    const { text: q, problem, sort, group, favourites } = this;
    setParams({ q, problem, sort, group, favourites, folded: [...this.folded].join() }, { sort: "name" });
    this.onChange();
  }

  sortBy(/** @type {string} */ name) {
    // Numbers are most interesting when large, names from A to Z.
    const first = name === "name" ? "name" : `-${name}`;
    this.change({ sort: this.sort === first ? (name === "name" ? "-name" : name) : first });
  }

  fold(/** @type {string} */ name) {
    const folded = new Set(this.folded);
    if (!folded.delete(name)) folded.add(name);
    this.change({ folded });
  }

  /**
   * Groups of what is to be shown.
   * @returns {Group[]}
   */
  apply(/** @type {Topic[]} */ topics) {
    this.showChips(topics);
    const wanted = this.text.trim().toLowerCase();
    const shown = topics.filter(
      (topic) =>
        topic.name.toLowerCase().includes(wanted) &&
        (!this.problem || topic.problems.includes(this.problem)) &&
        (!this.favourites || isFavourite(topic.name)),
    );
    shown.sort((one, other) => this.compare(one, other));
    const grouping = this.group || (topics.length >= GROUP_FROM ? "yes" : "no");
    this.groupChoice.value = grouping;
    this.star.hidden = !anyFavourites() && !this.favourites;
    this.star.setAttribute("aria-pressed", String(Boolean(this.favourites)));
    setText(this.shownCount, shown.length === topics.length ? "" : `${shown.length} / ${topics.length}`);
    const [, gathered] = GROUPINGS[grouping];
    return gathered(shown).map((group) => ({ ...group, folded: this.folded.has(group.name) }));
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

/** @typedef {Omit<Group, "folded">} Gathered */

/** The values of `group` in the address; yes is what it was when there was one way alone.
    @type {Record<string, [string, (topics: Topic[]) => Gathered[]]>} */
const GROUPINGS = {
  no: [gettext("Not grouped"), (topics) => [{ name: "", title: null, topics }]],
  yes: [gettext("Group by prefix"), byPrefix],
  kind: [gettext("Group by kind"), byKind],
};

/** @type {(topics: Topic[]) => Gathered[]} */
function byKind(topics) {
  const groups = gather(topics, (topic) => topic.kind);
  return Object.keys(KINDS).flatMap((kind) => {
    const some = groups.get(kind);
    return some ? [{ name: kind, title: KINDS[kind], topics: some }] : [];
  });
}

/** Topics whose names share the part before the first separator stand together. @type {(topics: Topic[]) => Gathered[]} */
function byPrefix(topics) {
  const groups = [...gather(topics, (topic) => topic.name.split(/[._-]/, 1)[0])];
  const alone = groups.flatMap(([, some]) => (some.length === 1 ? some : []));
  const named = groups
    .filter(([, some]) => some.length > 1)
    .map(([name, some]) => ({ name, title: name, topics: some }));
  const others = { name: "-", title: named.length ? gettext("others") : null, topics: alone };
  return alone.length ? [...named, others] : named;
}

/** @type {(topics: Topic[], of: (topic: Topic) => string) => Map<string, Topic[]>} */
function gather(topics, of) {
  /** @type {Map<string, Topic[]>} */
  const groups = new Map();
  for (const topic of topics) {
    const some = groups.get(of(topic));
    if (some) some.push(topic);
    else groups.set(of(topic), [topic]);
  }
  return groups;
}
