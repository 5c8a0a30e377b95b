// A dead letter whose content is put right: sent as a new message, the old one dropped.
import { h, icon, replace, setText } from "../core/dom.js";
import { post } from "../core/http.js";
import { page } from "../core/page.js";
import { fill, gettext } from "../core/text.js";
import { toast } from "../core/toast.js";

/** A button for a message as the server describes it. `onDone()` when the new one is sent. */
export function correctButton(message, onDone) {
  const text = message.content?.text;
  const missing =
    page.grants.actions.send ??
    (message.content === null
      ? gettext("Reading content needs the permission “read_payload”.")
      : text === null || text === undefined || message.content.truncated
        ? gettext("Content that is no text, or too long to show, cannot be edited here.")
        : null);
  return h(
    "button",
    {
      type: "button",
      class: "rc-button",
      dataset: { action: "correct" },
      "aria-disabled": missing ? "true" : null,
      title: missing,
      onclick: () => (missing ? toast(missing, "error") : open(message, onDone)),
    },
    icon("edit"),
    gettext("Edit and send"),
  );
}

function open(message, onDone) {
  const area = h("textarea", { class: "rc-input rc-mono rc-edit", name: "content", rows: 12, required: true });
  area.value = message.content.text;
  const wasJson = isJson(area.value);
  const hint = h("p", { class: "rc-muted" });
  const mayDrop = !page.grants.actions.drop;
  const drop = h("input", { type: "checkbox", name: "drop", disabled: !mayDrop });
  drop.checked = mayDrop;
  const reason = h("input", { class: "rc-input", name: "reason", maxlength: 500, required: true, autocomplete: "off" });
  const error = h("p", { class: "rc-error", role: "alert", hidden: true });
  const submit = h("button", { type: "submit", class: "rc-button rc-primary" }, gettext("Send"));
  const dialog = h("dialog", { class: "rc-dialog rc-wide", "aria-labelledby": "rc-edit-title" });
  const look = () => {
    submit.disabled = area.value === message.content.text || !area.value;
    setText(hint, wasJson && !isJson(area.value) ? gettext("It was JSON and is no longer.") : "");
  };
  area.addEventListener("input", look);
  const form = h(
    "form",
    { method: "dialog" },
    h("h2", { id: "rc-edit-title" }, fill(gettext("Edit %(id)s and send it as a new message"), { id: message.id })),
    h("p", {}, gettext("It is due at once and goes to the same slot, with the same headers.")),
    h("label", {}, gettext("Content"), area),
    hint,
    h(
      "label",
      { class: "rc-check", title: page.grants.actions.drop },
      drop,
      h("span", {}, gettext("Then drop the dead letter")),
    ),
    h("label", {}, gettext("Reason"), reason),
    error,
    h(
      "div",
      { class: "rc-dialog-buttons" },
      h("button", { type: "button", class: "rc-button", onclick: () => dialog.close() }, gettext("Back")),
      submit,
    ),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    const body = {
      message: [message.slot, message.id],
      content: area.value,
      drop: drop.checked,
      reason: reason.value,
    };
    try {
      const sent = await post(page.urls.resend, body);
      dialog.close();
      toast(fill(gettext("Sent as %(id)s."), { id: sent.id }), "success");
      onDone();
    } catch (problem) {
      replace(error, problem.message);
      error.hidden = false;
      look();
    }
  });
  dialog.addEventListener("close", () => dialog.remove());
  dialog.append(form);
  document.body.append(dialog);
  look();
  dialog.showModal();
  area.focus();
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
