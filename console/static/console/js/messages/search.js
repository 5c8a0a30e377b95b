// Looking for a message: by id at once, or in content step by step until it is stopped.
import { param, setParams } from "../core/address.js";
import { get, isStopped, ofTopic } from "../core/api.js";
import { h, setText } from "../core/dom.js";
import { exact } from "../core/format.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { STATES } from "../parts/states.js";
import { lookBack, lookingWords } from "./archived.js";
import { endWords, goneWords, journalAddress, keepsNoJournal } from "./gone.js";

/** @typedef {{ rows: Api.Row[], state: string, words: string }} Found */
/** @typedef {{ rows: Api.Row[], cursor: string | null, notJson: number }} SoFar */

export class Search {
  /**
   * `state()` to search in; `onFound({rows, state, words})` as results come; `onClear()` when the search ends.
   * @param {() => string} state
   * @param {(found: Found) => void} onFound
   * @param {() => void} onClear
   */
  constructor(state, onFound, onClear) {
    this.state = state;
    this.onFound = onFound;
    this.onClear = onClear;
    this.active = false;
    /** The id that was found. @type {string | null} */
    this.found = null;
    this.stop = new AbortController();
    /** What the archive was last asked for. @type {{ text: string, look: Promise<Api.ArchivedMessage> } | null} */
    this.archived = null;
    this.input = h("input", {
      type: "search",
      class: "rc-input",
      value: param("q"),
      placeholder: gettext("Id or text"),
      "aria-label": gettext("Find a message"),
      name: "q",
    });
    this.by = h(
      "select",
      { class: "rc-select", "aria-label": gettext("Look in"), name: "by" },
      h("option", { value: "id" }, gettext("by id")),
      h("option", { value: "content" }, gettext("in content")),
      h("option", { value: "where" }, gettext("by comparison")),
    );
    this.by.value = ["content", "where"].includes(param("by")) ? param("by") : "id";
    this.by.addEventListener("change", () => this.showExample());
    this.showExample();
    this.element = h(
      "form",
      { class: "rc-find", role: "search" },
      h("label", { class: "rc-search" }, this.input, h("kbd", {}, "/")),
      this.by,
      h("button", { class: "rc-button" }, gettext("Find")),
    );
    this.words = h("span");
    this.act = h("button", { type: "button", class: "rc-button rc-small", hidden: true });
    const back = h(
      "button",
      { type: "button", class: "rc-button rc-small", onclick: () => this.end() },
      gettext("Back to the list"),
    );
    this.progress = h("div", { class: "rc-search-progress", role: "status", hidden: true }, this.words, this.act, back);
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.start();
    });
    this.input.addEventListener("input", () => this.input.value === "" && this.active && this.end());
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.end();
      this.input.blur();
    });
    if (this.input.value) queueMicrotask(() => this.start());
  }

  showExample() {
    this.input.placeholder = this.by.value === "where" ? "order.total > 100" : gettext("Id or text");
  }

  clear() {
    this.stop.abort();
    this.active = false;
    this.found = null;
    this.progress.hidden = true;
    this.input.value = "";
    setParams({ q: "", by: "" });
  }

  end() {
    if (!this.active) return;
    this.clear();
    this.onClear();
  }

  /** A message found by its id moves on by itself; a search in content is work, and is not repeated unasked. */
  refresh() {
    const { found } = this;
    if (found) this.tell(() => this.byId(found));
  }

  async start() {
    const text = this.input.value.trim();
    if (!text) return this.end();
    this.found = null;
    this.stop.abort();
    this.stop = new AbortController();
    this.active = true;
    setParams({ q: text, by: this.by.value }, { by: "id" });
    await this.tell(() =>
      this.by.value === "id" ? this.byId(text) : this.inContent(this.wanted(text), this.stop.signal),
    );
  }

  /** @returns {Record<string, string>} */
  wanted(/** @type {string} */ text) {
    return this.by.value === "where" ? { where: text } : { text };
  }

  async byId(/** @type {string} */ text) {
    const path = ofTopic(page.topic.name, "/messages:find");
    /** @type {Api.Known} */
    const { messages, records } = await get(path, { id: text }, this.stop.signal);
    if (!this.active) return;
    this.found = text;
    const state = messages[0]?.state ?? this.state();
    const archived = !messages.length && !records.length;
    if (!archived) this.say(messages.length ? foundWords(messages) : goneWords(records));
    this.onFound({ rows: messages.filter((message) => message.state === state).map(asRow), state, words: "" });
    if (archived) await this.inArchive(text, this.stop.signal);
  }

  /** An id that neither the queue nor the record knows; looked for once, however often the list is refreshed. */
  async inArchive(/** @type {string} */ text, /** @type {AbortSignal} */ signal) {
    const stop = /** @type {[string, () => void]} */ ([gettext("Stop"), () => this.end()]);
    if (this.archived?.text !== text) {
      this.say(lookingWords(null), stop);
      const look = lookBack(text, signal, (step) => this.active && this.say(lookingWords(step), stop));
      this.archived = { text, look };
      look.catch(() => {
        this.archived = null;
      });
    }
    const found = await this.archived.look;
    if (!this.active) return;
    if (!found.lives.length) {
      const on = () => location.assign(journalAddress());
      return this.say(goneWords([]), keepsNoJournal() ? [gettext("Switch the journal on"), on] : null);
    }
    const open = () =>
      location.assign(`${topicAddress(page.topic.name, "message")}?${new URLSearchParams({ id: text })}`);
    this.say(`${found.lives.map(({ record }) => endWords(record)).join("; ")}.`, [gettext("Open as page"), open]);
  }

  async inContent(
    /** @type {Record<string, string>} */ wanted,
    /** @type {AbortSignal} */ signal,
    { rows, cursor, notJson } = /** @type {{ rows: any[], cursor: any, notJson: number }} */ ({
      rows: [],
      cursor: null,
      notJson: 0,
    }),
  ) {
    const state = this.state();
    this.onFound({ rows, state, words: gettext("Searching…") });
    do {
      /** @type {Api.Found} */
      const step = await get(ofTopic(page.topic.name, "/messages:search"), { ...wanted, state, cursor }, signal);
      rows = [...rows, ...step.rows];
      cursor = step.next;
      notJson += step.not_json;
      this.onFound({ rows, state, words: gettext("Nothing found.") });
      const looked = lookedWords(step, rows.length, notJson);
      const soFar = { rows, cursor, notJson };
      this.say(looked, cursor ? [gettext("Stop"), () => this.halt(wanted, looked, soFar)] : null);
    } while (cursor && !signal.aborted);
  }

  /**
   * @param {Record<string, string>} wanted
   * @param {string} looked
   * @param {SoFar} soFar
   */
  halt(wanted, looked, soFar) {
    this.stop.abort();
    this.say(`${looked} ${gettext("Stopped.")}`, [gettext("Go on"), () => this.goOn(wanted, soFar)]);
  }

  /** From where it was stopped. */
  async goOn(/** @type {Record<string, string>} */ wanted, /** @type {SoFar} */ soFar) {
    this.stop = new AbortController();
    await this.tell(() => this.inContent(wanted, this.stop.signal, soFar));
  }

  async tell(/** @type {() => Promise<void>} */ search) {
    try {
      await search();
    } catch (problem) {
      if (!isStopped(problem)) this.say(messageOf(problem));
    }
  }

  /** The buttons stay where they are while the words change, so that they can be pressed. */
  say(/** @type {string} */ words, button = /** @type {any[] | null} */ (null)) {
    this.progress.hidden = false;
    setText(this.words, words);
    this.act.hidden = !button;
    setText(this.act, button?.[0] ?? "");
    this.act.onclick = button?.[1] ?? null;
  }
}

/**
 * @param {Api.Found} step
 * @param {number} found
 * @param {number} notJson
 */
function lookedWords(step, found, notJson) {
  const values = {
    n: exact(step.looked_at),
    all: exact(Math.max(step.total, step.looked_at)),
    found: exact(found),
    other: exact(notJson),
  };
  return notJson
    ? fill(gettext("Looked at %(n)s of %(all)s, of which %(other)s are no JSON; %(found)s found."), values)
    : fill(gettext("Looked at %(n)s of %(all)s; %(found)s found."), values);
}

function foundWords(/** @type {Api.Message[]} */ messages) {
  const places = messages.map((message) => message.states.map((state) => STATES[state] ?? state).join(", "));
  return fill(gettext("Found: %(state)s."), { state: places.join("; ") });
}

function asRow(/** @type {Api.Message} */ message) {
  return {
    ...message,
    preview: message.content?.slice(0, 256) ?? null,
    error: message.failure ? [message.failure.error, message.failure.message].filter(Boolean).join(": ") : null,
  };
}
