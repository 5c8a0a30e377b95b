// Dead letters as a file.
import { address, ofTopic } from "../core/api.js";
import { h, icon } from "../core/dom.js";
import { page } from "../core/page.js";
import { gettext } from "../core/text.js";
import { toast } from "../core/toast.js";

const FORMATS = [
  ["jsonl", "JSON Lines"],
  ["csv", "CSV"],
];

/** Links to a topic's dead letters that a filter matches, or to all; forbidden ones are shown and say why. */
export function exportMenu(topic, filter = {}) {
  const { state, ...query } = filter;
  const missing = page.grants.payload ? null : gettext("Reading content needs the permission “read_payload”.");
  return FORMATS.map(([name, label]) =>
    missing
      ? h(
          "button",
          {
            type: "button",
            class: "rc-button",
            "aria-disabled": "true",
            title: missing,
            onclick: () => toast(missing, "error"),
          },
          icon("download"),
          label,
        )
      : h(
          "a",
          {
            class: "rc-button",
            href: address(ofTopic(topic, "/dead:export"), { ...query, form: name }),
            download: "",
          },
          icon("download"),
          label,
        ),
  );
}
