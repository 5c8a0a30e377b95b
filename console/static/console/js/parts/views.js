// "Views": this page as it is now, kept under a name for oneself or for everybody; and the way to those that are kept.
import { codeOf, get, post, remove } from "../core/api.js";
import { byId, h, icon, replace } from "../core/dom.js";
import { shortcut } from "../core/keys.js";
import { page } from "../core/page.js";
import { single } from "../core/press.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { toast } from "../core/toast.js";
import { ask } from "./ask.js";
import { atOnce } from "./atonce.js";

/** @typedef {Api.ViewOut} View */

const here = () => location.pathname.slice(page.root.length) + location.search;

const open = single(async () => {
  /** @type {View[]} */
  let views = [];
  try {
    views = (await get("views")).views;
  } catch (problem) {
    toast(messageOf(problem), "error");
    return;
  }
  const list = h("div", { class: "rc-views" });
  const name = h("input", { class: "rc-input", name: "name", maxlength: 60, required: true, autocomplete: "off" });
  const shared = h("input", { type: "checkbox", name: "shared" });
  const missing = page.grants.actions.share_view;
  shared.disabled = Boolean(missing);
  show(list, views);
  let replaced = "";
  ask({
    title: gettext("Views"),
    body: [
      list,
      h("label", {}, gettext("Save this page as it is now"), name),
      h("label", { class: "rc-check", title: missing }, shared, gettext("Share it with everybody who may see it")),
    ],
    label: gettext("Save view"),
    reason: null,
    focus: views.length ? (list.querySelector("a") ?? name) : name,
    submit: async () => {
      const body = { name: name.value, address: here(), shared: shared.checked, replace: replaced === name.value };
      try {
        await post("views", body);
      } catch (problem) {
        if (codeOf(problem) !== "view_exists") throw problem;
        replaced = name.value;
        throw new Error(gettext("There is a view of this name. Save once more to replace it."));
      }
      toast(fill(gettext("Saved as %(name)s."), { name: name.value }));
    },
  });
});

function show(/** @type {HTMLElement} */ list, /** @type {View[]} */ views) {
  const group = (/** @type {string} */ title, /** @type {boolean} */ shared) => {
    const some = views.filter((view) => view.shared === shared);
    return some.length
      ? [
          h("h3", {}, title),
          h(
            "ul",
            {},
            some.map((view) => line(list, view)),
          ),
        ]
      : [];
  };
  const nothing = h(
    "p",
    { class: "rc-muted" },
    gettext("No view is saved yet. A view keeps filters, order, tab and moment."),
  );
  replace(list, views.length ? [...group(gettext("Yours"), false), ...group(gettext("Shared"), true)] : nothing);
}

function line(/** @type {HTMLElement} */ list, /** @type {View} */ view) {
  const missing = view.shared ? page.grants.actions.share_view : null;
  const label = fill(gettext("Delete the view %(name)s"), { name: view.name });
  const says = view.shared ? fill(gettext("shared by %(name)s"), { name: view.username }) : view.topic;
  return h(
    "li",
    {},
    h("a", { href: view.url, "aria-current": view.address === here() ? "page" : null }, view.name),
    h("span", { class: "rc-muted" }, says),
    atOnce({ action: "delete", symbol: "delete", label, missing, bare: true, own: !view.shared }, async () => {
      show(list, (await remove(`views/${view.id}`, {})).views);
    }),
  );
}

const place = byId("header-inner")?.firstElementChild;
if (place && page.api) {
  place.append(
    h(
      "button",
      {
        type: "button",
        class: "rc-button rc-small rc-views-button",
        title: "v",
        "aria-label": gettext("Views"),
        onclick: open,
      },
      icon("bookmarks"),
      h("span", {}, gettext("Views")),
    ),
  );
  shortcut("v", gettext("Saved views"), open);
}
