// The page of one message.
import { byId, h, icon, replace } from "../core/dom.js";
import "../core/keys.js";
import { page } from "../core/page.js";
import { gettext } from "../core/text.js";
import { activity } from "../parts/activity.js";
import { endWords } from "../parts/gone.js";
import { messageView } from "../parts/messageview.js";

const SYMBOLS = { done: "check_circle", cancelled: "cancel", dropped: "delete" };

const views = page.messages.map((message) =>
  h(
    "section",
    { class: "rc-card" },
    h("h2", { class: "rc-message-id rc-mono" }, message.id ?? gettext("(hidden)")),
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
        page.lives.length
          ? page.lives.map((life) => [icon(SYMBOLS[life.state] ?? "history"), h("h2", {}, endWords(life))])
          : [
              icon("search_off"),
              h("h2", {}, gettext("No message has this id")),
              h(
                "p",
                {},
                gettext(
                  "It is not in the queue, and nothing is recorded of it: the id is different, or it ended while the topic's journal was off.",
                ),
              ),
            ],
        page.ident ? activity(page.ident, null) : null,
      ),
);
