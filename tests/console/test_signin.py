"""Guessing passwords is slow, leaves a trace, and locks nobody else out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessLog
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connections
from django.test import Client, RequestFactory
from django.utils import timezone

from console.config import signin
from console.models import AuditEntry

PASSWORD = "long-Enough-4711"
HOME, AWAY = "192.0.2.1", "198.51.100.7"


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_superuser("ann", password=PASSWORD)


def attempt(name: str, password: str, address: str = HOME, **headers: str) -> Any:
    browser = Client(REMOTE_ADDR=address, headers=headers)
    return browser.post("/admin/login/?next=/", {"username": name, "password": password})


def let_pass(seconds: int) -> None:
    """As if that time had gone by."""
    for model in (AccessAttempt, AccessLog):
        for row in model.objects.all():
            model.objects.filter(pk=row.pk).update(attempt_time=row.attempt_time - timedelta(seconds=seconds))


def fail(name: str, times: int, address: str = HOME) -> None:
    """So many failures that count, however long that takes."""
    for number in range(times):
        assert attempt(name, f"wrong {number}", address).status_code in (200, 429)
        let_pass(signin.PAIR_WAITS_S.get(number + 1, 0) if number + 1 < times else 0)


def enters(name: str = "ann", password: str = PASSWORD, address: str = HOME) -> bool:
    answer = attempt(name, password, address)
    assert answer.status_code in (200, 302, 429)
    return answer.status_code == 302


def test_after_a_few_failures_the_right_password_has_to_wait(ann: User) -> None:
    fail("ann", 3)
    answer = attempt("ann", PASSWORD)
    assert answer.status_code == 429
    assert 1 <= int(answer["Retry-After"]) <= 5
    assert "You can try again in 5 seconds." in answer.content.decode()
    let_pass(6)
    assert enters()
    assert not AccessAttempt.objects.exists(), "who has signed in starts again"


def test_after_five_it_is_a_quarter_of_an_hour_which_more_tries_do_not_prolong(ann: User) -> None:
    fail("ann", 4)
    let_pass(20)
    last = attempt("ann", "wrong again")
    assert last.status_code == 429
    assert "You can try again in 15 minutes." in last.content.decode()
    let_pass(840)
    for _ in range(10):
        assert not enters()
    let_pass(61)
    assert enters()


def test_nobody_else_is_locked_out(ann: User) -> None:
    User.objects.create_superuser("bob", password=PASSWORD)
    fail("ann", 5)
    assert not enters("ann", address=HOME)
    assert enters("ann", address=AWAY)
    assert enters("bob", address=HOME)


def test_another_browser_or_a_forged_header_is_no_way_round(ann: User) -> None:
    fail("ann", 5)
    assert attempt("ann", PASSWORD, **{"User-Agent": "other", "X-Forwarded-For": AWAY}).status_code == 429
    AccessAttempt.objects.all().delete()
    for number in range(5):
        attempt("ann", "wrong", **{"User-Agent": f"browser {number}", "X-Forwarded-For": f"10.0.0.{number}"})
        let_pass(20)
    assert not enters()


def test_many_names_from_one_address_meet_a_limit_that_its_regulars_do_not(ann: User) -> None:
    User.objects.create_superuser("bob", password=PASSWORD)
    assert enters("ann")
    for number in range(signin.UNKNOWN_OF_ADDRESS):
        assert attempt(f"name{number}", "wrong").status_code == 200
    answer = attempt("bob", PASSWORD)
    assert answer.status_code == 429
    assert 890 < int(answer["Retry-After"]) <= 900
    assert not AccessAttempt.objects.filter(username="bob").exists()
    assert enters("ann"), "who has signed in from here before is no outsider"
    assert enters("bob", address=AWAY)
    let_pass(901)
    assert enters("bob")


def test_one_name_from_many_addresses_meets_a_limit_that_its_owner_does_not(ann: User) -> None:
    assert enters(address=HOME)
    for number in range(signin.UNKNOWN_OF_NAME):
        assert attempt("ann", "wrong", f"203.0.113.{number}").status_code == 200
    assert not enters(address=AWAY)
    assert enters(address=HOME)
    call_command("axes_reset_username", "ann")
    assert enters(address=AWAY)


def test_a_known_pair_is_forgotten_after_a_month(ann: User) -> None:
    assert enters()
    let_pass(31 * 86_400)
    for number in range(signin.UNKNOWN_OF_ADDRESS):
        attempt(f"name{number}", "wrong")
    assert not enters()
    let_pass(901)
    assert enters()
    assert AccessLog.objects.count() == 1, "what is too old is gone"


def test_failures_are_in_the_audit_and_what_is_no_name_is_not(ann: User) -> None:
    assert enters()
    fail("ann", 5)
    attempt("ann", "refused, not looked at")
    attempt("my-secret-password", "ann")
    entries = list(AuditEntry.objects.filter(action="sign_in").order_by("id"))
    assert [(each.username, each.result, each.address) for each in entries] == [
        *[("ann", "failed", HOME)] * 5,
        ("", "failed", HOME),
    ]
    assert entries[0].user == ann
    assert entries[4].detail == {"error": "wrong password", "next_try_in_s": 900}
    assert entries[5].detail["error"] == "unknown name"
    assert "my-secret-password" not in str(AuditEntry.objects.values())


def test_no_password_is_kept_or_logged(ann: User, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG"):
        fail("ann", 2)
        attempt("typed-into-the-name", "wrong")
    kept = str(list(AccessAttempt.objects.values("get_data", "post_data", "path_info")))
    assert "wrong" not in kept + caplog.text and "typed-into-the-name" not in caplog.text
    assert "failed to sign in as 'ann' from 192.0.2.1; waits 0 s" in caplog.text


def test_outsiders_cannot_fill_the_audit(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signin, "ENTRIES_AN_HOUR", 3)
    for number in range(5):
        attempt(f"name{number}", "wrong", f"203.0.113.{number}")
    assert AuditEntry.objects.count() == 3
    let_pass(901)
    attempt("one more", "wrong")
    assert AccessAttempt.objects.count() == 1, "what has run out is gone"


@pytest.mark.parametrize(
    ("name", "password"),
    [("a\0b", "x"), ("", ""), ("x" * 10_000, "x"), ("名" * 150, "x"), ("ann", "x" * 5_000), ("a'; --", "\ufffd")],
)
def test_odd_names_and_passwords_are_just_wrong(ann: User, name: str, password: str) -> None:
    assert attempt(name, password, **{"User-Agent": "é" * 300}).status_code == 200


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("", "0.0.0.0"),
        ("not an address", "0.0.0.0"),
    ],
)
def test_a_home_is_one_address(address: str, counted: str) -> None:
    assert signin.address_of(RequestFactory().get("/", REMOTE_ADDR=address)) == counted


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_tries_that_come_together_are_looked_at_one_by_one(roles_come_back: None) -> None:
    User.objects.create_superuser("ann", password=PASSWORD)

    def guess(number: int) -> int:
        try:
            return int(attempt("ann", f"wrong {number}").status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(12) as pool:
        answers = sorted(pool.map(guess, range(12)))
    assert answers == [200] * 3 + [429] * 9
    assert AuditEntry.objects.filter(action="sign_in").count() == 3


def test_the_page_that_says_wait_is_ours_in_both_languages(ann: User) -> None:
    fail("ann", 3)
    english = attempt("ann", PASSWORD).content.decode()
    assert "<h1>Please wait before you sign in again</h1>" in english
    assert 'href="/admin/login/?next=/"' in english
    chinese = attempt("ann", PASSWORD, **{"Accept-Language": "zh-hans"}).content.decode()
    assert "请稍候再登录" in chinese


def test_a_signed_in_person_and_a_session_go_on_while_their_name_is_guessed(ann: User) -> None:
    browser = Client(REMOTE_ADDR=HOME)
    browser.post("/admin/login/", {"username": "ann", "password": PASSWORD})
    fail("ann", 5)
    assert browser.get("/admin/auth/user/").status_code == 200
    assert timezone.now() - User.objects.get().last_login < timedelta(minutes=1)
