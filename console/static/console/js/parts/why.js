// Why is it late? One sentence that decides, then whatever else holds it up, with the way to what it names.
import { get, ofId, ofTopic } from "../core/api.js";
import { h, icon, replace } from "../core/dom.js";
import { dateTime, duration, time } from "../core/format.js";
import { page, topicAddress } from "../core/page.js";
import { fill, gettext, messageOf } from "../core/text.js";
import { Drawer } from "./drawer.js";

const REFRESH_MS = 3000;

/** Of the topic: a panel that looks again while it is open, and stands still while the page does. */
export function openWhy(/** @type {import("../core/live.js").Live} */ live) {
  let timer = 0;
  const drawer = new Drawer(gettext("Why is it late?"), () => clearInterval(timer));
  const view = whyView({});
  drawer.show(view.element);
  timer = setInterval(() => live.paused || document.hidden || view.load(), REFRESH_MS);
}

/** `{id, slot}`: of a message; `{slot}`: of a slot; `{}`: of the topic. `load()` looks again. */
export function whyView(/** @type {{ id?: string | null, slot?: number | null }} */ { id = null, slot = null }) {
  const body = h("div", {}, h("p", { class: "rc-muted" }, gettext("Loading…")));
  const asked = h("p", { class: "rc-muted" });
  const element = h("section", { class: "rc-why" }, body, asked);
  const path = id === null ? "/why" : `/why/${ofId(id)}`;
  let shown = "";
  async function load() {
    try {
      /** @type {Api.Lateness} */
      const answer = await get(ofTopic(page.topic.name, path), { slot });
      const text = JSON.stringify(answer.reasons.map(({ text }) => text));
      if (text !== shown) keepingFocus(body, () => replace(body, draw(answer.reasons, slot)));
      shown = text;
      asked.textContent = asOf(answer);
    } catch (problem) {
      shown = "";
      replace(body, h("p", { class: "rc-error" }, messageOf(problem)));
    }
  }
  load();
  return { element, load };
}

/** Durations move, and whoever stands on a link stays there. */
function keepingFocus(/** @type {HTMLElement} */ body, /** @type {() => void} */ change) {
  const at = [...body.querySelectorAll("a")].indexOf(/** @type {HTMLAnchorElement} */ (document.activeElement));
  change();
  if (at >= 0) body.querySelectorAll("a")[at]?.focus();
}

function asOf(/** @type {Api.Lateness} */ { late_ms: late, at_ms: at }) {
  if (!late) return fill(gettext("as of %(time)s"), { time: time(at) });
  return fill(gettext("Late by %(late)s, as of %(time)s"), { late: duration(late), time: time(at) });
}

function draw(/** @type {Api.Cause[]} */ [first, ...others], /** @type {number | null} */ slot) {
  return [
    h(
      "p",
      { class: first.calm ? "rc-why-answer rc-why-calm" : "rc-why-answer" },
      icon(first.calm ? "info" : "hourglass_top"),
      h("strong", {}, first.text),
    ),
    ways(first.values, slot),
    since(first.values),
    others.length
      ? [
          h("p", { class: "rc-muted" }, gettext("What also holds it up:")),
          h(
            "ul",
            { class: "rc-why-others" },
            others.map((reason) => h("li", {}, reason.text, ways(reason.values, slot))),
          ),
        ]
      : null,
  ];
}

/** Where what a reason names is found. */
function ways(/** @type {Record<string, any>} */ values, /** @type {number | null} */ slot) {
  const links = [];
  if (values.worker) links.push(h("a", { href: `${page.root}workers/` }, gettext("Workers")));
  if (values.id && values.slot !== undefined) {
    const query = new URLSearchParams({ id: values.id, slot: values.slot });
    links.push(h("a", { href: `${topicAddress(page.topic.name, "message")}?${query}` }, gettext("Open the message")));
  }
  if (slot === null && values.slot !== undefined) {
    const address = `${topicAddress(page.topic.name)}?slot=${values.slot}`;
    links.push(h("a", { href: address }, fill(gettext("Slot %(slot)s"), { slot: values.slot })));
  }
  return links.length ? h("span", { class: "rc-why-ways" }, links) : null;
}

/** Who did it, and the moments behind the durations. */
function since(/** @type {Record<string, any>} */ values) {
  const lines = [];
  if (values.by)
    lines.push(
      fill(gettext("Paused by %(who)s, %(time)s."), { who: values.by, time: dateTime(values.since_ms) }) +
        (values.why ? ` ${values.why}` : ""),
    );
  if (values.note)
    lines.push(fill(gettext("Held since %(time)s: %(note)s"), { time: dateTime(values.since_ms), note: values.note }));
  if (values.taken_ms) lines.push(fill(gettext("Taken %(time)s."), { time: dateTime(values.taken_ms) }));
  if (values.due_ms) lines.push(fill(gettext("Due %(time)s."), { time: dateTime(values.due_ms) }));
  if (values.at_ms) lines.push(fill(gettext("Since %(time)s."), { time: dateTime(values.at_ms) }));
  return lines.length ? h("p", { class: "rc-muted rc-free" }, lines.join(" ")) : null;
}
