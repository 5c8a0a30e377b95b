// Repairing what was found: first what it would do, then why, then it is done as operations.
import { post } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { exact } from "../core/format.js";
import { page } from "../core/page.js";
import { fill, gettext, ngettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { ask } from "../parts/ask.js";
import { OUTCOMES, REPAIRS } from "./runwords.js";

/**
 * `path`: of the run; `request`: {repair, kind, topic} or {repair, finding}.
 * @param {string} path
 * @param {{ repair: string, kind?: string, topic?: string, finding?: number }} request
 * @param {() => void} done
 */
export function askRepair(path, request, done) {
  const seen = h("div", { class: "rc-preview", role: "status", "aria-live": "polite" }, gettext("Looking…"));
  const canary = h("input", {
    class: "rc-input",
    type: "number",
    name: "canary",
    min: 0,
    max: 1000,
    step: 1,
    placeholder: gettext("none"),
  });
  const careful =
    request.finding || request.repair === "correct_counters"
      ? null
      : h("label", {}, gettext("Canary: so many first, the rest if none of them dies"), canary);
  const dialog = ask({
    title: REPAIRS[request.repair],
    body: [h("p", {}, gettext("A dry run: nothing has been changed yet.")), seen, careful],
    label: gettext("Repair"),
    submit: async ({ reason }) => {
      /** @type {Api.Repairs} */
      const { operations, left } = await post(`${path}:repair`, { ...request, reason, canary: Number(canary.value) });
      if (operations.length === 1 && !left) return location.assign(`${page.places.operations}${operations[0].id}/`);
      const begun = gettext("The repair runs as operations, one for each topic.");
      const more = fill(
        ngettext("%(n)s finding is left: repair again.", "%(n)s findings are left: repair again.", left),
        { n: exact(left) },
      );
      toast(left ? `${begun} ${more}` : begun, "success");
      done();
    },
  });
  const look = () => post(`${path}:repair`, { ...request, validate_only: true });
  dialog.plan(seen, look, (/** @type {Api.Forecast} */ found) => {
    replace(seen, sentences(found));
    dialog.hold(!found.outcomes.done && found.looked_at === found.count);
  });
}

function sentences(/** @type {Api.Forecast} */ found) {
  const lines = Object.entries(OUTCOMES)
    .filter(([name]) => found.outcomes[/** @type {keyof Api.Outcomes} */ (name)])
    .map(([name, words]) =>
      h("div", {}, h("strong", {}, exact(found.outcomes[/** @type {keyof Api.Outcomes} */ (name)])), ` ${words}`),
    );
  const looked =
    found.looked_at < found.count
      ? h("div", { class: "rc-muted" }, fill(gettext("of the first %(n)s looked at"), { n: exact(found.looked_at) }))
      : null;
  const examples = found.examples.filter((each) => each.id !== null);
  return [
    h(
      "div",
      {},
      fill(ngettext("This is about %(n)s message.", "This is about %(n)s messages.", found.count), {
        n: exact(found.count),
      }),
    ),
    ...lines,
    looked,
    examples.length
      ? h(
          "ul",
          { class: "rc-examples" },
          examples.map((each) => h("li", { class: "rc-mono" }, each.id)),
        )
      : null,
  ];
}
