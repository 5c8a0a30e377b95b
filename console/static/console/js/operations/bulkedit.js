// A dead letter whose content is put right: sent as a new message, the old one dropped.
import { ofTopic, post } from "../core/api.js";
import { h, setText } from "../core/dom.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { toast } from "../core/toast.js";
import { ask } from "../parts/ask.js";
import { guardedButton } from "../parts/guardedbutton.js";

/** A button for a message as the server describes it. `onDone()` when the new one is sent. */
export function correctButton(/** @type {Api.Message} */ message, /** @type {() => void} */ onDone) {
  const missing =
    page.grants.actions.send ??
    (message.content === null && message.content_base64 === null
      ? gettext("Reading content needs the permission “read_payload”.")
      : message.content === null || message.truncated
        ? gettext("Content that is no text, or too long to show, cannot be edited here.")
        : null);
  return guardedButton({ action: "correct", symbol: "edit", label: gettext("Edit and send"), missing }, () =>
    open(message, onDone),
  );
}

function open(/** @type {Api.Message} */ message, /** @type {() => void} */ onDone) {
  const area = h("textarea", { class: "rc-input rc-mono rc-edit", name: "content", rows: 12, required: true });
  area.value = message.content ?? "";
  const wasJson = isJson(area.value);
  const hint = h("p", { class: "rc-muted" });
  const mayDrop = !page.grants.actions.drop;
  const drop = h("input", { type: "checkbox", name: "drop", disabled: !mayDrop });
  drop.checked = mayDrop;
  const dialog = ask({
    title: fill(gettext("Edit %(id)s and send it as a new message"), { id: message.id }),
    body: [
      h("p", {}, gettext("It is due at once and goes to the same slot, with the same headers.")),
      h("label", {}, gettext("Content"), area),
      hint,
      h(
        "label",
        { class: "rc-check", title: page.grants.actions.drop },
        drop,
        h("span", {}, gettext("Then drop the dead letter")),
      ),
    ],
    label: gettext("Send"),
    wide: true,
    focus: area,
    submit: async ({ reason }) => {
      const { slot, id, at_ms } = message;
      const body = { slot, id, at_ms, content: area.value, drop: drop.checked, reason };
      /** @type {Api.Resent} */
      const sent = await post(ofTopic(page.topic.name, "/dead:resend"), body);
      toast(fill(gettext("Sent as %(id)s."), { id: sent.id }), "success");
      onDone();
    },
  });
  const look = () => {
    dialog.hold(area.value === message.content || !area.value);
    setText(hint, wasJson && !isJson(area.value) ? gettext("It was JSON and is no longer.") : "");
  };
  area.addEventListener("input", look);
  look();
}

function isJson(/** @type {string} */ text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
