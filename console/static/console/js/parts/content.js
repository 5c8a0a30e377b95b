// A message's content: JSON tree, text, hex. Large content is cut, and can be downloaded whole.
import { h, replace } from "../core/dom.js";
import { bytes } from "../core/format.js";
import { parse } from "../core/json.js";
import { fill, gettext } from "../core/text.js";
import { jsonTree } from "./jsontree.js";

const HEX_BYTES = 4096;

/** `content`: {size, truncated, text, base64} or null where it may not be read. */
export function contentView(content, download) {
  if (!content)
    return h("p", { class: "rc-masked" }, gettext("Hidden: reading content needs the permission “read_payload”."));
  const views = availableViews(content);
  const place = h("div", { class: "rc-content-place" });
  const buttons = Object.entries(views).map(([name, [label, build]]) =>
    h("button", { type: "button", dataset: { name }, onclick: () => choose(name, build) }, label),
  );
  function choose(name, build) {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.name === name));
    replace(place, build());
  }
  const [first] = Object.entries(views);
  choose(first[0], first[1][1]);
  const cut = content.truncated
    ? h(
        "p",
        { class: "rc-muted" },
        fill(gettext("Only the beginning is shown; the whole is %(size)s."), { size: bytes(content.size) }),
      )
    : null;
  return h(
    "div",
    { class: "rc-content" },
    h(
      "div",
      { class: "rc-content-bar" },
      h("div", { class: "rc-segments", role: "group", "aria-label": gettext("View") }, buttons),
      h("span", { class: "rc-muted" }, bytes(content.size)),
      h("a", { href: download, download: "" }, gettext("Download")),
    ),
    cut,
    place,
  );
}

function availableViews(content) {
  const views = {};
  const tree = content.truncated || content.text === null ? null : tryParse(content.text);
  if (tree) views.json = [gettext("JSON"), () => jsonTree(tree.value)];
  if (content.text !== null) views.text = [gettext("Text"), () => h("pre", { class: "rc-pre" }, content.text)];
  views.hex = [gettext("Hex"), () => h("pre", { class: "rc-pre rc-hex" }, hexDump(content.base64))];
  return views;
}

function tryParse(text) {
  try {
    return { value: parse(text) };
  } catch {
    return null;
  }
}

function hexDump(base64) {
  const raw = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)).subarray(0, HEX_BYTES);
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
  if (atob(base64).length > HEX_BYTES) lines.push("…");
  return lines.join("\n");
}
