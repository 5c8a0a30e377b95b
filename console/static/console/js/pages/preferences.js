// How times and numbers are written for whoever is signed in: chosen here, seen at once in an example.

import { once } from "../core/api.js";
import { serverNow } from "../core/clock.js";
import { byId, h, replace, setText } from "../core/dom.js";
import { dateTimeIn, numberFormat } from "../core/format.js";
import "../core/keys.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { toast } from "../core/toast.js";
import { browserZone, isZone } from "../core/zone.js";

const EXAMPLE = 1_234_567.8;
const chosen = page.preferences ?? { time_zone: "", numbers: "" };

const zone = h("input", {
  class: "rc-input",
  name: "time_zone",
  list: "rc-zones",
  value: chosen.time_zone,
  placeholder: fill(gettext("the browser's: %(zone)s"), { zone: browserZone }),
  maxlength: 100,
  autocomplete: "off",
  spellcheck: "false",
});
const zones = h(
  "datalist",
  { id: "rc-zones" },
  ["UTC", ...Intl.supportedValuesOf("timeZone")].map((value) => h("option", { value })),
);
const numbers = h(
  "select",
  { class: "rc-select", name: "numbers" },
  h(
    "option",
    { value: "" },
    fill(gettext("by language: %(example)s"), { example: numberFormat({}, "").format(1234.5) }),
  ),
  page.number_formats.map((value) => h("option", { value }, value)),
);
numbers.value = chosen.numbers;
const example = h("p", { class: "rc-muted", role: "status" });
const problem = h("p", { class: "rc-error", role: "alert", hidden: true });
const save = h("button", { type: "submit", class: "rc-button rc-primary" }, gettext("Save"));
const form = h(
  "form",
  { class: "rc-card rc-preferences", "aria-label": gettext("Preferences"), novalidate: true },
  h(
    "p",
    { class: "rc-muted" },
    gettext(
      "How the console's pages write times and numbers for you, and in which zone you type times. Nobody else sees a difference.",
    ),
  ),
  h(
    "div",
    { class: "rc-fields" },
    h("label", {}, h("span", {}, gettext("Time zone")), zone, zones),
    h("label", {}, h("span", {}, gettext("Numbers")), numbers),
  ),
  example,
  problem,
  h("div", { class: "rc-form-bar" }, save),
);

function show() {
  const typed = zone.value.trim();
  const [known, of] = [!typed || isZone(typed), typed || browserZone];
  const time = known ? dateTimeIn(serverNow(), of) : gettext("This browser knows no such time zone.");
  const number = numberFormat({}, numbers.value).format(EXAMPLE);
  setText(example, fill(gettext("For example: %(time)s · %(number)s"), { time, number }));
}

form.addEventListener("input", () => {
  problem.hidden = true;
  show();
});
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  problem.hidden = true;
  save.disabled = true;
  try {
    const body = { time_zone: zone.value.trim(), numbers: numbers.value };
    await once("PUT", "me/preferences", {}, body, {});
    toast(gettext("Saved. Every page that you open from now on is written so."), "success");
  } catch (error) {
    setText(problem, messageOf(error));
    problem.hidden = false;
    zone.focus();
  } finally {
    save.disabled = false;
  }
});

replace(byId("rc-page"), form);
show();
