// The page of one message.
import { byId, h, icon, replace } from "../core/dom.js";
import "../core/keys.js";
import { page } from "../core/page.js";
import { gettext } from "../core/text.js";
import { activity } from "../parts/activity.js";
import { messageView } from "../parts/messageview.js";

const views = page.messages.map((message) =>
  h(
    "section",
    { class: "rc-card" },
    messageView(message, Date.now(), () => location.reload()),
  ),
);
replace(
  byId("rc-message"),
  views.length
    ? views
    : h(
        "div",
        { class: "rc-empty" },
        icon("search_off"),
        h("h2", {}, gettext("No message has this id")),
        h("p", {}, gettext("It may be done, cancelled or dropped by now, or the id is different.")),
        page.ident ? activity(page.ident, null) : null,
      ),
);
