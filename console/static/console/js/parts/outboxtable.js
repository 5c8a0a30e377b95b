// The outbox of each database: how much waits in it, for how long, and what failed.
import { h, headRow, replace } from "../core/dom.js";
import { count, duration } from "../core/format.js";
import { gettext } from "../core/text.js";

const LAG_ALARM = 10;
const [WAITING, FAILING] = [gettext("Waiting"), gettext("After a failure")];
const [PARKED, LAG] = [gettext("Parked"), gettext("Lag")];

export class OutboxTable {
  /**
   * `chosen()`: the name of the database that is shown; `choose(name)`: show another.
   * @param {() => string} chosen
   * @param {(name: string) => void} choose
   * @param {number} lagWarningMs
   */
  constructor(chosen, choose, lagWarningMs) {
    this.chosen = chosen;
    this.choose = choose;
    this.lagWarningMs = lagWarningMs;
    this.body = h("tbody");
    this.element = h(
      "section",
      { class: "rc-card rc-flush", "aria-label": gettext("Databases") },
      h(
        "div",
        { class: "rc-scroll" },
        h(
          "table",
          { class: "rc-table rc-blocks" },
          headRow([
            gettext("Database"),
            ...[WAITING, FAILING, PARKED, LAG].map((title) => [title, "rc-num"]),
            gettext("State"),
          ]),
          this.body,
        ),
      ),
    );
  }

  update(/** @type {Api.Outbox[]} */ outboxes) {
    replace(
      this.body,
      outboxes.map((each) => this.line(each)),
    );
  }

  line(/** @type {Api.Outbox} */ outbox) {
    const number = (/** @type {string} */ title, /** @type {string} */ words) =>
      h("td", { class: "rc-num", dataset: { title } }, outbox.problem ? "–" : words);
    const button = h(
      "button",
      {
        type: "button",
        class: "rc-link",
        "aria-pressed": String(outbox.database === this.chosen()),
        onclick: () => this.choose(outbox.database),
      },
      outbox.database,
    );
    const [look, words] = this.state(outbox);
    return h(
      "tr",
      {},
      h("th", { scope: "row", class: "rc-whole" }, button),
      number(WAITING, count(outbox.waiting)),
      number(FAILING, count(outbox.failing)),
      number(PARKED, count(outbox.parked)),
      number(LAG, duration(outbox.lag_ms)),
      h(
        "td",
        {},
        h("span", { class: `rc-tag rc-tag-${look}` }, words),
        outbox.capped ? [" ", h("span", { class: "rc-muted" }, gettext("more than is counted"))] : null,
        outbox.problem ? h("div", { class: "rc-muted" }, outbox.problem) : null,
      ),
    );
  }

  state(/** @type {Api.Outbox} */ outbox) {
    if (outbox.problem) return ["dead", gettext("Cannot be read")];
    if (outbox.lag_ms > LAG_ALARM * this.lagWarningMs) return ["dead", gettext("Lagging")];
    if (outbox.lag_ms > this.lagWarningMs) return ["warn", gettext("Lagging")];
    if (outbox.parked) return ["warn", gettext("Messages are parked")];
    return ["good", gettext("In order")];
  }
}
