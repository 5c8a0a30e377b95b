// Keys of which nothing is handed out for now: the list of holds, and the dialogs to hold a key and to lift that again.
import { get, ofTopic, post } from "../core/api.js";
import { h, replace, setText } from "../core/dom.js";
import { count, dateTime, duration, relative } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf, ngettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { ask } from "../parts/ask.js";
import { guardedButton } from "../parts/guardedbutton.js";
import { ListCard } from "../parts/listcard.js";

const TIMES_MS = [900_000, 3_600_000, 28_800_000, 86_400_000];
const OF = {
  id: gettext("Id"),
  slot_basis: gettext("Slot basis"),
  failure: gettext("Slot basis of one that failed"),
  tenant: gettext("Tenant, what has failed"),
};
/** What somebody may hold; the others come and go by themselves. @type {(keyof typeof OF)[]} */
const CHOSEN = ["id", "slot_basis"];
/** When one is over that nobody has to lift. @type {Partial<Record<string, string>>} */
const ENDS = { failure: gettext("it has ended"), tenant: gettext("the tenant is held no longer") };
const path = (rest = "") => ofTopic(page.topic.name, `/holds${rest}`);

/** Whether keys of this page's topic can be held: those of streams and their groups cannot. */
export const canHold = () => page.topic.kind !== "stream" && page.topic.kind !== "group";

/**
 * A button that asks which key; `message`: whose keys are offered.
 * @param {() => any} onDone
 * @param {Api.Message | null} [message]
 */
export function holdButton(onDone, message = null) {
  const missing = page.grants.actions.hold;
  const label = message ? gettext("Hold") : gettext("Hold a key");
  return guardedButton({ action: "hold", symbol: "front_hand", label, missing }, () => holdDialog(message, onDone));
}

/**
 * @param {Api.Message | null} message
 * @param {() => any} onDone
 */
function holdDialog(message, onDone) {
  const kind = h(
    "select",
    { class: "rc-select", name: "of", onchange: () => offer() },
    CHOSEN.map((name) => h("option", { value: name }, OF[name])),
  );
  const key = h("input", {
    class: "rc-input rc-mono",
    name: "key",
    required: true,
    maxlength: 512,
    autocomplete: "off",
  });
  const time = h(
    "select",
    { class: "rc-select", name: "for" },
    h("option", { value: "" }, gettext("until somebody lifts it")),
    TIMES_MS.map((ms) => h("option", { value: ms }, duration(ms))),
  );
  const offer = () => {
    if (message) key.value = (kind.value === "id" ? message.id : (message.slot_basis ?? message.id)) ?? "";
  };
  offer();
  ask({
    title: fill(gettext("Hold a key of %(topic)s?"), { topic: page.topic.name }),
    body: [
      h(
        "p",
        {},
        gettext("Its messages wait, those to come as well, and keep their places; the others of their slot go on."),
      ),
      h("label", {}, gettext("What is held"), kind),
      h("label", {}, gettext("Key"), key),
      h("label", {}, gettext("For how long"), time),
    ],
    label: gettext("Hold"),
    reason: "needed",
    focus: message ? undefined : key,
    submit: async ({ reason }) => {
      const slot = message && kind.value === "id" ? { slot: message.slot } : {};
      const body = { [kind.value]: key.value, ...slot, for_ms: time.value ? Number(time.value) : null, reason };
      const { holds } = await post(path(), body);
      const held = holds.reduce((/** @type {number} */ sum, /** @type {Api.HoldLine} */ each) => sum + each.held, 0);
      toast(
        fill(ngettext("Held; %(n)s message is set aside.", "Held; %(n)s messages are set aside.", held), {
          n: count(held),
        }),
        "success",
      );
      onDone();
    },
  });
}

/**
 * A button that lifts one hold, or asks the server which one keeps `message` back.
 * @param {() => any} onDone
 * @param {{ hold?: Api.HoldLine, message?: Api.Message }} about
 */
export function liftButton(onDone, { hold, message }) {
  const missing = page.grants.actions.lift;
  const label = hold ? gettext("Lift") : gettext("Lift the hold");
  return guardedButton({ action: "lift", symbol: "pan_tool_alt", label, missing, look: "rc-small" }, async () => {
    try {
      const found = hold ?? (message && (await holdOf(message)));
      if (found) liftDialog(found, onDone);
      else if (page.topic.in_order) toast(gettext("No hold keeps it back: it waits for a version before it."), "info");
      else if (page.topic.key_concurrency) toast(gettext("No hold keeps it back: it waits for its key."), "info");
      else onDone();
    } catch (problem) {
      toast(messageOf(problem), "error");
    }
  });
}

/**
 * @param {Api.Message} message
 * @returns {Promise<Api.HoldLine | undefined>}
 */
async function holdOf(message) {
  const basis = message.slot_basis ?? message.id;
  /** @type {Record<string, string | null>} */
  const keys = { id: message.id, slot_basis: basis, failure: basis };
  return (await get(path())).holds.find(
    (/** @type {Api.HoldLine} */ hold) => hold.slot === message.slot && keys[hold.of] === hold.key,
  );
}

/**
 * @param {Api.HoldLine} hold
 * @param {() => any} onDone
 */
function liftDialog(hold, onDone) {
  ask({
    title: fill(gettext("Lift the hold of %(key)s?"), { key: hold.key ?? gettext("(hidden)") }),
    body: [
      h(
        "p",
        {},
        fill(
          ngettext(
            "%(n)s message that it keeps back goes on from its place.",
            "%(n)s messages that it keeps back go on from their places.",
            hold.held,
          ),
          { n: count(hold.held) },
        ),
      ),
      hold.note ? h("p", { class: "rc-muted" }, hold.note) : null,
    ],
    label: gettext("Lift the hold"),
    reason: "optional",
    submit: async ({ reason }) => {
      const { messages } = await post(path(`/${hold.ref}:lift`), { reason });
      toast(
        fill(ngettext("Lifted; %(n)s message came back.", "Lifted; %(n)s messages came back.", messages), {
          n: count(messages),
        }),
        "success",
      );
      onDone();
    },
  });
}

const TITLES = [
  gettext("Key"),
  [gettext("Held"), "rc-num"],
  gettext("Until"),
  "",
  gettext("Why"),
  [gettext("Since"), "rc-less"],
  [gettext("Slot"), "rc-num rc-less"],
];

/**
 * The holds of the topic; nothing is shown where there are none.
 * @extends {ListCard<Api.HoldLine>}
 */
export class Holds extends ListCard {
  /**
   * @param {() => number} nowMs
   * @param {() => any} onDone
   */
  constructor(nowMs, onDone) {
    super(path(), "rc-holds", gettext("Keys that are held"), TITLES);
    this.nowMs = nowMs;
    this.onDone = onDone;
    this.load();
  }

  show(/** @type {{holds: Api.HoldLine[]}} */ { holds }) {
    this.list(fill(gettext("Keys that are held (%(n)s)"), { n: count(holds.length) }), holds);
  }

  line(/** @type {Api.HoldLine} */ hold) {
    const until = h("td", { class: "rc-one-line", dataset: { title: gettext("Until") } });
    if (hold.until_ms === null) setText(until, ENDS[hold.of] ?? gettext("it is lifted"));
    else replace(until, h("time", { title: dateTime(hold.until_ms) }, relative(hold.until_ms, this.nowMs())));
    return h(
      "tr",
      {},
      h(
        "th",
        { scope: "row", class: "rc-mono rc-free" },
        hold.key ?? h("span", { class: "rc-masked" }, gettext("(hidden)")),
        h("span", { class: "rc-muted" }, ` ${OF[hold.of]}`),
      ),
      h("td", { class: "rc-num", dataset: { title: gettext("Held") } }, count(hold.held)),
      until,
      h(
        "td",
        {},
        liftButton(() => this.onDone(), { hold }),
      ),
      h("td", { class: "rc-free rc-whole" }, hold.note || null),
      h("td", { class: "rc-one-line rc-less" }, dateTime(hold.since_ms)),
      h("td", { class: "rc-num rc-less" }, count(hold.slot)),
    );
  }
}
