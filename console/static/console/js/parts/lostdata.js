// The server holds other data than it did: saying that this is meant to be so.
import { post } from "../core/api.js";
import { h } from "../core/dom.js";
import { page } from "../core/page.js";
import { gettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { ask } from "./ask.js";
import { guardedButton } from "./guardedbutton.js";
import { sentence } from "./problems.js";

/** Of that problem alone; the others have none here. */
export function acceptButton(/** @type {Live.Problem} */ problem) {
  if (problem.code !== "data_lost") return null;
  const missing = page.grants.actions.accept_data;
  const about = { action: "accept_data", symbol: "check", label: gettext("Accept…"), missing, look: "rc-small" };
  return guardedButton(about, () => accept(problem));
}

function accept(/** @type {Live.Problem} */ problem) {
  ask({
    title: gettext("Accept the server's data as it is?"),
    body: [
      h("p", {}, sentence(problem)),
      h(
        "p",
        {},
        gettext(
          "Alerts of what is calm now are over then. Nothing is deleted: what the archive has can still be restored.",
        ),
      ),
    ],
    label: gettext("Accept"),
    danger: true,
    submit: async ({ reason }) => {
      await post("problems/data-lost:accept", { found_ms: problem.values.found_ms, reason });
      toast(gettext("Accepted. The problem goes with the next look."));
    },
  });
}
