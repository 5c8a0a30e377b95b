// The page of one message.

import { get, ofTopic } from "../core/api.js";
import { serverNow } from "../core/clock.js";
import { byId, h, icon, replace } from "../core/dom.js";
import "../core/keys.js";
import { page } from "../core/page.js";
import { gettext, messageOf } from "../core/text.js";
import { activity } from "../messages/activity.js";
import { ArchiveLook } from "../messages/archived.js";
import { endWords } from "../messages/gone.js";
import { hasTold, reportOf, reportView } from "../messages/messagereport.js";
import { messageView } from "../messages/messageview.js";
import { whyView } from "../parts/why.js";
import { entryView } from "../streams/entryview.js";

/** @type {Record<string, string>} */
const SYMBOLS = {
  done: "check_circle",
  cancelled: "cancel",
  dropped: "delete",
  expired: "timer_off",
  outdated: "history",
  lost: "error",
};

if (page.topic.kind === "stream") await showEntries();
else await showMessages();

async function showMessages() {
  const path = ofTopic(page.topic.name, "/messages:find");
  /** @type {Api.Known} */
  const found = page.ident ? await get(path, { id: page.ident }) : { messages: [], records: [] };
  const here = page.slot === null ? found.messages : found.messages.filter(({ slot }) => slot === page.slot);
  const views = here.map((message) =>
    h(
      "section",
      { class: "rc-card" },
      h("h2", { class: "rc-message-id rc-mono" }, message.id ?? gettext("(hidden)")),
      messageView(message, serverNow(), () => location.reload()),
    ),
  );
  const report = page.ident && !views.length ? await reportOf(page.ident) : null;
  // An id that nothing else knows is looked for in the archive.
  const archive =
    page.ident && !views.length && !found.records.length && !report?.done ? new ArchiveLook(page.ident) : null;
  const told = report !== null && hasTold(report);
  replace(
    byId("rc-message"),
    // What a group has not read yet is no message of it.
    views.length || !page.ident || page.topic.kind !== "group"
      ? null
      : h(
          "section",
          { class: "rc-card" },
          h("h3", {}, gettext("Why is it late?")),
          whyView({ id: page.ident, slot: page.slot }).element,
        ),
    views.length
      ? views
      : (archive?.head ??
          h(
            "div",
            { class: "rc-empty" },
            report?.done && !found.records.length
              ? [icon(SYMBOLS.done), h("h2", {}, gettext("It has been handled"))]
              : found.records.length
                ? found.records.map((record) => [
                    icon(SYMBOLS[record.state] ?? "history"),
                    h("h2", {}, endWords(record)),
                  ])
                : [icon("search_off"), h("h2", {}, gettext("The address names no message"))],
          )),
    archive?.steps,
    told
      ? h(
          "section",
          { class: "rc-card" },
          h("h3", {}, gettext("What its listener told")),
          reportView(page.ident, report),
        )
      : null,
    views.length || !page.ident
      ? null
      : h("section", { class: "rc-card" }, h("h3", {}, gettext("What happened")), activity(page.ident, null)),
  );
}

async function showEntries() {
  const place = byId("rc-message");
  try {
    /** @type {Api.FoundEntries} */
    const { entries } = await get(ofTopic(page.topic.name, `/entries/${page.ident}`), { slot: page.slot });
    replace(
      place,
      entries.map((entry) =>
        h(
          "section",
          { class: "rc-card" },
          h("h2", { class: "rc-message-id rc-mono" }, entry.id),
          entryView(entry, () => location.reload()),
        ),
      ),
    );
  } catch (problem) {
    replace(place, h("div", { class: "rc-empty" }, icon("search_off"), h("h2", {}, messageOf(problem))));
  }
}
