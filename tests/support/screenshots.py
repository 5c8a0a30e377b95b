"""Takes the pictures of `docs/screenshots` of the real demo: `python -m tests.support.screenshots`; some ten minutes.

It starts the demo in a folder of its own, waits until there is something to see (dead letters, a reconciliation with
findings), and photographs pages as an operator sees them. Look at the pictures before they are committed.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.console.stack import Stack
from tests.support.waiting import wait_until

FOLDER = Path(__file__).parents[2] / "docs" / "screenshots"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
SIZE: Any = {"width": 1280, "height": 800}
TALL: Any = {"width": 1280, "height": 1060}
PATIENCE_S = 1_800
"""On a busy machine Spark takes minutes to start."""


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Stack(Path(folder) / "data", "--demo") as stack,
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS) as browser,
    ):
        take(stack, signed_in(stack, browser))


def signed_in(stack: Stack, browser: Browser) -> Callable[..., AbstractContextManager[Page]]:
    """Opens pages as the administrator whom the first start makes."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(stack.address)
        page.fill("input[name=username]", "admin")
        page.fill("input[name=password]", (stack.folder / "admin_password").read_text().strip())
        page.click("button[type=submit]")
        page.locator(".rc-status-word").wait_for()
        state = context.storage_state()

    @contextmanager
    def opened(path: str, theme: Literal["light", "dark"] = "light", size: Any = SIZE) -> Iterator[Page]:
        options: Any = {"viewport": size, "color_scheme": theme, "reduced_motion": "reduce", "storage_state": state}
        with browser.new_context(**options) as context:
            page = context.new_page()
            page.goto(stack.address + path)
            yield page

    return opened


def take(stack: Stack, opened: Callable[..., AbstractContextManager[Page]]) -> None:
    """All of them. The demo has a schedule of its own for archives and reconciliations."""
    with opened("/") as page:
        run = wait_until(lambda: reconciled(stack, page), timeout_s=PATIENCE_S, what="a reconciliation with findings")
        page.reload()  # the small charts are sent when a page is opened
        expect(page.locator(".rc-status-word")).to_have_text("Live")
        photograph(page, "overview")
    with opened("/topics/departure-board/", "dark", TALL) as page:
        expect(page.locator(".rc-status-word")).to_have_text("Live")
        page.wait_for_timeout(2_000)  # the history is drawn with the first frames
        photograph(page, "topic")
    with opened(f"/reconciliation/{run}/") as page:
        page.locator("[data-action=repair]").first.wait_for()
        photograph(page, "reconciliation")


def reconciled(stack: Stack, page: Page) -> str | None:
    """The newest reconciliation that has found something."""
    listed = page.request.get(f"{stack.address}/api/v1/reconciliations").json()["runs"]
    found = [run["id"] for run in listed if run["kind"] == "reconcile" and run["state"] == "done" and run["findings"]]
    return found[0] if found else None


def photograph(page: Page, name: str) -> None:
    page.mouse.move(0, 0)
    page.screenshot(path=FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
