"""The documents as a site: built strictly, and nothing of it comes from another host."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import rmq_core

ROOT = Path(__file__).parents[2]
LOADING = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}
"""Tags that a browser loads something for, and the attribute that says what."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site. A dead link, a dead anchor or a page outside the navigation stops the build."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)]
    environ = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(build, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    return folder


class Loads(HTMLParser):
    """What a page loads by itself, without anybody's click."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("rel") != "canonical" and (address := given.get(LOADING.get(tag, ""))):
            self.found.append(address)


def pages(site: Path) -> list[Path]:
    found = sorted(site.rglob("*.html"))
    assert len(found) > 60
    return found


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    foreign = []
    for page in pages(site):
        loads = Loads()
        loads.feed(page.read_text())
        assert loads.found
        foreign += [f"{page.name}: {address}" for address in loads.found if urlsplit(address).netloc]
    for sheet in site.rglob("*.css"):
        foreign += [f"{sheet.name}: {address}" for address in re.findall(r"url\(\W?(\w+://[^)]+)", sheet.read_text())]
    assert foreign == []


def test_what_the_code_says_is_on_the_pages(site: Path) -> None:
    """No mark was left as it was, and each made something."""
    for page in pages(site):
        assert "<!-- generated" not in page.read_text(), page
    assert "105-checks-for-the-browser" in (site / "decisions" / "index.html").read_text()
    assert not (site / "decisions" / "template.html").exists()


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    reference = (site / "reference" / "python.html").read_text()
    described = set(re.findall(r'id="rmq_core\.(?:errors\.)?(\w+)"', reference))
    assert set(rmq_core.__all__) - described == set()
