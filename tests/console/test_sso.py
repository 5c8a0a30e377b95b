"""Single sign-on against a real provider: in, with the right roles; still there; out."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.exceptions import ImproperlyConfigured

from console.config.environment import read_environment
from rmq_core.embedded.redis import EmbeddedRedis
from tests.console.sso_desk import Browser, Process, Provider, console_with, token_of
from tests.support.waiting import wait_until

Desk = tuple[Provider, Process, str]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, redis_server: EmbeddedRedis) -> Iterator[Desk]:
    with console_with(tmp_path_factory.mktemp("sso"), redis_server.url) as found:
        yield found


@pytest.fixture
def browser(desk: Desk) -> Browser:
    return Browser(desk[2])


DOOR = "sso/rmq/login/?next=/workers/"


def test_the_button_leads_to_the_provider_and_back(desk: Desk, browser: Browser) -> None:
    provider, console, address = desk
    provider.has("bob", "ops", "elsewhere")
    page = browser.follow(browser.get("workers/"))
    assert page.url == f"{address}admin/login/?next=/workers/"
    assert "Sign in with Example Inc." in page.text and 'href="/sso/rmq/login/?next=%2Fworkers%2F"' in page.text
    there = browser.sign_in("bob", DOOR)
    assert (there.status_code, there.url) == (200, f"{address}workers/"), console.log[-2_000:]
    (asked,) = [each for each in browser.way if "/o/authorize/" in each and "accounts" not in each][:1]
    query = parse_qs(urlsplit(asked).query)
    assert query["code_challenge_method"] == ["S256"] and query["code_challenge"] and query["state"]
    me = browser.me()
    assert me["name"] == "bob" and "operate" in me["permissions"] and "administer" not in me["permissions"]
    assert provider.origin in page.headers["Content-Security-Policy"], "signing out leads there"


def test_an_account_here_of_the_same_name_is_somebody_else(desk: Desk, browser: Browser) -> None:
    desk[0].has("ann", "lookers", "team-orders")
    assert browser.sign_in("ann", DOOR).status_code == 200
    me = browser.me()
    assert me["name"] != "ann" and me["permissions"] == ["view_live"]
    assert me["topics"] == ["orders"], "groups may carry topics"


def test_who_has_no_role_here_is_told_so(desk: Desk, browser: Browser) -> None:
    desk[0].has("eve", "elsewhere", "nowhere")
    answer = browser.sign_in("eve", DOOR)
    assert answer.status_code == 403 and "nobody has given you a role here" in answer.text
    assert browser.get("api/v1/me").status_code == 401


def test_an_answer_that_was_not_asked_for_is_refused(desk: Desk, browser: Browser) -> None:
    for forged in ("?code=x&state=y", "?error=access_denied&state=y", ""):
        answer = browser.get(f"sso/rmq/login/callback/{forged}")
        assert answer.status_code == 502 and "Signing in did not work" in answer.text
    assert browser.get("sso/other/login/").status_code == 404


def test_nobody_ties_an_account_of_theirs_to_another(desk: Desk, browser: Browser) -> None:
    desk[0].has("gil", "lookers")
    browser.sign_in("gil", DOOR)
    answer = browser.follow(browser.get(f"{DOOR}&process=connect"))
    assert answer.status_code == 502 and browser.me()["name"] == "gil"


def test_roles_follow_and_who_is_gone_is_out(desk: Desk, browser: Browser) -> None:
    provider = desk[0]
    provider.has("cid", "ops")
    browser.sign_in("cid", DOOR)
    assert "operate" in browser.me()["permissions"]
    provider.has("cid", "lookers")
    wait_until(lambda: browser.me()["permissions"] == ["view_live"], what="the roles to follow")
    before = provider.asked("cid")
    for turn in (1, 2):  # each time with the newest refresh token
        wait_until(
            lambda: browser.me()["name"] == "cid" and provider.asked("cid") >= before + turn,  # noqa: B023
            what="the provider to be asked again",
        )
    provider.has("cid", "lookers", active=False)
    wait_until(lambda: browser.get("api/v1/me").status_code == 401, what="who is gone to be out")
    assert browser.get("workers/").status_code == 302
    provider.has("cid", "elsewhere")
    assert browser.sign_in("cid", DOOR).status_code == 403


def test_what_it_gives_and_takes_is_in_the_audit(desk: Desk, browser: Browser) -> None:
    provider, _, address = desk
    provider.has("hal", "ops")
    browser.sign_in("hal", DOOR)
    provider.has("hal", "lookers")
    wait_until(lambda: browser.me()["permissions"] == ["view_live"], what="the roles to follow")
    chief = Browser(address)
    chief.post("admin/login/", token_of(chief.get("admin/login/")), username="ann", password="of the console")
    found = chief.get("api/v1/audit?via=sso").json()["entries"]
    told = [(each["action"], each["who"], each["query"]) for each in found if each["query"]["user"] == "hal"]
    (made, first, then), flags = reversed(told), {"is_active": True, "is_staff": False, "is_superuser": False}
    assert made == ("create_user", "Example Inc.", {"user": "hal", **flags, "roles": [], "permissions": []})
    roles = {"given": ["Operator"], "taken": []}
    assert first == ("edit_user", "Example Inc.", {"user": "hal", "is_staff": True, "roles": roles})
    roles = {"given": ["Viewer"], "taken": ["Operator"]}
    assert then == ("edit_user", "Example Inc.", {"user": "hal", "roles": roles})


def test_signing_out_ends_it_on_both_sides(desk: Desk, browser: Browser) -> None:
    provider, _, address = desk
    provider.has("dan", "lookers")
    page = browser.sign_in("dan", DOOR)
    assert browser.get("admin/logout/").status_code == 405, "nothing changes on GET"
    browser.way = []
    last = browser.follow(browser.post("admin/logout/", token_of(page)))
    assert last.url.startswith(f"{address}admin/login/"), browser.way
    assert browser.way[0].startswith(f"{provider.issuer}/logout/") and "id_token_hint=" in browser.way[0]
    assert browser.get("api/v1/me").status_code == 401
    form = browser.follow(browser.get(DOOR))
    assert "/accounts/login/" in form.url, "the provider asks again"


def test_a_provider_that_is_away_puts_nobody_out(desk: Desk, browser: Browser) -> None:
    """The last: it ends the provider."""
    provider = desk[0]
    provider.has("fay", "lookers")
    browser.sign_in("fay", DOOR)
    provider.end()
    wait_until(
        lambda: browser.me()["name"] == "fay" and desk[1].log.count("is away, and") == 2,
        what="the console to have asked twice in vain",
    )
    answer = Browser(desk[2]).get(DOOR)
    assert answer.status_code == 502 and "Signing in did not work" in answer.text


RIGHT = {
    "RMQ_OIDC_ISSUER": "https://login.example.com/realms/us",
    "RMQ_OIDC_CLIENT_ID": "us",
    "RMQ_OIDC_CLIENT_SECRET": "secret",
    "RMQ_OIDC_ROLES": "a=Admin,team x=Team orders",
}


def test_what_is_set_is_read() -> None:
    found = read_environment(RIGHT)
    assert found.sso is not None and found.sso["roles"] == {"a": "Admin", "team x": "Team orders"}
    assert read_environment({}).sso is None


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("RMQ_OIDC_ISSUER", "", "RMQ_OIDC_ISSUER must be an address"),
        ("RMQ_OIDC_ISSUER", "http://login.example.com", "https://"),
        ("RMQ_OIDC_CLIENT_SECRET", "", "RMQ_OIDC_CLIENT_SECRET are needed"),
        ("RMQ_OIDC_ROLES", "", "RMQ_OIDC_ROLES or RMQ_OIDC_DEFAULT_ROLE is needed"),
        ("RMQ_OIDC_ROLES", "admins", "RMQ_OIDC_ROLES"),
        ("RMQ_OIDC_SCOPES", "profile", "openid"),
        ("RMQ_OIDC_RENEW_MS", "10", "RMQ_OIDC_RENEW_MS"),
    ],
)
def test_what_is_wrong_stops_the_start(name: str, value: str, words: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="correct these variables") as raised:
        read_environment(RIGHT | {name: value})
    assert words in str(raised.value)
