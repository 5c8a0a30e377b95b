"""No English is left over in the admin's pages in Chinese, but for names and codes that are the same in both."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from console.models import AlertRule, Screen, TopicScope
from tests.console.conftest import Queue

CHINESE = {"accept-language": "zh-hans"}
WORD = re.compile("[A-Za-z]{2,}")
HAN = re.compile("[\u4e00-\u9fff]")
# Names of things, and of whoever is signed in; a language is named in itself.
NAMES = {
    "RMQ Console", "RMQ", "Apprise", "Webhook", "English", "admin", "Ctrl + K", "API", "JSON", "Team orders", "orders",
    "wall", "late", "en", "zh-hans",
}  # fmt: skip
FORMS = ("user", "group")
OURS = (
    "apitoken", "alertrule", "alertreceiver", "screen", "topicscope", "recurringmessage", "topicdefinition",
    "pipelineschedule", "routedefinition",
)  # fmt: skip


class Shown(HTMLParser):
    """Collects what is read on a page: no scripts, no names of icons."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: set[str] = set()
        self.unseen: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        icon = "material-symbols" in (dict(attrs).get("class") or "")
        if self.unseen is None and (icon or tag in ("script", "style", "template", "kbd")):
            self.unseen = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self.unseen:
            self.unseen = None

    def handle_data(self, data: str) -> None:
        if self.unseen is None:
            self.texts.add(" ".join(data.split()))


def left_over(html: str) -> set[str]:
    """Texts of a page with English words and no Chinese."""
    shown = Shown()
    shown.feed(html)
    return {each for each in shown.texts if WORD.search(each) and not HAN.search(each)} - NAMES


@pytest.mark.django_db
def test_nothing_english_is_left_over_where_people_sign_in(client: Client) -> None:
    page = client.get(reverse("admin:login"), headers=CHINESE).content.decode()
    assert left_over(page) == set()


def test_nothing_english_is_left_over_of_a_person(queue: Queue, as_role: Callable[..., Client]) -> None:
    """Their page has a date and a time, and says why their password is not shown."""
    browser = as_role("Admin")
    someone = User.objects.create(username="张三", password="!")
    page = browser.get(reverse("admin:auth_user_change", args=[someone.pk]), headers=CHINESE).content.decode()
    assert left_over(page) == set()
    assert "不保存密码原文" in page


@pytest.mark.parametrize("form", ["changelist", "add"])
@pytest.mark.parametrize("model", [*(f"auth_{each}" for each in FORMS), *(f"console_{each}" for each in OURS)])
def test_nothing_english_is_left_over(queue: Queue, as_role: Callable[..., Client], model: str, form: str) -> None:
    queue.topic()
    browser = as_role("Admin")
    User.objects.get().groups.add(Group.objects.create(name="Team orders"))
    TopicScope.objects.create(group=Group.objects.get(name="Editor"), patterns="*")
    AlertRule.objects.create(name="late", problem="no_workers")
    Screen.objects.create(name="wall", panels="figures")
    answer = browser.get(reverse(f"console_admin:{model}_{form}"), headers=CHINESE, follow=True)
    assert answer.status_code == 200
    assert left_over(answer.content.decode()) == set()


def test_this_test_sees_english(queue: Queue, as_role: Callable[..., Client]) -> None:
    page = as_role("Admin").get(reverse("console_admin:console_screen_add")).content.decode()
    assert len(left_over(page)) > 10


def test_roles_and_permissions_have_words(as_role: Callable[..., Client]) -> None:
    browser = as_role("Admin")
    form = reverse("console_admin:auth_group_add")
    assert "drop messages, delete topics, manage users" in unescape(browser.get(form).content.decode())
    text = browser.get(reverse("console_admin:console_apitoken_add"), headers=CHINESE).content.decode()
    assert 'value="Payload reader"' in text and "内容读取者" in text, "what is stored stays as it is"
