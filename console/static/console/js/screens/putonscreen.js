// "Put on a screen": from a page, a panel onto the last page of a wall display.
import { get, post } from "../core/api.js";
import { h } from "../core/dom.js";
import { page } from "../core/page.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { toast } from "../core/toast.js";
import { ask } from "../parts/ask.js";
import { guardedButton } from "../parts/guardedbutton.js";
import { METRICS } from "./screenpanels.js";

/** @typedef {[string, string]} Option */

/** A button; `panels`: [[line, words]], of which one is chosen. */
export const putOnScreen = (/** @type {[string, string][]} */ panels) =>
  guardedButton(
    { action: "screen", symbol: "tv", label: gettext("Put on a screen"), missing: page.grants.actions.screen },
    () => open(panels),
  );

async function open(/** @type {Option[]} */ panels) {
  /** @type {Api.ScreenOut[]} */
  let screens = [];
  try {
    screens = (await get("screens")).screens;
  } catch (problem) {
    toast(messageOf(problem), "error");
    return;
  }
  if (!screens.length) {
    toast(gettext("There is no screen yet: make one on the page Screens."), "error");
    return;
  }
  const choose = (/** @type {string} */ name, /** @type {Option[]} */ options) =>
    h(
      "select",
      { class: "rc-input", name },
      options.map(([value, words]) => h("option", { value }, words)),
    );
  const screen = choose(
    "screen",
    screens.map(({ name, title }) => [name, title || name]),
  );
  const panel = choose("panel", panels);
  ask({
    title: gettext("Put on a screen"),
    body: [h("label", {}, gettext("Screen"), screen), h("label", {}, gettext("What"), panel)],
    label: gettext("Put there"),
    reason: null,
    focus: panel,
    submit: async () => {
      await post(`screens/${encodeURIComponent(screen.value)}/panels`, { panel: panel.value });
      toast(fill(gettext("It is on the screen %(name)s."), { name: screen.value }));
    },
  });
}

/** What of a topic can be shown. */
export function panelsOf(/** @type {string} */ name) {
  const charts = ["backlog", "out_s", "in_s", "lag_ms", "dead", "in_flight"];
  const maps = ["backlog", "lag_ms", "dead"];
  const words = (/** @type {string} */ kind, /** @type {string} */ metric) => `${kind}: ${METRICS[metric][0]}`;
  return /** @type {[string, string][]} */ ([
    [`figures ${name}`, gettext("Figures")],
    ...charts.map((metric) => [`chart ${name} ${metric}`, words(gettext("Chart"), metric)]),
    ...maps.map((metric) => [`heatmap ${name} ${metric}`, words(gettext("Heat map"), metric)]),
    [`problems ${name}`, gettext("Problems")],
  ]);
}
