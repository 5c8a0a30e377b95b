"""Opens what a page has to open, button by button, and says what is seen then. Nothing is changed by it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as PlaywrightTimeout

OPENS_MS = 10_000
# How much of what the page asks for is still to come, and how many changes it asked for: looks are let through, changes
# are refused. In the page, for a browser keeps nothing of what it fetches once its requests are routed elsewhere.
GUARD = """(() => {
  const asks = window.fetch;
  const refusal = { code: "refused", message: "拒绝", fields: [] };
  const problem = { status: 409, headers: { "Content-Type": "application/problem+json" } };
  const looks = (url, { method = "GET", body = "{}" }) =>
    ["GET", "HEAD"].includes(method) || String(url).includes("validate_only=true") || JSON.parse(body).validate_only;
  window.rcPending = window.rcRefused = 0;
  window.fetch = async (url, options = {}) => {
    if (!looks(url, options)) {
      window.rcRefused += 1;
      return new Response(JSON.stringify(refusal), problem);
    }
    window.rcPending += 1;
    try {
      return await asks(url, options);
    } finally {
      window.rcPending -= 1;
    }
  };
})()"""
OPEN = "() => !document.querySelector('.rc-waiting') && !document.body.innerText.includes('正在加载')"
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
# Each kind of button once, by what it does or says; numbers and names of things do not make it another kind. It begins
# with where it is: in what is open above the page, on the page, or there as one of those that choose what is shown.
PRESSED = (
    "#rc-page :is(button, summary, [role=button]), .rc-views-button, "
    "dialog[open] button[aria-pressed], .rc-drawer-body :is(button, summary)"
)
NAMES = """(selector) => {
  const kinds = new Map();
  const place = (each) =>
    each.closest("dialog, .rc-drawer") ? "d" : each.closest("[aria-pressed], [aria-sort], thead") ? "c" : "p";
  for (const each of document.querySelectorAll(selector)) {
    if (!each.checkVisibility() || each.disabled || each.getAttribute("aria-disabled") === "true") continue;
    const says = each.getAttribute("aria-label") || each.textContent;
    const plain = says.replace(/zz[\\w.@-]*|–|\\d[\\d.]*( (ms|[smhd])\\b)?/g, "#").replace(/#( #)+/g, "#");
    const kind = `${place(each)} ${each.dataset.action ?? plain}`;
    if (!kinds.has(kind)) kinds.set(kind, each);
  }
  window.rcKinds = kinds;
  return [...kinds.keys()];
}"""
COPIES = """(kind) => {
  const pressed = window.rcKinds.get(kind);
  return [".rc-at-once", "form"].some((each) => pressed.closest(each)?.querySelector(".rc-copy-button, .rc-copy-as"));
}"""
REFUSED = "() => window.rcRefused"
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
        page.add_init_script(GUARD)

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
        """Each kind of button once, those that choose what is shown last. The page is opened anew only where one is not
        there any more, or was there at the beginning and something else is shown now."""
        self.open(address)
        yield Step("", self.texts(), [])
        start, done, seen, first, is_new = self.page.url, set[str](), set[str](), set[str](), True
        while True:
            here = self.kinds() if self.path() == start.partition("?")[0] else []
            if here and not any(each[0] == "d" and each not in done for each in here) and self.close():
                here = self.kinds()
            if is_new:
                first = set(here)
            seen.update(here)
            left = [each for each in here if each not in done]
            if self.page.url != start and any(each[0] == "p" for each in first - done):
                left = [each for each in left if each not in first]
            if left:
                kind = min(left, key=lambda each: "dpc".index(each[0]))
                done.add(kind)
                is_new = False
                yield self.press(kind)
            elif is_new or not seen - done:
                return
            else:
                self.open(address)
                is_new = True

    def kinds(self) -> list[str]:
        found: list[str] = self.page.evaluate(NAMES, PRESSED)
        return found

    def path(self) -> str:
        return self.page.url.partition("?")[0]

    def press(self, kind: str) -> Step:
        copies, before = self.page.evaluate(COPIES, kind), self.page.evaluate(REFUSED)
        self.page.evaluate("(kind) => window.rcKinds.get(kind).click()", kind)
        self.settle()
        not_copied = list(self.page.evaluate(DIALOGS))
        if self.page.evaluate(REFUSED) > before and not copies:
            not_copied.append(kind)
        return Step(kind, self.texts(), not_copied)

    def close(self) -> bool:
        """What is open above the page; returns whether anything was."""
        opened = self.page.locator("dialog[open], .rc-drawer").count()
        for _ in range(opened):
            self.page.keyboard.press("Escape")
        return opened > 0

    def texts(self) -> set[str]:
        return set(self.page.evaluate(SEEN))
