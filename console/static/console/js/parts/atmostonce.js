// The mark of listeners that may lose what they are given: said wherever they are listed.
import { h } from "../core/dom.js";
import { gettext } from "../core/text.js";

export const atMostOnce = () =>
  h(
    "span",
    {
      class: "rc-tag rc-tag-warn",
      title: gettext('Done before the call (acks="none"): what fails, or is in hand when its worker dies, is lost.'),
    },
    gettext("At most once"),
  );
