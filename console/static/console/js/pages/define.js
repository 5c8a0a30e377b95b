// The page of a new topic.
import { codeOf, ofTopic, put, wrongFields } from "../core/api.js";
import { byId, h, replace } from "../core/dom.js";
import "../core/keys.js";
import { page, topicAddress } from "../core/page.js";
import { single } from "../core/press.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { DefinitionForm } from "../definitions/definitionform.js";
import { planDialog } from "../definitions/plandialog.js";

const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,99}$/;
const missing = page.grants.actions.create_topic;
const form = new DefinitionForm(page.fields, page.definition, { isNew: true, disabled: missing });
const problem = h("p", { class: "rc-error", role: "alert", hidden: true });
const element = h(
  "form",
  { class: "rc-card rc-definition", "aria-label": gettext("Definition"), novalidate: true },
  missing ? h("p", { class: "rc-muted" }, missing) : null,
  form.element,
  problem,
  h(
    "div",
    { class: "rc-form-bar" },
    h(
      "button",
      { type: "submit", class: "rc-button rc-primary", disabled: Boolean(missing) },
      gettext("Create the topic"),
    ),
  ),
);
element.addEventListener("submit", (event) => {
  event.preventDefault();
  review();
});
const review = single(async () => {
  say("");
  const values = form.values();
  if (!NAME.test(values.name)) {
    const words = gettext(
      "It must start with a letter; letters, digits, “_”, “.” and “-” may follow, at most 100 in all.",
    );
    return form.showProblems([{ field: "name", problem: words }]);
  }
  const path = ofTopic(values.name);
  try {
    /** @type {Api.Plan} */
    const plan = await put(path, { validate_only: true }, values);
    form.showProblems([]);
    planDialog({
      title: fill(gettext("Create %(topic)s?"), { topic: values.name }),
      plan,
      label: gettext("Create"),
      reason: "optional",
      submit: async ({ reason }) => {
        try {
          await put(path, { reason }, values);
          location.assign(topicAddress(values.name, "definition"));
        } catch (error) {
          if (!handle(error)) throw error;
        }
      },
    });
  } catch (error) {
    handle(error);
  }
});
replace(byId("rc-define"), element);
if (!missing) form.rows[0].input.focus();

function handle(/** @type {unknown} */ error) {
  const fields = codeOf(error) === "topic_exists" ? [{ field: "name", problem: messageOf(error) }] : wrongFields(error);
  if (!fields.length) {
    say(messageOf(error));
    return false;
  }
  const left = form.showProblems(fields);
  say([gettext("Some fields need another value."), ...left.map((each) => each.problem)].join(" "));
  return true;
}

function say(/** @type {string} */ words) {
  replace(problem, words);
  problem.hidden = !words;
}
