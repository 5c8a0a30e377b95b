"""A long night in fast motion: the page's clock is turned, its source answers at once, and its weight is looked at.

Nothing of the page is another: its timers run when the clock is turned on, and it asks, or is sent, as ever.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import CDPSession, Page, Route, WebSocketRoute
from playwright.sync_api import Error as PlaywrightError

from tests.support.waiting import wait_until

STEP_MS = 2_000
"""So often a wall display asks."""


@dataclass(frozen=True)
class Weight:
    """What a page holds once its rubbish is collected: JavaScript's heap in bytes, nodes, and listeners to events."""

    heap: int
    nodes: int
    listeners: int

    def __str__(self) -> str:
        return f"{self.heap / 1e6:.2f} MB, {self.nodes} nodes, {self.listeners} listeners"


class Scale:
    """Weighs a page."""

    def __init__(self, page: Page) -> None:
        self._session: CDPSession = page.context.new_cdp_session(page)
        self._session.send("HeapProfiler.enable")

    def weigh(self) -> Weight:
        for _ in range(3):  # what one collection frees may hold what the next one does
            self._session.send("HeapProfiler.collectGarbage")
        counted = self._session.send("Memory.getDOMCounters")
        heap = self._session.send("Runtime.getHeapUsage")["usedSize"]
        return Weight(int(heap), counted["nodes"], counted["jsEventListeners"])


class WallSource:
    """Answers a wall display in place of the server, each time with other numbers, or not at all."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = answer
        self._chance = random.Random(7)
        self.answered = 0
        self.now_ms = answer["now_ms"]
        self.away: str | None = None
        """How it is away: `refused`, `cut`, `restarting`, `proxy`; None: it answers."""

    def handle(self, route: Route) -> None:
        if self.away in ("refused", "cut"):
            return route.abort("connectionrefused" if self.away == "refused" else "internetdisconnected")
        if self.away == "restarting":
            return route.fulfill(status=503, body="{}")
        if self.away == "proxy":
            return route.fulfill(status=200, content_type="text/html", body="<h1>Back soon</h1>")
        self.answered += 1
        self.now_ms += STEP_MS
        return route.fulfill(json={**self._answer, "now_ms": self.now_ms, "age_ms": 300, "pages": self._pages()})

    def _pages(self) -> list[list[dict[str, Any]]]:
        return [[self._panel(panel) for panel in page] for page in self._answer["pages"]]

    def _panel(self, panel: dict[str, Any]) -> dict[str, Any]:
        some = self._chance.randrange
        match panel["kind"]:
            case "chart":
                points = [[self.now_ms - 1000 * age, some(10_000)] for age in range(300, 0, -1)]
                return panel | {"points": points}
            case "heatmap":
                return panel | {"slots": [some(1_000) for _ in range(64)]}
            case "topics":
                line = {"in_s": 1.5, "out_s": 2.5, "lag_ms": some(9_999), "dead": some(3), "workers": 2, "problems": []}
                lines = [line | {"name": f"topic-{n}", "backlog": some(99_999)} for n in range(some(3, 12))]
                return panel | {"lines": lines, "more": 0}
            case "problems":
                about = {"code": "lagging", "severity": "warning", "values": {"lag_ms": some(99_999)}, "since_ms": 1}
                return panel | {"lines": [about | {"topic": f"topic-{n}"} for n in range(some(12))], "more": some(9)}
            case "figures":
                values = {name: some(99_999) for name in panel["values"] or {}}
                return panel | {"values": values}
        return panel


class LiveSource:
    """Sends a page's frames in place of the server, each with other numbers; cuts the line, and lets nobody back in."""

    def __init__(self, page: Page, path: str) -> None:
        self._chance = random.Random(7)
        self._heard: dict[str, dict[str, Any]] = {}
        self._lines: list[WebSocketRoute] = []
        self._forwards = True
        self.away = False
        self.opened = 0
        page.route_web_socket(path, self._open)

    def _open(self, line: WebSocketRoute) -> None:
        self.opened += 1
        if self.away:
            return line.close()
        self._lines = [line]
        if not self._forwards:
            self.send(0)
            return None
        server = line.connect_to_server()

        def pass_on(message: str | bytes) -> None:
            found = json.loads(message)
            if self._forwards:
                self._heard[found["type"]] = found
                line.send(message)

        server.on_message(pass_on)
        return None

    def take_over(self, kind: str, page: Page) -> None:
        """From here on what is sent is ours, made from the newest frame of that kind."""
        wait_until(lambda: page.wait_for_timeout(50) or kind in self._heard, what=f"a frame {kind}")
        self._frame = self._heard[kind]
        self._forwards = False

    def cut(self) -> None:
        self.away = True
        for line in self._lines:
            line.close()

    @property
    def at_ms(self) -> int:
        return int(self._frame["at_ms"])

    def send(self, step_ms: int = 1_000) -> None:
        self._frame = self._varied(self._frame, step_ms)
        for line in self._lines:
            line.send(json.dumps(self._frame))

    def _varied(self, frame: dict[str, Any], step_ms: int) -> dict[str, Any]:
        frame = {**frame, "at_ms": frame["at_ms"] + step_ms}
        if "point" in frame:
            _, *others = frame["point"]
            frame["point"] = [frame["at_ms"], *map(self._other, others)]
        for name in ("numbers", "totals"):
            if isinstance(frame.get(name), dict):
                frame[name] = {key: self._other(value) for key, value in frame[name].items()}
        if isinstance(frame.get("slots"), list):
            frame["slots"] = [[self._other(each) for each in row] if isinstance(row, list) else self._other(row)
                              for row in frame["slots"]]  # fmt: skip
        if isinstance(frame.get("topics"), list):
            frame["topics"] = [{**each, "at_ms": frame["at_ms"], "backlog": self._other(each["backlog"])}
                               for each in frame["topics"]]  # fmt: skip
        return frame

    def _other(self, value: Any) -> Any:
        return self._chance.randrange(100_000) if type(value) is int else value


# Playwright notes each turn of its own for the pages that come, which weighs more than the page does.
_TURN = """async ([step, times]) => {
  const { controller, builtins } = globalThis.__pwClock;
  for (let turn = 0; turn < times; turn += 1) {
    await controller.runFor(step);
    await new Promise((done) => builtins.setTimeout(done, 3));
  }
}"""


def turn(page: Page, step_ms: int, times: int = 1) -> None:
    """The page's clock goes on, so many times; what the page asks meanwhile is answered. It may load itself anew."""
    try:
        page.evaluate(_TURN, [step_ms, times])
    except PlaywrightError as error:
        if "Execution context was destroyed" not in str(error):
            raise
        page.wait_for_load_state("load")


def flat(before: Weight, after: Weight, *, heap: float = 0.10, slack: int = 400_000) -> list[str]:
    """What has grown by more than belongs to the numbers of one moment."""
    grown = []
    if after.heap > before.heap * (1 + heap) + slack:
        grown.append(f"heap: {before} → {after}")
    if after.nodes > before.nodes + 250:
        grown.append(f"nodes: {before} → {after}")
    if after.listeners > before.listeners + 20:
        grown.append(f"listeners: {before} → {after}")
    return grown
