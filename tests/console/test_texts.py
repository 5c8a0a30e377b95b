"""The Chinese catalogues: complete, compiled, and keeping every placeholder."""

from __future__ import annotations

import gettext
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

from console.config.environment import BASE_DIR
from rmq_core.why.sentences import HIDDEN, SENTENCES, Plural
from tests.console.conftest import Queue

FOLDER = BASE_DIR / "console" / "locale" / "zh_Hans" / "LC_MESSAGES"
IN_SCRIPTS = re.compile(r'n?gettext\(\s*"((?:[^"\\]|\\.)*)"')
IN_PYTHON = re.compile(r'\b(?:gettext|gettext_lazy|_)\(\s*"((?:[^"\\]|\\.)*)"\s*\)')
IN_TEMPLATES = re.compile(r"""{% translate ["'](.*?)["'] %}""")
SAME_IN_BOTH = {"Apprise", "Webhook", "JSON", "ZooKeeper"}
# What was said beside the one word for a thing (worker, slot, header, keeper, late, delayed, died, …): that word.
ONE_WORD = {
    **{"工作者": "消费者", "消费者组": "消费组", "拥有者": "所有者", "槽依据": "槽位依据", "标头": "消息头"},
    **{"守护进程": "keeper", "迟到": "延迟", "延迟中": "延时中", "死亡": "成为死信", "任务进程": "作业进程"},
    **{"重新安排": "改期", "首次发现": "首次出现", "立即执行": "立即运行", "重新排队": "重新入队", "日程": "计划"},
}
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w+\}")


def texts(folder: str, suffix: str, pattern: re.Pattern[str]) -> set[str]:
    files = [path for path in (BASE_DIR / folder).rglob(f"*{suffix}") if "demo" not in path.relative_to(BASE_DIR).parts]
    assert files
    return {found for path in files for found in pattern.findall(path.read_text())}


def used(domain: str) -> set[str]:
    if domain == "djangojs":
        return texts("console/static/console/js", ".js", IN_SCRIPTS)
    return texts("console", ".py", IN_PYTHON) | texts("console/templates", ".html", IN_TEMPLATES) | of_the_engine()


def of_the_engine() -> set[str]:
    """What the engine says in English, and pages in their language."""
    return {HIDDEN} | {each.one if isinstance(each, Plural) else each for each in SENTENCES.values()}


def compiled(domain: str) -> gettext.GNUTranslations:
    with (FOLDER / f"{domain}.mo").open("rb") as file:
        return gettext.GNUTranslations(file)


@pytest.mark.parametrize("domain", ["django", "djangojs"])
def test_every_text_is_translated_and_keeps_its_placeholders(domain: str) -> None:
    catalogue = compiled(domain)
    for text in used(domain):
        translated = catalogue.gettext(text)
        if translated == text:
            translated = catalogue.ngettext(text, text, 1)
        hint = "run makemessages, translate, compilemessages"
        assert translated != text or text in SAME_IN_BOTH, f"not translated ({hint}): {text!r}"
        assert sorted(PLACEHOLDER.findall(translated)) == sorted(PLACEHOLDER.findall(text)), text


@pytest.mark.parametrize("domain", ["django", "djangojs"])
def test_the_compiled_catalogue_is_the_written_one(domain: str) -> None:
    written = (FOLDER / f"{domain}.po").read_text()
    for text in re.findall(r'^msgstr(?:\[0\])? "(.+)"$', written, re.MULTILINE):
        if "\\" not in text:
            assert text.encode() in (FOLDER / f"{domain}.mo").read_bytes(), text


@pytest.mark.parametrize("domain", ["django", "djangojs"])
def test_one_thing_has_one_word(domain: str) -> None:
    written = (FOLDER / f"{domain}.po").read_text()
    said = "\n".join(re.findall(r'^msgstr(?:\[0\])? "(.+)"$', written, re.MULTILINE))
    assert "消息" in said
    assert {former: word for former, word in ONE_WORD.items() if former in said} == {}


def test_pages_speak_the_language_of_their_reader(queue: Queue, as_role: Callable[..., Client]) -> None:
    queue.topic()
    browser = as_role("Viewer")
    page = browser.get("/topics/orders/dead/", headers={"accept-language": "zh-hans"}).content.decode()
    assert "死信" in page and 'lang="zh-hans"' in page
    scripts = browser.get("/texts.js", headers={"accept-language": "zh-hans"}).content
    assert "无消费者".encode("unicode_escape") in scripts
    browser.post("/language/setlang/", {"language": "zh-hans"})
    assert "总览" in browser.get("/").content.decode()


def test_this_test_sees_texts() -> None:
    assert len(used("djangojs")) > 200
    assert len(used("django")) > 40
    assert isinstance(FOLDER, Path)
