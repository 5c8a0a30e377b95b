"""The admin's list of topics: a page at a time, whatever their number."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client

from console.admin.topics import PER_PAGE
from rmq_core import TopicKind
from tests.console.conftest import Queue

pytestmark = pytest.mark.django_db
LIST = "/admin/console/topicdefinition/"


def names(page: str) -> list[str]:
    return re.findall(r'change/">([^<]+)</a>', page)


def test_many_topics_are_shown_by_the_page(queue: Queue, as_role: Callable[..., Client]) -> None:
    for n in range(PER_PAGE + 30):
        queue.topic(f"t-{n:03d}", TopicKind.PRIORITY, slots=1)
    browser = as_role("Viewer")
    first = browser.get(LIST).content.decode()
    assert len(names(first)) == PER_PAGE and f"1 to {PER_PAGE} of {PER_PAGE + 30} topics" in first
    second = browser.get(LIST, {"p": 2}).content.decode()
    assert len(set(names(first) + names(second))) == PER_PAGE + 30 and 'rel="next"' not in second
    found = browser.get(LIST, {"q": "t-12"}).content.decode()
    assert names(found) == [f"t-12{n}" for n in range(10)] and "topics</span>" not in found
    assert browser.get(LIST, {"p": "x"}).status_code == 200 == browser.get(LIST, {"p": "99"}).status_code
