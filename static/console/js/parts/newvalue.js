// The field for a new due time, or a new priority.
import { h, replace } from "../core/dom.js";
import { dateTime } from "../core/format.js";
import { gettext } from "../core/text.js";

/** `element` to show, `input` to focus, `read()` for the server. */
export function newValue(topic) {
  if (!topic.timed) {
    const input = h("input", { class: "rc-input", type: "number", min: 17, step: 1, required: true, name: "priority" });
    return {
      input,
      element: h("label", {}, gettext("New priority (17 or more, higher is sooner)"), input),
      read: () => ({ priority: input.value }),
    };
  }
  const input = h("input", {
    class: "rc-input",
    type: "datetime-local",
    step: 1,
    required: true,
    name: "due",
    value: localText(Date.now() + 600_000),
  });
  const shown = h("span", { class: "rc-muted" });
  const show = () => replace(shown, dateTime(new Date(input.value).getTime()));
  input.addEventListener("input", show);
  show();
  return {
    input,
    element: h("label", {}, gettext("New due time"), input, shown),
    read: () => ({ due_ms: new Date(input.value).getTime() }),
  };
}

function localText(ms) {
  const local = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}
