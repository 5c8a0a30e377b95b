// A message's content: JSON tree, text, hex. Large content is cut, and can be downloaded whole.
import { address, ofId, ofTopic } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { bytes } from "../core/format.js";
import { parse } from "../core/json.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { jsonTree } from "./jsontree.js";

/** @typedef {Pick<Api.Message, "id" | "slot" | "size" | "content" | "content_base64" | "truncated">} Content */
/** @typedef {[string, () => HTMLElement]} View */

const HEX_BYTES = 4096;

/** The content of a message as the API tells it: text, or base64 where it is none; neither where it may not be read. */
export function contentView(/** @type {Content} */ message, /** @type {string} */ download = downloadOf(message)) {
  if (message.content === null && message.content_base64 === null)
    return h("p", { class: "rc-masked" }, gettext("Hidden: reading content needs the permission “read_payload”."));
  const views = availableViews(message);
  const place = h("div", { class: "rc-content-place" });
  const buttons = Object.entries(views).map(([name, [label, build]]) =>
    h("button", { type: "button", dataset: { name }, onclick: () => choose(name, build) }, label),
  );
  function choose(/** @type {string} */ name, /** @type {() => HTMLElement} */ build) {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.name === name));
    replace(place, build());
  }
  const [first] = Object.entries(views);
  choose(first[0], first[1][1]);
  const cut = message.truncated
    ? h(
        "p",
        { class: "rc-muted" },
        fill(gettext("Only the beginning is shown; the whole is %(size)s."), { size: bytes(message.size) }),
      )
    : null;
  return h(
    "div",
    { class: "rc-content" },
    h(
      "div",
      { class: "rc-content-bar" },
      h("div", { class: "rc-segments", role: "group", "aria-label": gettext("View") }, buttons),
      h("span", { class: "rc-muted" }, bytes(message.size)),
      h("a", { href: download, download: "" }, gettext("Download")),
    ),
    cut,
    place,
  );
}

function downloadOf(/** @type {Content} */ message) {
  return address(ofTopic(page.topic.name, `/content/${ofId(message.id ?? "")}`), { slot: message.slot });
}

function availableViews(/** @type {Content} */ message) {
  /** @type {Record<string, View>} */
  const views = {};
  const tree = message.truncated || message.content === null ? null : tryParse(message.content);
  if (tree) views.json = [gettext("JSON"), () => jsonTree(tree.value)];
  if (message.content !== null) views.text = [gettext("Text"), () => h("pre", { class: "rc-pre" }, message.content)];
  views.hex = [gettext("Hex"), () => h("pre", { class: "rc-pre rc-hex" }, hexDump(bytesOf(message)))];
  return views;
}

function tryParse(/** @type {string} */ text) {
  try {
    return { value: parse(text) };
  } catch {
    return null;
  }
}

function bytesOf(/** @type {Content} */ { content, content_base64 }) {
  return content === null
    ? Uint8Array.from(atob(content_base64 ?? ""), (letter) => letter.charCodeAt(0))
    : new TextEncoder().encode(content);
}

function hexDump(/** @type {Uint8Array} */ whole) {
  const raw = whole.subarray(0, HEX_BYTES);
  const lines = [];
  for (let at = 0; at < raw.length; at += 16) {
    const part = [...raw.subarray(at, at + 16)];
    const hex = part
      .map((byte) => byte.toString(16).padStart(2, "0"))
      .join(" ")
      .padEnd(47);
    const text = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${hex}  ${text}`);
  }
  if (whole.length > HEX_BYTES) lines.push("…");
  return lines.join("\n");
}
