// The Definition tab: the form, the plan before saving, conflicts, the history, deleting.

import { param } from "../core/address.js";
import { codeOf, get, getTagged, ofTopic, post, put, remove, wrongFields } from "../core/api.js";
import { byId, h, icon, replace } from "../core/dom.js";
import { page, topicAddress } from "../core/page.js";
import { single } from "../core/press.js";
import { fill, gettext, messageOf, ngettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { conflictDialog } from "../definitions/conflict.js";
import { DefinitionForm } from "../definitions/definitionform.js";
import { planDialog } from "../definitions/plandialog.js";
import { HISTORY, Revisions } from "../definitions/revisions.js";
import { guardedButton } from "../parts/guardedbutton.js";

/** Of a stream: whose settings these are, too. */
function ofGroups() {
  return h(
    "p",
    { class: "rc-muted" },
    gettext(
      "How entries are retried, how long they may take and how fast they are handed out holds for each consumer group that has no setting of its own; how much is kept holds for the stream.",
    ),
    " ",
    h("a", { class: "rc-link", href: topicAddress(page.topic.name, "groups") }, gettext("Groups")),
  );
}

export class DefinitionTab {
  constructor() {
    const { actions } = page.grants;
    /** Of what is stored now, and of what was told. */
    this.version = 0;
    this.announced = 0;
    this.path = ofTopic(page.topic.name);
    this.etag = page.etag;
    this.missing = actions.edit_topic;
    this.ask = single(() => this.plan());
    this.form = new DefinitionForm(page.fields, page.definition, {
      disabled: this.missing,
      onChange: (/** @type {number} */ number) => this.changed(number),
    });
    this.revisions = new Revisions(
      single((row) => this.rollBack(row)),
      this.missing,
    );
    this.review = h("button", { type: "submit", class: "rc-button rc-primary" }, gettext("Review the change"));
    this.undo = h(
      "button",
      { type: "button", class: "rc-button", onclick: () => this.form.load(this.form.base) },
      gettext("Undo the edits"),
    );
    this.words = h("span", { class: "rc-muted" });
    this.notice = h("div", { class: "rc-banner", role: "status", hidden: true });
    this.problem = h("p", { class: "rc-error", role: "alert", hidden: true });
    this.element = h(
      "form",
      { class: "rc-card rc-definition", "aria-label": gettext("Definition"), novalidate: true },
      this.missing ? h("p", { class: "rc-muted" }, this.missing) : null,
      h("p", {}, h("a", { class: "rc-link", href: `#${HISTORY}` }, gettext("Who changed what before"))),
      page.topic.kind === "stream" ? ofGroups() : null,
      this.form.element,
      this.problem,
      h("div", { class: "rc-form-bar" }, this.words, this.undo, this.review),
    );
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask();
    });
    replace(byId("rc-tab"), this.notice, this.element, this.revisions.element, this.danger());
    this.changed(0);
    this.goTo(param("field"));
    this.revisions.load();
    if (location.hash === `#${HISTORY}`) this.revisions.element.scrollIntoView({ block: "center" });
    addEventListener("beforeunload", (event) => this.form.edited().length && !this.leaving && event.preventDefault());
  }

  /** Another page has named the field that somebody wants to change. */
  goTo(/** @type {string} */ name) {
    const field = name && document.getElementById(`rc-field-${name}`);
    if (!field) return;
    field.scrollIntoView({ block: "center" });
    field.focus({ preventScroll: true });
  }

  take(/** @type {Live.TopicMessage} */ message) {
    if (message.type === "topic") this.version = message.topic.version;
  }

  /** Somebody else's change arrives here within a second: shown at once, unless something is being edited. */
  render() {
    if (!this.version || this.version <= this.form.base.version || this.version === this.announced) return;
    this.announced = this.version;
    if (this.form.edited().length) this.tell();
    else this.reload();
  }

  /** What is stored now, with its history. */
  async reload() {
    const [[definition, etag]] = await Promise.all([getTagged(this.path), this.revisions.load()]);
    this.begin(definition, etag);
  }

  begin(/** @type {Live.Definition} */ definition, /** @type {string} */ etag) {
    this.etag = etag;
    this.form.load(definition);
    this.notice.hidden = true;
    this.say("");
  }

  tell() {
    replace(
      this.notice,
      icon("edit_note"),
      h(
        "span",
        {},
        fill(gettext("This topic has version %(version)s by now; you began from version %(base)s."), {
          version: this.version,
          base: this.form.base.version,
        }),
      ),
      h(
        "button",
        { type: "button", class: "rc-button rc-small", onclick: () => this.ask() },
        gettext("Show the difference"),
      ),
    );
    this.notice.hidden = false;
  }

  changed(/** @type {number} */ number) {
    if (!this.review) return;
    this.review.disabled = this.undo.disabled = !number || Boolean(this.missing);
    replace(
      this.words,
      number ? fill(ngettext("%(n)s field changed", "%(n)s fields changed", number), { n: number }) : "",
    );
  }

  say(/** @type {string} */ words) {
    replace(this.problem, words);
    this.problem.hidden = !words;
  }

  /** What the change would do; then the last click. */
  async plan() {
    this.say("");
    const values = this.form.values();
    try {
      /** @type {Api.Plan} */
      const plan = await put(this.path, { validate_only: true }, values, this.etag);
      this.form.showProblems([]);
      planDialog({
        title: fill(gettext("Change %(topic)s?"), { topic: page.topic.name }),
        plan,
        label: gettext("Save"),
        danger: plan.severity === "danger",
        submit: ({ reason }) => this.save(() => put(this.path, { reason }, values, this.etag)),
      });
    } catch (problem) {
      await this.handle(problem);
    }
  }

  async save(/** @type {() => Promise<Live.Definition>} */ send) {
    try {
      const definition = await send();
      await this.reload();
      toast(fill(gettext("Saved as version %(version)s."), { version: definition.version }), "success");
    } catch (problem) {
      if (!(await this.handle(problem))) throw problem;
    }
  }

  /** Conflicts and wrong fields have places of their own; true where it was one of these. */
  async handle(/** @type {unknown} */ problem) {
    if (codeOf(problem) === "version_conflict") {
      const [[theirs, etag], { revisions }] = await Promise.all([
        getTagged(this.path),
        get(`${this.path}/revisions`, { limit: 1 }),
      ]);
      conflictDialog({
        base: this.form.base,
        theirs,
        mine: this.form.values(),
        revision: revisions[0],
        choose: (/** @type {"theirs" | "mine"} */ choice) => this.settle(choice, theirs, etag),
      });
      return true;
    }
    const fields = wrongFields(problem);
    if (fields.length) {
      const left = this.form.showProblems(fields);
      this.say([gettext("Some fields need another value."), ...left.map((each) => each.problem)].join(" "));
      return true;
    }
    this.say(messageOf(problem));
    return false;
  }

  /**
   * @param {"theirs" | "mine"} choice
   * @param {Live.Definition} theirs
   * @param {string} etag
   */
  settle(choice, theirs, etag) {
    const mine = this.form.values();
    const edited = this.form.edited();
    this.begin(theirs, etag);
    this.revisions.load();
    if (choice === "mine") {
      this.form.set({ ...theirs, ...Object.fromEntries(edited.map((name) => [name, mine[name]])) });
      if (this.form.edited().length) this.ask();
      else toast(gettext("Theirs is what you wanted: nothing is left to save."), "info");
    }
  }

  async rollBack(/** @type {Api.Revision} */ row) {
    if (this.missing) return toast(this.missing, "error");
    const path = `${this.path}:rollback`;
    const match = { "If-Match": this.etag };
    try {
      /** @type {Api.Plan} */
      const plan = await post(path, { revision: row.id, validate_only: true }, match);
      if (!plan.difference.length) return toast(gettext("That version is the same as the present one."), "info");
      planDialog({
        title: fill(gettext("Roll %(topic)s back to version %(version)s?"), {
          topic: page.topic.name,
          version: row.version,
        }),
        plan,
        label: gettext("Roll back"),
        danger: plan.severity === "danger",
        submit: ({ reason }) => this.save(() => post(path, { revision: row.id, reason }, match)),
      });
    } catch (problem) {
      if (!(await this.handle(problem))) toast(messageOf(problem), "error");
    }
  }

  danger() {
    const missing = page.grants.actions.delete_topic;
    return h(
      "section",
      { class: "rc-card", "aria-label": gettext("Delete the topic") },
      h(
        "header",
        {},
        h("h2", {}, gettext("Delete the topic")),
        guardedButton(
          { action: "delete_topic", symbol: "delete_forever", label: gettext("Delete…"), missing, look: "rc-danger" },
          () => this.delete(),
        ),
      ),
      h(
        "p",
        { class: "rc-muted" },
        gettext("Removes the definition and every key. Refused while it holds messages, unless that is forced."),
      ),
    );
  }

  async delete() {
    try {
      /** @type {Api.Plan} */
      const plan = await remove(this.path, { validate_only: true });
      const held = (plan.lines[0].count ?? 0) > 0;
      const force = page.grants.actions.force_delete;
      if (held && force) return toast(`${plan.lines[0].text} ${force}`, "error");
      planDialog({
        title: fill(gettext("Delete %(topic)s?"), { topic: page.topic.name }),
        plan,
        label: held ? gettext("Delete with its messages") : gettext("Delete"),
        danger: true,
        confirmWord: held ? page.topic.name : null,
        submit: async ({ reason, confirm }) => {
          await remove(this.path, { reason, force: held, confirm });
          this.leaving = true;
          location.assign(page.places.overview);
        },
      });
    } catch (problem) {
      toast(messageOf(problem), "error");
    }
  }
}
