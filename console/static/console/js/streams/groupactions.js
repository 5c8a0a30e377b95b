// What can be done to consumer groups: made, paused until a time, claimed from, given settings, deleted.
import { aboutThis, get, ofTopic, once, post, put } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { count, duration, relative } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf, ngettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { inZone, momentIn, momentOf, putMoment } from "../core/zone.js";
import { planDialog } from "../definitions/plandialog.js";
import { ask } from "../parts/ask.js";
import { CommandLine } from "../parts/command.js";

/** @typedef {{ name: string, group: string, created_ms: number }} Of */

const groupPath = (/** @type {string} */ group, /** @type {string} */ rest = "") =>
  ofTopic(page.topic.name, `/groups/${group}${rest}`);

/** Make a group of this page's stream. */
export function newGroupDialog(/** @type {() => void} */ onDone) {
  const name = h("input", {
    class: "rc-input",
    name: "name",
    required: true,
    maxlength: 100,
    pattern: "[A-Za-z0-9][A-Za-z0-9_.\\-]*",
    autocomplete: "off",
    spellcheck: "false",
  });
  const start = h(
    "select",
    { class: "rc-select", name: "start", onchange: () => show() },
    h("option", { value: "start" }, gettext("at the start: reads everything the stream keeps")),
    h("option", { value: "end" }, gettext("at the end: reads what comes")),
    h("option", { value: "time" }, gettext("at a time")),
  );
  const time = h("input", { class: "rc-input", type: "datetime-local", step: 1, name: "time" });
  const timeLabel = h("label", {}, inZone(gettext("From this time on")), time);
  const show = () => {
    timeLabel.hidden = start.value !== "time";
  };
  /**
   * @param {string} key
   * @param {boolean} checked
   * @param {string} words
   */
  const flag = (key, checked, words) => {
    const box = h("input", { type: "checkbox", name: key, checked });
    return { box, label: h("label", { class: "rc-check" }, box, words) };
  };
  const durable = flag("durable", true, gettext("Durable: trimming waits for what it has not finished"));
  const waits = flag("waits", false, gettext("In a slot, nothing passes one that failed"));
  const none = flag("none", false, gettext("No acknowledgements: what is handed out is done; losing it is possible"));
  show();
  ask({
    title: fill(gettext("New consumer group of %(topic)s"), { topic: page.topic.name }),
    body: [
      h("label", {}, gettext("Name"), name),
      h("label", {}, gettext("Begins"), start),
      timeLabel,
      durable.label,
      waits.label,
      none.label,
      h("p", { class: "rc-muted" }, gettext("How it begins and these three stay; its settings can be changed later.")),
    ],
    label: gettext("Make the group"),
    reason: "optional",
    focus: name,
    submit: async ({ reason }) => {
      const at = start.value === "time" ? momentOf(time.value) : start.value;
      if (Number.isNaN(at)) throw new Error(gettext("Give a time."));
      const body = {
        start: at,
        durable: durable.box.checked,
        waits: waits.box.checked,
        acks: none.box.checked ? "none" : "each",
      };
      await put(groupPath(name.value), {}, { ...body, reason });
      toast(fill(gettext("The group %(group)s is there."), { group: name.value }), "success");
      onDone();
    },
  });
}

const CHIPS_MS = [900_000, 3_600_000, 28_800_000, 86_400_000];

/**
 * Pause a group, perhaps until a time. `path`: of its queue.
 * @param {Of} group
 * @param {number} nowMs
 * @param {() => void} onDone
 */
export function pauseDialog(group, nowMs, onDone) {
  const about = aboutThis(group);
  const until = h("input", { class: "rc-input", type: "datetime-local", step: 1, name: "until" });
  const words = h("span", { class: "rc-muted" });
  const show = () =>
    replace(words, until.value ? relative(momentIn(until), nowMs) : gettext("until somebody resumes it"));
  until.addEventListener("input", show);
  show();
  const chips = CHIPS_MS.map((ms) =>
    h(
      "button",
      {
        type: "button",
        class: "rc-chip",
        onclick: () => {
          putMoment(until, nowMs + ms);
          show();
        },
      },
      duration(ms),
    ),
  );
  ask({
    title: fill(gettext("Pause %(topic)s?"), { topic: group.name }),
    body: [
      h("p", {}, gettext("Workers stop taking entries for this group; the others go on.")),
      h("label", {}, inZone(gettext("Until (empty: until it is resumed)")), until),
      h("div", { class: "rc-chips" }, chips, words),
    ],
    label: gettext("Pause group"),
    reason: "optional",
    submit: async ({ reason }) => {
      const until_ms = until.value ? momentIn(until) : null;
      await post(ofTopic(group.name, ":pause"), { until_ms, reason }, about);
      toast(gettext("The group is paused."), "success");
      onDone();
    },
  });
}

export async function resumeGroup(/** @type {Of} */ group) {
  await post(ofTopic(group.name, ":resume"), {}, aboutThis(group));
  toast(gettext("The group is resumed."), "success");
}

/**
 * Have what a member holds come back: what that would be, then the last click.
 * @param {Of} group
 * @param {string} member
 * @param {() => void} onDone
 */
export function claimDialog(group, member, onDone) {
  const seen = h("div", { class: "rc-preview", role: "status", "aria-live": "polite" });
  const command = new CommandLine();
  const force = h("input", { type: "checkbox", name: "force", onchange: () => look() });
  const forceLabel = h(
    "label",
    { class: "rc-check", hidden: true },
    force,
    gettext("Also what it has as a worker that runs: it works on, and its answer changes nothing"),
  );
  const path = groupPath(group.group, ":claim");
  const about = aboutThis(group);
  const dialog = ask({
    title: fill(gettext("Claim what %(member)s has of %(group)s?"), {
      member: member || gettext("(no name)"),
      group: group.name,
    }),
    body: [
      h("p", {}, gettext("It comes back at once, no failure is counted, and it is handed out alone at first.")),
      seen,
      forceLabel,
      command.element,
    ],
    label: gettext("Claim"),
    submit: async ({ reason }) => {
      /** @type {Api.Claim} */
      const done = await post(path, { member, force: force.checked, reason }, about);
      toast(
        fill(ngettext("%(n)s entry came back.", "%(n)s entries came back.", done.entries), { n: done.entries }),
        "success",
      );
      onDone();
    },
  });
  function look() {
    const counted = () => post(path, { member, force: force.checked, validate_only: true }, about);
    dialog.plan(seen, counted, (/** @type {Api.Claim} */ plan) => {
      const kept = plan.kept
        ? fill(ngettext("%(n)s is left to it: the worker runs.", "%(n)s are left to it: the worker runs.", plan.kept), {
            n: count(plan.kept),
          })
        : "";
      const words = fill(ngettext("%(n)s entry would come back.", "%(n)s entries would come back.", plan.entries), {
        n: count(plan.entries),
      });
      replace(seen, h("p", {}, h("strong", {}, words), " ", kept));
      forceLabel.hidden = !plan.kept && !force.checked;
      command.show(plan.command);
      dialog.hold(!plan.entries);
    });
  }
  look();
}

/** What a deletion forgets, then the last click. */
export async function deleteDialog(/** @type {Of} */ group, /** @type {() => void} */ onDone) {
  const path = groupPath(group.group);
  const about = aboutThis(group);
  try {
    /** @type {Api.Plan} */
    const plan = await once("DELETE", path, { validate_only: true }, undefined, about);
    const held = (plan.lines[0].count ?? 0) > 0;
    planDialog({
      title: fill(gettext("Delete the group %(group)s?"), { group: group.name }),
      plan,
      label: held ? gettext("Delete with what is pending") : gettext("Delete"),
      danger: true,
      confirmWord: held ? group.name : null,
      submit: async ({ reason, confirm }) => {
        await once("DELETE", path, { reason, force: held, confirm }, undefined, about);
        toast(fill(gettext("The group %(group)s is deleted."), { group: group.group }), "success");
        onDone();
      },
    });
  } catch (problem) {
    toast(messageOf(problem), "error");
  }
}

/** The settings that a group may have of its own. */
export async function settingsDialog(/** @type {Of} */ group, /** @type {() => void} */ onDone) {
  try {
    /** @type {Api.GroupView} */
    const found = await get(groupPath(group.group));
    const rows = Object.entries(SETTINGS).map(([name, label]) => settingRow(name, label, found));
    ask({
      title: fill(gettext("Settings of %(group)s"), { group: group.name }),
      body: [
        h("p", { class: "rc-muted" }, gettext("Empty: as its topic says. Times are in milliseconds.")),
        h(
          "div",
          { class: "rc-fields" },
          rows.map((row) => row.element),
        ),
      ],
      label: gettext("Save"),
      reason: "optional",
      wide: true,
      submit: async ({ reason }) => {
        const changed = rows.filter((row) => row.value() !== row.before).map((row) => [row.name, row.value()]);
        const body = { ...Object.fromEntries(changed), reason };
        await once("PUT", groupPath(group.group), {}, body, { ...aboutThis(found), "If-Match": found.etag });
        toast(gettext("The settings are saved."), "success");
        onDone();
      },
    });
  } catch (problem) {
    toast(messageOf(problem), "error");
  }
}

const SETTINGS = {
  max_retries: gettext("Retries"),
  visibility_timeout_ms: gettext("Visibility timeout"),
  backoff_ms: gettext("First back-off"),
  backoff_max_ms: gettext("Longest back-off"),
  weight: gettext("Weight"),
  rate_limit: gettext("Rate limit"),
  undo_ms: gettext("Undo period"),
};

/**
 * @param {string} name
 * @param {string} label
 * @param {Api.GroupView} found
 */
function settingRow(name, label, found) {
  const before = found.own.includes(name) ? found.settings[name] : null;
  const input = h("input", {
    class: "rc-input",
    type: "number",
    min: 0,
    step: 1,
    name,
    value: before,
    placeholder: String(found.settings[name]),
  });
  const value = () => (input.value.trim() === "" ? null : Number(input.value));
  return { name, before, value, element: h("label", {}, label, input) };
}
