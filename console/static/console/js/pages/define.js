// The page of a new topic.
import { byId, h, replace } from "../core/dom.js";
import { post } from "../core/http.js";
import "../core/keys.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { DefinitionForm } from "../parts/definitionform.js";
import { planDialog } from "../parts/plandialog.js";

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
element.addEventListener("submit", async (event) => {
  event.preventDefault();
  say("");
  const body = { values: form.values() };
  try {
    const { plan, wanted } = await post(page.urls.plan, body);
    form.showProblems([]);
    planDialog({
      title: fill(gettext("Create %(topic)s?"), { topic: wanted.name }),
      plan,
      label: gettext("Create"),
      reason: "optional",
      submit: async ({ reason }) => {
        try {
          const { definition } = await post(page.urls.save, { ...body, reason });
          location.assign(topicAddress(definition.name, "definition"));
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

function handle(error) {
  if (!error.body?.fields) {
    say(error.message);
    return false;
  }
  const left = form.showProblems(error.body.fields);
  say([error.message, ...left.map((each) => each.problem)].join(" "));
  return true;
}

function say(words) {
  replace(problem, words);
  problem.hidden = !words;
}
