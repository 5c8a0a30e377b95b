// Acting on all messages that match: which, how many of them, what to do and how carefully; the server does the rest.
import { mayPass, ofTopic, post } from "../core/api.js";
import { h, icon, press, replace, setText } from "../core/dom.js";
import { bytes, exact, time } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf, ngettext } from "../core/text.js";
import { VERBS } from "../parts/actions.js";
import { ask } from "../parts/ask.js";
import { newValue } from "../parts/newvalue.js";
import { ACTIONS_OF } from "../parts/states.js";
import { costLines } from "./bulkcost.js";
import { exportMenu } from "./bulkexport.js";
import { FilterFields } from "./bulkfilter.js";
import { OPERATION_ACTIONS, querySentence } from "./operationwords.js";

/** @typedef {{ filter?: Record<string, any>, action?: string | null }} Given */
/** @typedef {{ name: string, timed?: boolean, slots?: number }} Of */

const PAUSE_MS = 350;
/** So long after nobody answered. */
const AGAIN_MS = 3000;
const DANGEROUS = new Set(["cancel", "drop"]);
/** @type {Record<string, string>} */
const SAY = {
  cancel: gettext("Taken out of the queue, never delivered. It can be undone for a while."),
  run_now: gettext("Ready at once, whatever the due time was."),
  reschedule: gettext("All of them get the same new time or priority."),
  requeue: gettext("Delivered again, with all retries."),
  drop: gettext("Removed. It can be undone for a while."),
  restore: gettext("Back to where they were before they were removed."),
};

/** A button that opens the dialog. `given()`: {filter, action} to begin with. */
export function bulkButton(
  /** @type {Of} */ topic,
  /** @type {string[]} */ states,
  /** @type {() => Given} */ given,
  label = gettext("All matching…"),
) {
  return h(
    "button",
    { type: "button", class: "rc-button", dataset: { bulk: "" }, onclick: () => openBulk(topic, states, given()) },
    icon("checklist"),
    label,
  );
}

/**
 * `topic`: {name, timed?, slots?}; `states`: those to choose from; `given`: {filter, action} to begin with.
 * @param {Of} topic
 * @param {string[]} states
 * @param {Given} given
 */
export function openBulk(topic, states, given) {
  new BulkDialog(topic, states, given).changed(0);
}

class BulkDialog {
  /**
   * @param {Of} topic
   * @param {string[]} states
   * @param {Given} given
   */
  constructor(topic, states, { filter = {}, action = null }) {
    this.topic = topic;
    this.asked = 0;
    this.timer = 0;
    /** @type {Api.Preview | null} */
    this.found = null;
    this.action = "";
    this.shownFor = "";
    this.fields = new FilterFields(states, filter, topic.slots, page.grants.payload, () => this.changed());
    this.actions = h("div", { class: "rc-segments", role: "group", "aria-label": gettext("Action") });
    this.wantedAction = action;
    this.say = h("p", { class: "rc-muted" });
    this.value = h("div", { hidden: true });
    this.seen = h("div", { class: "rc-preview", role: "status", "aria-live": "polite" });
    /**
     * @param {string} name
     * @param {number} max
     * @param {string} placeholder
     */
    const number = (name, max, placeholder) =>
      h("input", {
        class: "rc-input",
        type: "number",
        min: 0,
        max,
        step: 1,
        name,
        placeholder,
        onchange: () => this.changed(),
      });
    this.rate = number("rate_per_s", 1_000_000, gettext("as fast as possible"));
    this.spread = number("spread", 10_080, gettext("at once"));
    this.canary = number("canary", 1000, gettext("none"));
    this.canaryLabel = h("label", {}, gettext("Canary: so many first, the rest if they succeed"), this.canary);
    this.overdue = h("input", { type: "checkbox", name: "overdue", checked: true, onchange: () => this.changed(0) });
    this.overdueLabel = h(
      "label",
      { class: "rc-check" },
      this.overdue,
      gettext("Also messages whose time has gone by: they are delivered at once"),
    );
    this.ask = ask({
      title: fill(gettext("All matching messages of %(topic)s"), { topic: this.topic.name }),
      body: [
        this.actions,
        this.say,
        this.value,
        h("h3", {}, gettext("Which messages")),
        this.fields.element,
        this.overdueLabel,
        this.seen,
        h("h3", {}, gettext("How")),
        h(
          "div",
          { class: "rc-fields" },
          this.canaryLabel,
          h("label", {}, gettext("Spread over minutes"), this.spread),
          h("label", {}, gettext("At most so many a second"), this.rate),
        ),
      ],
      label: gettext("Start"),
      wide: true,
      confirmWord: this.topic.name,
      confirmLabel: gettext("Many at once: type the topic's name, %(name)s"),
      focus: this.fields.text,
      submit: (given) => this.start(given),
      closed: () => {
        clearTimeout(this.timer);
        this.asked += 1;
      },
    });
  }

  /** The actions for the state that is chosen; one may not do them all. */
  showActions() {
    const state = this.fields.state.value;
    if (state === this.shownFor) return;
    this.shownFor = state;
    const names = ACTIONS_OF[state];
    const may = names.filter((name) => !page.grants.actions[name]);
    const wanted = [this.action, this.wantedAction].find((name) => name && names.includes(name)) ?? may[0] ?? names[0];
    replace(
      this.actions,
      names.map((name) =>
        h(
          "button",
          {
            type: "button",
            dataset: { name },
            "aria-disabled": page.grants.actions[name] ? "true" : null,
            title: page.grants.actions[name],
            onclick: () => this.choose(name),
          },
          OPERATION_ACTIONS[name],
        ),
      ),
    );
    this.choose(wanted, false);
  }

  choose(/** @type {string} */ name, /** @type {boolean} */ look = true) {
    this.action = name;
    press(this.actions, name);
    setText(this.say, SAY[name]);
    this.canaryLabel.hidden = name !== "requeue";
    if (name !== "requeue") this.canary.value = "";
    this.overdueLabel.hidden = name !== "restore" || this.topic.timed === false;
    this.newValue = name === "reschedule" ? newValue(this.topic) : null;
    this.value.hidden = !this.newValue;
    replace(this.value, this.newValue?.element);
    this.ask.button.classList.toggle("rc-danger", DANGEROUS.has(name));
    if (look) this.changed(0);
  }

  changed(/** @type {number} */ pause = PAUSE_MS) {
    this.showActions();
    this.found = null;
    this.asked += 1;
    this.allow();
    replace(this.seen, h("p", { class: "rc-muted" }, gettext("Counting…")));
    clearTimeout(this.timer);
    const asked = this.asked;
    this.timer = setTimeout(() => this.look(asked), pause);
  }

  async look(/** @type {number} */ asked) {
    const missing = page.grants.actions[this.action];
    if (missing) {
      replace(this.seen, h("p", { class: "rc-error" }, missing));
      return;
    }
    const filter = this.fields.read();
    try {
      /** @type {Api.Preview} */
      const found = await this.post({ validate_only: true, ...this.pace() });
      if (asked !== this.asked) return;
      this.found = found;
      this.showFound(found, filter);
    } catch (problem) {
      if (asked !== this.asked) return;
      replace(this.seen, h("p", { class: "rc-error" }, messageOf(problem)));
      if (mayPass(problem)) this.timer = setTimeout(() => this.look(asked), AGAIN_MS);
    }
    this.allow();
  }

  showFound(/** @type {Api.Preview} */ found, /** @type {Record<string, any>} */ filter) {
    replace(
      this.seen,
      h("p", {}, h("strong", {}, this.amount(found)), h("span", { class: "rc-muted" }, ` ${asOf(found.as_of_ms)}`)),
      h("p", { class: "rc-muted" }, querySentence(filter)),
      found.count ? costLines(found.cost) : null,
      found.expires_first ? h("p", { class: "rc-warning" }, this.leaves(found)) : null,
      found.purges ? h("p", { class: "rc-warning" }, gettext("This takes everything: no filter limits it.")) : null,
      found.examples.length
        ? h(
            "ul",
            { class: "rc-examples" },
            found.examples
              .slice(0, 5)
              .map((row) =>
                h(
                  "li",
                  {},
                  h("span", { class: "rc-mono" }, row.id ?? gettext("(hidden)")),
                  h("span", { class: "rc-muted" }, ` ${row.error ?? bytes(row.size)}`),
                ),
              ),
          )
        : null,
      filter.state === "dead" && found.count
        ? h("div", { class: "rc-actions" }, exportMenu(this.topic.name, filter))
        : null,
    );
  }

  /** How many it would meet, and how sure that is. */
  amount(/** @type {Api.Preview} */ found) {
    const n = exact(found.count);
    if (this.withoutOverdue && found.count)
      return fill(gettext("At most %(n)s messages: those whose time has gone by are left out."), { n });
    if (found.exact) return fill(ngettext("%(n)s message matches.", "%(n)s messages match.", found.count), { n });
    return fill(gettext("About %(n)s messages match: estimated from %(looked)s of %(all)s."), {
      n,
      looked: exact(found.looked_at),
      all: exact(found.total),
    });
  }

  /** How many would be left, for their time is over before they could be delivered. */
  leaves(/** @type {Api.Preview} */ found) {
    const n = found.expires_first;
    const words = ngettext(
      "Of the first %(looked)s, %(n)s expires before it could be delivered, and is left as it is.",
      "Of the first %(looked)s, %(n)s expire before they could be delivered, and are left as they are.",
      n,
    );
    return fill(words, { looked: exact(found.expires_looked_at), n: exact(n) });
  }

  get withoutOverdue() {
    return !this.overdueLabel.hidden && !this.overdue.checked;
  }

  /** Beside a choice of actions, “Start” alone does not say that nothing has happened yet. */
  allow() {
    const action = OPERATION_ACTIONS[this.action];
    setText(
      this.ask.button,
      this.found?.count
        ? fill(gettext("Start: %(action)s · %(n)s"), { action, n: exact(this.found.count) })
        : fill(gettext("Start: %(action)s"), { action }),
    );
    const missing = page.grants.actions[this.action] ?? (this.found?.purges ? page.grants.actions.purge : null);
    this.ask.needsWord(Boolean(this.found?.confirm));
    this.ask.hold(Boolean(missing) || !this.found?.count);
    this.ask.button.title = missing ?? "";
  }

  async start(/** @type {{ reason: string, confirm: string }} */ given) {
    /** @type {Api.OperationView} */
    const operation = await this.post({
      ...given,
      ...this.pace(),
      ...(this.action === "requeue" ? { canary: Number(this.canary.value) } : {}),
      ...this.newValue?.read(),
    });
    location.assign(`${page.places.operations}${operation.id}/`);
    return false;
  }

  pace() {
    return { rate_per_s: Number(this.rate.value), spread_ms: Math.round(60_000 * Number(this.spread.value)) };
  }

  /** Where the action says which state it is about, the filter does not. */
  post(/** @type {object} */ body) {
    const { state, ...rest } = this.fields.read();
    const filter = ["dead", "trash"].includes(state) ? rest : { state, ...rest };
    const only = this.withoutOverdue ? { overdue: false } : {};
    return post(ofTopic(this.topic.name, VERBS[this.action]), { filter, ...only, ...body });
  }
}

const asOf = (/** @type {number} */ ms) => fill(gettext("as of %(time)s"), { time: time(ms) });
