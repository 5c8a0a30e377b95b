// Dead letters are moved to another topic: where to, what each would become there, then the last click.
import { get, ofTopic, post } from "../core/api.js";
import { h, headRow, replace } from "../core/dom.js";
import { count } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf, ngettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { ask } from "../parts/ask.js";
import { CommandLine } from "../parts/command.js";
import { guardedButton } from "../parts/guardedbutton.js";
import { TargetFields } from "../parts/targetfields.js";

const PAUSE_MS = 350;
const SHOWN = 50;

/** A button that moves `messages()`, as they are shown; `onDone()` after they were. */
export function redriveButton(/** @type {() => Api.Row[]} */ messages, /** @type {() => void} */ onDone) {
  const missing = page.grants.actions.redrive;
  const about = { action: "redrive", symbol: "forward", label: gettext("Move…"), missing, look: "" };
  return guardedButton(about, () => openRedrive(messages(), onDone));
}

async function openRedrive(/** @type {Api.Row[]} */ messages, /** @type {() => void} */ onDone) {
  try {
    /** @type {Api.Topics} */
    const { topics } = await get("topics");
    const own = page.topic.name.split("@")[0];
    const others = topics.filter((topic) => topic.name !== page.topic.name);
    if (!others.length) throw new Error(gettext("There is no other topic."));
    others.sort((one, two) => Number(one.name === own) - Number(two.name === own));
    new RedriveDialog(messages, others, onDone).changed(0);
  } catch (problem) {
    toast(messageOf(problem), "error");
  }
}

class RedriveDialog {
  /**
   * @param {Api.Row[]} messages
   * @param {{ name: string, kind: string }[]} topics
   * @param {() => void} onDone
   */
  constructor(messages, topics, onDone) {
    this.path = ofTopic(page.topic.name, "/dead:redrive");
    this.messages = messages.map(({ slot, id, at_ms }) => ({ slot, id, at_ms }));
    this.fields = new TargetFields(topics, { topic: topics[0].name }, () => this.changed(PAUSE_MS));
    this.plan = h("div", { class: "rc-preview", role: "status", "aria-live": "polite" });
    this.command = new CommandLine();
    const n = this.messages.length;
    this.ask = ask({
      title: fill(ngettext("Move %(n)s dead letter of %(topic)s?", "Move %(n)s dead letters of %(topic)s?", n), {
        n: count(n),
        topic: page.topic.name,
      }),
      body: [
        h("p", {}, gettext("Sent to another topic, then dropped here. What was dropped can be restored for a while.")),
        h(
          "div",
          { class: "rc-fields" },
          this.fields.topicBox,
          this.fields.valueBox,
          this.fields.fromBox,
          this.fields.keyBox,
        ),
        h("h3", {}, gettext("What it would do")),
        this.plan,
        this.command.element,
      ],
      label: gettext("Move"),
      wide: true,
      reason: "needed",
      focus: this.fields.topic,
      submit: async ({ reason }) => {
        /** @type {Api.RedrivenList} */
        const { results } = await post(this.path, { ...this.wanted(), reason });
        const done = results.filter((each) => each.status === "done").length;
        const words = [
          fill(ngettext("%(n)s dead letter moved.", "%(n)s dead letters moved.", done), { n: count(done) }),
          leftWords(results),
        ];
        toast(words.join(" ").trim(), done === n ? "success" : "info");
        onDone();
      },
    });
  }

  wanted() {
    return { messages: this.messages, target: this.fields.read() };
  }

  changed(/** @type {number} */ pause) {
    this.ask.plan(
      this.plan,
      () => this.look(),
      ({ results, command }) => {
        this.show(results);
        this.command.show(command);
        this.command.element.hidden = false;
        const refused = results.some((each) => each.status === "refused");
        this.ask.hold(refused || !results.some((each) => each.status === "done"));
      },
      pause,
    );
  }

  /** @returns {Promise<Api.RedrivenList>} */
  look() {
    this.command.element.hidden = true;
    return post(this.path, { ...this.wanted(), validate_only: true });
  }

  show(/** @type {Api.Redriven[]} */ results) {
    const to = this.fields.topic.value;
    const refused = results.filter((each) => each.status === "refused");
    const lost = results.filter((each) => each.status === "not_found").length;
    const n = results.filter((each) => each.status === "done").length;
    const words = ngettext("%(n)s would be moved to %(topic)s.", "%(n)s would be moved to %(topic)s.", n);
    replace(
      this.plan,
      h("p", {}, fill(words, { n: count(n), topic: to })),
      lost
        ? h("p", { class: "rc-warning" }, fill(gettext("%(n)s are no dead letters any more."), { n: count(lost) }))
        : null,
      leftWords(results) ? h("p", { class: "rc-warning" }, leftWords(results)) : null,
      refused.length
        ? h(
            "p",
            { class: "rc-error" },
            fill(gettext("%(n)s cannot be moved, so nothing is."), { n: count(refused.length) }),
          )
        : null,
      h(
        "div",
        { class: "rc-scroll" },
        h(
          "table",
          { class: "rc-table" },
          headRow([gettext("Id"), gettext("Becomes"), [gettext("Slot there"), "rc-num rc-less"]]),
          h("tbody", {}, [...refused, ...results.filter((each) => each.status === "done")].slice(0, SHOWN).map(line)),
        ),
      ),
    );
  }
}

/** How many are left, for their time is over before they could be delivered, or others have their ids; "" for none. */
function leftWords(/** @type {Api.Redriven[]} */ results) {
  const late = results.filter((each) => each.status === "expires_first").length;
  const replaced = results.filter((each) => each.status === "replaced").length;
  const words = [
    late
      ? fill(
          ngettext(
            "%(n)s expires before it could be delivered, and is left as it is.",
            "%(n)s expire before they could be delivered, and are left as they are.",
            late,
          ),
          { n: count(late) },
        )
      : "",
    replaced
      ? fill(
          ngettext(
            "%(n)s is left as it is: another one has died with its id since.",
            "%(n)s are left as they are: others have died with their ids since.",
            replaced,
          ),
          { n: count(replaced) },
        )
      : "",
  ];
  return words.filter(Boolean).join(" ");
}

function line(/** @type {Api.Redriven} */ each) {
  const becomes = each.problem || each.to_id || gettext("a new entry");
  return h(
    "tr",
    {},
    h("td", { class: "rc-mono rc-clip" }, each.id),
    h("td", { class: each.problem ? "rc-error" : "rc-mono rc-clip" }, becomes),
    h("td", { class: "rc-num rc-less" }, each.to_slot === null ? "–" : count(each.to_slot)),
  );
}
