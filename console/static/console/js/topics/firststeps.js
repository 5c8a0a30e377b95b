// An empty installation: the first message with one click, and the code that sends and takes the next ones.
import { ofTopic, post, put } from "../core/api.js";
import { h, icon } from "../core/dom.js";
import { page, topicAddress } from "../core/page.js";
import { gettext, messageOf } from "../core/text.js";
import { toast } from "../core/toast.js";
import { copyText } from "../parts/command.js";
import { guardedButton } from "../parts/guardedbutton.js";

const TOPIC = "hello";
const api = new URL(page.api, location.href).href;

/** What one sees where there is no topic; `more`: a further button. */
export function firstSteps(/** @type {Element} */ more) {
  const { create_topic: create, send } = page.grants.actions;
  const label = gettext("Send the first message now");
  return h(
    "div",
    { class: "rc-empty" },
    icon("stacks"),
    h("h2", {}, gettext("No topics yet")),
    h("p", {}, gettext("One click defines a topic “hello” and sends it a message; its page shows it waiting.")),
    h(
      "span",
      { class: "rc-actions" },
      guardedButton({ symbol: "send", label, missing: create ?? send, look: "rc-primary" }, first),
      more,
    ),
    h("p", {}, gettext("A worker that takes what is sent to it (pip install rmq-console), as hello.py:")),
    sample(WORKER),
    h("p", {}, gettext("What sends the next one, from Python; and from anywhere, with an API token:")),
    sample(PYTHON),
    sample(CURL),
    h("p", { class: "rc-muted" }, gettext("To see a live example, start the demo: make demo")),
  );
}

async function first() {
  try {
    await put(
      ofTopic(TOPIC),
      {},
      { kind: "priority", slots: 4, description: gettext("The first topic; delete it at will.") },
    );
    await post(ofTopic(TOPIC, "/messages"), { content: '{"hello": "world"}', priority: 100 });
    location.assign(`${topicAddress(TOPIC, "messages")}?state=ready`);
  } catch (problem) {
    toast(messageOf(problem), "error");
  }
}

function sample(/** @type {string} */ code) {
  const copy = h(
    "button",
    { type: "button", class: "rc-icon-button", "aria-label": gettext("Copy"), onclick: () => copyText(code) },
    icon("content_copy"),
  );
  return h("div", { class: "rc-sample" }, h("pre", { class: "rc-pre", tabindex: "0" }, code), copy);
}

const WORKER = `from rmq_core import Delivery, Topic, TopicKind, listener

@listener(Topic("hello", TopicKind.PRIORITY, slots=4))
def greet(delivery: Delivery) -> None:
    print(delivery.json())

# RMQ_URL=redis://… rmq worker hello`;

const PYTHON = `import os
from rmq_core import RMQ

RMQ(os.environ["RMQ_URL"]).send("hello", {"hello": "again"}, priority=100)`;

const CURL = `curl -X POST '${api}topics/hello/messages' \\
  -H "Authorization: Bearer $RMQ_TOKEN" -H 'Content-Type: application/json' \\
  -d '{"content": "{\\"hello\\": \\"you\\"}", "priority": 100}'`;
