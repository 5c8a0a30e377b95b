// Silences: begun with a reason, ended by hand or by themselves.
import { get, post } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { dateTime, relative } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { ask } from "../parts/ask.js";
import { atOnce } from "../parts/atonce.js";
import { guardedButton } from "../parts/guardedbutton.js";

/** @typedef {{ rule: string, topics: string }} About */

const HOUR = 3_600_000;
/** @type {[number, string][]} */
const LENGTHS = [
  [HOUR, gettext("1 hour")],
  [4 * HOUR, gettext("4 hours")],
  [24 * HOUR, gettext("1 day")],
  [7 * 24 * HOUR, gettext("7 days")],
];
const { silence: maySilence } = page.grants.actions;

/** A button that opens the dialog; `about()`: the rule and the topics, as the API takes them. */
export function silenceButton(/** @type {() => About} */ about, /** @type {() => void} */ done) {
  return guardedButton(
    { action: "silence", symbol: "notifications_off", label: gettext("Silence"), missing: maySilence },
    () => openDialog(about(), done),
  );
}

function openDialog(/** @type {About} */ { rule, topics }, /** @type {() => void} */ done) {
  const length = h(
    "select",
    { class: "rc-input", name: "for" },
    LENGTHS.map(([ms, words]) => h("option", { value: ms }, words)),
  );
  ask({
    title: fill(gettext("Silence %(rule)s"), { rule }),
    body: [
      h("p", {}, gettext("Nobody is told until it ends. What still fires then is told.")),
      h("p", { class: "rc-muted" }, topics === "*" ? gettext("All topics") : topics),
      h("label", {}, gettext("For"), length),
    ],
    label: gettext("Silence"),
    reason: "needed",
    submit: async ({ reason }) => {
      await post("alerts/silences", { rule, topics, for_ms: Number(length.value), reason });
      done();
    },
  });
}

export class Silences {
  constructor(/** @type {() => void} */ changed) {
    this.changed = changed;
    this.list = h("ul", { class: "rc-rows" });
    this.element = h(
      "section",
      { class: "rc-card", "aria-label": gettext("Silences"), hidden: true },
      h("h2", {}, gettext("Silences")),
      this.list,
    );
  }

  async load() {
    /** @type {Api.SilenceList} */
    const { silences, as_of_ms: now } = await get("alerts/silences");
    const running = silences.filter((each) => each.until_ms > now);
    this.element.hidden = running.length === 0;
    const key = JSON.stringify(running);
    if (key === this.list.dataset.shown) return;
    this.list.dataset.shown = key;
    replace(
      this.list,
      running.map((each) => this.line(each, now)),
    );
  }

  line(/** @type {Api.SilenceOut} */ silence, /** @type {number} */ now) {
    const end = async () => {
      await post(`alerts/silences/${silence.id}:end`, {});
      this.changed();
    };
    const words = { user: silence.username, end: relative(silence.until_ms, now) };
    return h(
      "li",
      {},
      h("strong", {}, silence.rule || gettext("All rules")),
      h("span", {}, silence.topics === "*" ? gettext("All topics") : silence.topics),
      h("span", { title: dateTime(silence.until_ms) }, fill(gettext("by %(user)s, ends %(end)s"), words)),
      h("span", { class: "rc-muted" }, silence.reason),
      atOnce({ action: "end", symbol: "notifications", label: gettext("End now"), missing: maySilence }, end),
    );
  }
}
