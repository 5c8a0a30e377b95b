// The mark of a topic to which a worker gives fewer turns than it could.
import { h } from "../core/dom.js";
import { count } from "../core/format.js";
import { fill, gettext } from "../core/text.js";

/** @param {{ most: number, could: number } | undefined} turns those of a worker's topic; none of an older worker */
export const slowed = (turns) =>
  turns && turns.most < turns.could
    ? h(
        "span",
        {
          class: "rc-tag rc-tag-warn",
          title: gettext(
            "Its listener fails or has become slow here, so that the worker runs fewer of its calls at once, until it does better.",
          ),
        },
        fill(gettext("Slowed: %(now)s of %(all)s turns"), { now: count(turns.most), all: count(turns.could) }),
      )
    : null;
