// Screens: which there are, and their links for displays that nobody signs in at.

import { get, post } from "../core/api.js";
import { serverNow } from "../core/clock.js";
import { byId, h, icon, replace } from "../core/dom.js";
import { dateTime, relative } from "../core/format.js";
import "../core/keys.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { ask } from "../parts/ask.js";
import { guardedButton, guardedLink } from "../parts/guardedbutton.js";
import { LiveList } from "../parts/livelist.js";

const { screen: mayDefine, screen_link: mayLink } = page.grants.actions;
const showAddress = (/** @type {string} */ name) => page.show.replace("NAME", name);

class Row {
  constructor(/** @type {Api.ScreenOut} */ item) {
    this.shown = "";
    this.panels = h("td", { class: "rc-less" });
    this.link = h("td");
    this.buttons = h("div", { class: "rc-row-actions" });
    this.element = h(
      "tr",
      {},
      h(
        "th",
        { scope: "row", class: "rc-operation-name" },
        h("a", { class: "rc-topic-link", href: showAddress(item.name) }, item.name),
        h("div", { class: "rc-muted rc-operation-query" }, item.title),
      ),
      this.panels,
      this.link,
      h("td", {}, this.buttons),
    );
  }

  update(/** @type {Api.ScreenOut} */ item) {
    const key = JSON.stringify(item);
    if (key === this.shown) return;
    this.shown = key;
    const lines = item.panels.split("\n").filter(Boolean);
    replace(
      this.panels,
      lines.map((line) => h("div", { class: "rc-mono" }, line)),
    );
    replace(this.link, item.linked ? fill(gettext("works, ends %(time)s"), { time: ends(item) }) : gettext("none"));
    this.link.title = item.linked ? `${dateTime(item.link_until_ms)} ${item.link_by}` : "";
    replace(
      this.buttons,
      h("a", { class: "rc-button", href: showAddress(item.name), target: "_blank" }, icon("tv"), gettext("Show")),
      guardedButton({ action: "link", symbol: "link", label: gettext("New link"), missing: mayLink }, () => link(item)),
      item.linked
        ? guardedButton({ action: "revoke", symbol: "link_off", label: gettext("Revoke"), missing: mayLink }, () =>
            revoke(item),
          )
        : null,
    );
  }
}

const ends = (/** @type {Api.ScreenOut} */ item) => relative(item.link_until_ms ?? 0, serverNow());

function link(/** @type {{ name: string }} */ { name }) {
  const days = h("input", { class: "rc-input", type: "number", name: "days", min: 1, max: 730, value: 180 });
  ask({
    title: fill(gettext("A new link for %(name)s"), { name }),
    body: [
      h(
        "p",
        {},
        gettext("Whoever has it sees this screen without signing in, and nothing else. The link before it ends."),
      ),
      h("label", {}, gettext("Days"), days),
    ],
    label: gettext("Make the link"),
    reason: "optional",
    submit: async ({ reason }) => {
      /** @type {Api.Link} */
      const { address } = await post(`screens/${encodeURIComponent(name)}:link`, { days: Number(days.value), reason });
      list.restart();
      told(name, address);
    },
  });
}

function told(/** @type {string} */ name, /** @type {string} */ address) {
  const field = h("input", { class: "rc-input", name: "address", readonly: true, value: address });
  ask({
    title: fill(gettext("The link of %(name)s"), { name }),
    body: [h("p", {}, gettext("It is shown this once: open it on the display now, or copy it.")), field],
    label: gettext("Done"),
    reason: null,
    focus: field,
    submit: () => true,
  });
  field.select();
}

const revoke = (/** @type {{ name: string }} */ { name }) =>
  ask({
    title: fill(gettext("Revoke the link of %(name)s"), { name }),
    body: [h("p", {}, gettext("Displays that show it are dark within seconds."))],
    label: gettext("Revoke"),
    danger: true,
    reason: "optional",
    submit: async ({ reason }) => {
      await post(`screens/${encodeURIComponent(name)}:revoke`, { reason });
      list.restart();
    },
  });

const list = new LiveList({
  ask: async () => {
    /** @type {Api.ScreenList} */
    const { screens } = await get("screens");
    return { rows: screens.map((item) => ({ ...item, id: item.name })), next: null, as_of_ms: serverNow() };
  },
  Row,
  isLive: () => false,
  label: gettext("Screens"),
  columns: [[gettext("Name")], [gettext("Panels"), "rc-less"], [gettext("Link")], [gettext("Actions")]],
  empty: [
    "tv",
    gettext("No screens"),
    gettext("A screen hangs on a wall: large figures, charts, heat maps, problems and alerts, in pages that turn."),
  ],
});
const define = guardedLink({
  href: `${page.forms}add/`,
  symbol: "add",
  label: gettext("New screen"),
  missing: mayDefine,
});
const change = h("a", { class: "rc-button", href: page.forms }, icon("edit"), gettext("Edit"));
replace(
  byId("rc-page"),
  h("div", { class: "rc-head" }, define, change, h("div", { class: "rc-status" }, list.asOf)),
  list.element,
);
