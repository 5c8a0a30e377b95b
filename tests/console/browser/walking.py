"""Opens what a page has to open, button by button, and says what is seen then. Nothing is changed by it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page, Route
from playwright.sync_api import TimeoutError as PlaywrightTimeout

OPENS_MS = 10_000
# How much of what the page asks for is still to come.
COUNTS = """(() => {
  const asks = window.fetch;
  window.rcPending = 0;
  window.fetch = async (...given) => {
    window.rcPending += 1;
    try {
      return await asks(...given);
    } finally {
      window.rcPending -= 1;
    }
  };
})()"""
OPEN = "() => !document.querySelector('.rc-waiting') && !document.body.innerText.includes('正在加载')"
REFUSAL = {"code": "refused", "message": "拒绝", "fields": []}
# Texts and what stands for them, of what is seen; code, content and what is typed are data.
SEEN = """() => {
  const found = new Set([document.title]);
  const skipped = "script, style, template, code, pre, kbd, textarea, .material-symbols-outlined, .rc-mono";
  const attributes = ["title", "aria-label", "aria-description", "aria-valuetext", "placeholder", "alt", "data-title"];
  const visit = (element) => {
    const seen = element.matches("option") || element.checkVisibility({ visibilityProperty: true });
    if (!seen || element.matches(skipped)) return;
    for (const name of attributes)
      if (element.hasAttribute(name)) found.add(element.getAttribute(name));
    for (const node of element.childNodes) {
      if (node.nodeType === Node.TEXT_NODE) found.add(node.data.replace(/\\s+/g, " ").trim());
      else if (node.nodeType === Node.ELEMENT_NODE) visit(node);
    }
  };
  visit(document.body);
  return [...found].filter(Boolean);
}"""
# Each kind of button once, by what it does or says; numbers and names of things do not make it another kind.
PRESSED = (
    "#rc-page :is(button, summary, [role=button]), .rc-views-button, "
    "dialog[open] button[aria-pressed], .rc-drawer-body :is(button, summary)"
)
NAMES = """(selector) => {
  const kinds = new Map();
  for (const each of document.querySelectorAll(selector)) {
    if (!each.checkVisibility() || each.disabled || each.getAttribute("aria-disabled") === "true") continue;
    const says = each.getAttribute("aria-label") || each.textContent;
    const does = each.dataset.action ?? says.replace(/zz[\\w.@-]*|\\d+/g, "#");
    const kind = `${each.closest("dialog, .rc-drawer") ? "d" : "p"} ${does}`;
    if (!kinds.has(kind)) kinds.set(kind, each);
  }
  window.rcKinds = kinds;
  return [...kinds.keys()];
}"""
COPIES = """(kind) => {
  const pressed = window.rcKinds.get(kind);
  return [".rc-at-once", "form"].some((each) => pressed.closest(each)?.querySelector(".rc-copy-button, .rc-copy-as"));
}"""
DIALOGS = """() => [...document.querySelectorAll("dialog[open]:has(button[type=submit])")]
  .filter((each) => !each.querySelector(".rc-copy-as")).map((each) => each.querySelector("h2")?.textContent ?? "")"""


@dataclass
class Step:
    """What was pressed ("" at the beginning), the texts that are seen then, which actions have nothing to copy."""

    pressed: str
    texts: set[str]
    not_copied: list[str]


class Walk:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.asked: list[str] = []
        page.add_init_script(COUNTS)
        page.route("**/api/v1/**", self._answer)

    def _answer(self, route: Route) -> None:
        """Looks are let through, changes are not."""
        request = route.request
        body: Any = request.post_data_json if request.post_data else {}
        if request.method in ("GET", "HEAD") or body.get("validate_only") or "validate_only=true" in request.url:
            route.fallback()
        else:
            self.asked.append(f"{request.method} {request.url}")
            route.fulfill(status=409, content_type="application/problem+json", body=json.dumps(REFUSAL))

    def open(self, address: str) -> None:
        self.page.goto(address)
        with suppress(PlaywrightTimeout):  # what still waits then is looked at as it is
            self.page.wait_for_function(OPEN, timeout=OPENS_MS)
        self.settle()

    def settle(self) -> None:
        """Until nothing that was asked for is still to come, and what came is drawn."""
        for _ in range(2):  # an answer may lead to the next question
            self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)))")
            with suppress(PlaywrightTimeout):
                self.page.wait_for_function("() => !window.rcPending", timeout=OPENS_MS)

    def steps(self, address: str) -> Iterator[Step]:
        self.open(address)
        yield Step("", self.texts(), [])
        start, done = self.page.url, set[str]()
        while left := [each for each in self.page.evaluate(NAMES, PRESSED) if each not in done]:
            kind = next((each for each in left if each[0] == "d"), left[0])
            done.add(kind)
            yield self.press(kind)
            more = any(each[0] == "d" and each not in done for each in self.page.evaluate(NAMES, PRESSED))
            if not more or self.page.url.partition("?")[0] != start.partition("?")[0]:
                self.back(address, start)

    def press(self, kind: str) -> Step:
        copies, before = self.page.evaluate(COPIES, kind), len(self.asked)
        self.page.evaluate("(kind) => window.rcKinds.get(kind).click()", kind)
        self.settle()
        not_copied = list(self.page.evaluate(DIALOGS))
        if len(self.asked) > before and not copies:
            not_copied.append(kind)
        return Step(kind, self.texts(), not_copied)

    def back(self, address: str, start: str) -> None:
        for _ in range(3):
            if self.page.locator("dialog[open]").count():
                self.page.keyboard.press("Escape")
        if self.page.url != start or self.page.locator("dialog[open], .rc-toast").count():
            self.open(address)

    def texts(self) -> set[str]:
        return set(self.page.evaluate(SEEN))
