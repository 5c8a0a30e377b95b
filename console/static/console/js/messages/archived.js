// What the archive knows of an id that neither the queue nor the record does: looked for day by day, backwards.
import { get, isStopped, ofId, ofTopic } from "../core/api.js";
import { h, icon, replace } from "../core/dom.js";
import { dateTime } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { stepWords } from "../parts/steps.js";
import { endWords, journalAddress, keepsNoJournal, noJournalWords } from "./gone.js";

/**
 * Look until something is found, or there is nothing more. `onStep` hears of each look that found nothing.
 * @param {string} ident
 * @param {AbortSignal} signal
 * @param {(found: Api.ArchivedMessage) => void} onStep
 * @param {string | null} before only days before this one
 * @returns {Promise<Api.ArchivedMessage>}
 */
export async function lookBack(ident, signal, onStep, before = null) {
  for (;;) {
    /** @type {Api.ArchivedMessage} */
    const found = await get(ofTopic(page.topic.name, `/archived/${ofId(ident)}`), { before }, signal);
    if (found.lives.length || !found.before) return found;
    onStep(found);
    before = found.before;
  }
}

export const lookingWords = (/** @type {Api.ArchivedMessage | null} */ found) =>
  found?.first
    ? fill(gettext("Looking in the archive, back to %(day)s by now…"), { day: found.first })
    : gettext("Looking in the archive…");

export class ArchiveLook {
  /** @param {string} ident */
  constructor(ident) {
    this.ident = ident;
    this.head = h("div", { class: "rc-empty", role: "status" });
    this.list = h("ol", { class: "rc-timeline" });
    this.steps = h("section", { class: "rc-card", hidden: true }, h("h3", {}, gettext("In the archive")), this.list);
    this.stop = new AbortController();
    this.goOn(null);
  }

  async goOn(/** @type {string | null} */ before) {
    this.stop = new AbortController();
    this.looking(null, before);
    try {
      const found = await lookBack(
        this.ident,
        this.stop.signal,
        (step) => {
          before = step.before;
          this.looking(step, before);
        },
        before,
      );
      if (found.lives.length) this.show(found);
      else this.nothing(found);
    } catch (problem) {
      if (isStopped(problem)) this.stopped(before);
      else this.unknown(h("p", { class: "rc-muted" }, messageOf(problem)));
    }
  }

  looking(/** @type {Api.ArchivedMessage | null} */ found, /** @type {string | null} */ before) {
    const words = lookingWords(found);
    if (this.words && found) {
      this.words.textContent = words; // the focus on the button stays
      return;
    }
    this.words = h("h2", {}, words);
    const stop = h("button", { type: "button", class: "rc-button" }, gettext("Stop"));
    stop.addEventListener("click", () => this.stop.abort());
    replace(this.head, icon("inventory_2"), this.words, before ? null : h("p", {}, this.others()), stop);
  }

  others() {
    return gettext("It is not in the queue, and the record does not have it.");
  }

  show(/** @type {Api.ArchivedMessage} */ found) {
    this.words = null;
    replace(
      this.head,
      icon("inventory_2"),
      found.lives.map(({ record }) => h("h2", {}, endWords(record))),
      h("p", {}, gettext("The queue and the record have forgotten it; the archive has not.")),
      found.before ? this.button(gettext("Look further back"), found.before) : null,
    );
    const steps = found.lives.flatMap((life) => life.steps).sort((one, other) => other.at_ms - one.at_ms);
    replace(
      this.list,
      steps.map((step) => h("li", { class: "rc-wide-time" }, h("time", {}, dateTime(step.at_ms)), stepWords(step))),
    );
    this.steps.hidden = false;
  }

  nothing(/** @type {Api.ArchivedMessage} */ found) {
    if (!this.steps.hidden) {
      this.words = null;
      replace(this.head, icon("inventory_2"), h("h2", {}, gettext("The archive has nothing earlier of it")));
      return;
    }
    this.unknown(
      found.first
        ? h("p", {}, gettext("Nor does the archive know it: all of it was looked at."))
        : h("p", {}, gettext("There is no archive of this topic.")),
    );
  }

  stopped(/** @type {string | null} */ before) {
    const words = before
      ? fill(gettext("Stopped: the days before %(day)s were not looked at."), { day: before })
      : gettext("Stopped.");
    this.unknown(h("p", {}, words), this.button(gettext("Go on"), before));
  }

  unknown(/** @type {HTMLElement[]} */ ...more) {
    this.words = null;
    replace(
      this.head,
      icon("search_off"),
      keepsNoJournal()
        ? [
            h("h2", {}, gettext("Nobody can tell what became of it")),
            h("p", {}, noJournalWords()),
            h("p", {}, h("a", { class: "rc-link", href: journalAddress() }, gettext("Switch the journal on"))),
          ]
        : [
            h("h2", {}, gettext("No message has this id")),
            h(
              "p",
              {},
              gettext(
                "It is not in the queue, and nothing is recorded of it: the id is different, or it ended while the topic's journal was off.",
              ),
            ),
          ],
      more,
    );
  }

  button(/** @type {string} */ words, /** @type {string | null} */ before) {
    return h("button", { type: "button", class: "rc-button", onclick: () => this.goOn(before) }, words);
  }
}
