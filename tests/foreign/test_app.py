"""The console in a project that was there before: its users, its database, its admin, an address below a path."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import psycopg
import pytest
from websockets.sync.client import connect

from rmq_core import FixedTimeMessage
from rmq_core.embedded.postgres import EmbeddedPostgres, postgres_programs
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import EmbeddedServerError
from tests.console.sso_desk import Browser, token_of
from tests.foreign.installation import EMAIL, ROOT, Shop
from tests.support.missing import missing
from tests.support.waiting import wait_until

FAR_MS = 4_102_444_800_000
PAGES = (
    "", "topics/orders/", "topics/orders/messages/", "topics/orders/dead/", "topics/orders/slots/",
    "topics/orders/definition/", "topics/orders/send/", "define/", "workers/", "dead/", "operations/",
    "reconciliation/", "audit/", "preferences/", "admin/console/topicdefinition/", "admin/console/topicrevision/",
    "admin/records/", "admin/console/operation/", "admin/console/reconciliation/", "admin/console/messagerecord/",
    "admin/console/pipelineschedule/", "admin/console/pipelineschedule/add/", "admin/console/routedefinition/",
    "admin/console/routedefinition/add/", "admin/rmq_outbox/outboxmessage/", "admin/console/apitoken/",
    "admin/console/apitoken/add/", "admin/console/auditentry/", "admin/password_change/",
    "admin/search/?s=orders&extended=1", "api/v1/docs", "api/v1/openapi.json", "texts.js",
)  # fmt: skip

HANG_UP = (
    "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"
    " and datname = current_database()"
)


@pytest.fixture(scope="module", params=["plain admin on SQLite", "Unfold on PostgreSQL"])
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("shop")
    with EmbeddedRedis() as redis:
        if "SQLite" in request.param:
            with Shop(folder, redis.url, f"sqlite:///{folder}/shop.sqlite3", "plain") as shop:
                yield shop
            return
        try:
            postgres_programs()
        except EmbeddedServerError as error:
            missing(str(error))
        with EmbeddedPostgres() as database, Shop(folder, redis.url, database.url, "unfold") as shop:
            yield shop


@pytest.fixture(scope="module")
def signed_in(shop: Shop) -> Shop:
    shop.sign_in()
    return shop


def test_the_shop_adds_what_the_document_says() -> None:
    """docs/how-to/django.md, with the shop's path and names."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "how-to" / "django.md").read_text(), re.DOTALL)
    for block, file in zip(blocks, ("settings", "urls", "asgi"), strict=False):
        there = (ROOT / "tests" / "foreign" / "shop" / f"{file}.py").read_text()
        for line in block.replace('"rmq/"', '"tools/rmq/"').replace("yours.", "tests.foreign.shop.").splitlines():
            words = line.partition("  #")[0].strip().removeprefix("urlpatterns += [").removesuffix("]").rstrip("},")
            if not words.startswith(("from django.urls", "RMQ_CONSOLE")):
                assert words in there, (file, line)


def test_it_misses_nothing(shop: Shop) -> None:
    told = shop.prepared["checks"]
    assert "no issues" in told and "No changes" in told


def test_people_come_by_single_sign_on(shop: Shop) -> None:
    """As docs/how-to/single-sign-on.md says; people of this project are named by their addresses."""
    shop.provider.has("bob", "ops")
    browser = Browser(shop.console)
    page = browser.sign_in("bob", "sso/rmq/login/?next=/tools/rmq/workers/")
    assert (page.status_code, page.url) == (200, f"{shop.console}workers/"), shop.log[-2_000:]
    me = browser.me()
    assert me["name"] == "bob@example.com" and "operate" in me["permissions"]
    browser.follow(browser.post("admin/logout/", token_of(page)))
    assert browser.get("api/v1/me").status_code == 401


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens(signed_in: Shop, page: str) -> None:
    status, text = signed_in.get(page)
    assert status == 200, text[-2000:]
    if "<html" in text and "docs" not in page:
        assert "unfold/css/styles.css" in text, "the frame is the console's own, also beside a plain admin"


def test_what_a_page_loads_is_there(signed_in: Shop) -> None:
    for file in ("console/css/console.css", "console/js/layout.js", "unfold/css/styles.css"):
        assert signed_in.get(f"{signed_in.origin}/static/{file}")[0] == 200


def test_the_project_keeps_its_own_pages(signed_in: Shop) -> None:
    assert signed_in.get(f"{signed_in.origin}/") == (200, "the shop")
    status, text = signed_in.get(f"{signed_in.origin}/backoffice/shop/order/")
    assert status == 200
    assert "RMQ Console" not in text
    assert ("unfold/css" in text) == (signed_in.admin == "unfold")
    assert sum(name.startswith("RMQ ") for name in signed_in.prepared["groups"]) == 5


def test_a_live_frame_arrives(signed_in: Shop) -> None:
    cookie = f"sessionid={signed_in.cookie('sessionid')}"
    address = signed_in.console.replace("http", "ws", 1) + "live/overview/"
    with connect(address, origin=signed_in.origin, additional_headers={"Cookie": cookie}) as socket:  # type: ignore[arg-type]
        kinds = {json.loads(socket.recv(30))["type"] for _ in range(3)}
    assert "overview" in kinds


def test_everybody_has_their_own_time_zone(signed_in: Shop) -> None:
    """Also where the project has no middleware of ours, and users of another kind."""
    chosen = {"time_zone": "Asia/Tokyo", "numbers": "1.234,5"}
    status, text = signed_in.post("api/v1/me/preferences", chosen, "PUT")
    assert (status, json.loads(text)) == (200, chosen)
    assert '"time_zone": "Asia/Tokyo"' in signed_in.get("")[1]
    assert signed_in.post("api/v1/me/preferences", {}, "PUT")[0] == 200


def test_an_operation_runs(signed_in: Shop) -> None:
    with signed_in.client() as client:
        client.send_many("orders", [FixedTimeMessage(f"later {n}", FAR_MS, key=f"k{n}") for n in range(5)])
        body = {"filter": {"state": "delayed"}, "reason": "a test"}
        status, text = signed_in.post("api/v1/topics/orders/messages:cancel", body)
        assert status == 202, text
        address = f"api/v1/operations/{json.loads(text)['id']}"
        done = wait_until(lambda: _ended(signed_in, address), timeout_s=60, what="the job worker has done it")
        assert (done["state"], done["done"]) == ("done", 5)


def _ended(shop: Shop, address: str) -> dict[str, object] | None:
    found = json.loads(shop.get(address)[1])
    return None if found["state"] in ("queued", "running") else found


def test_rest_answers_in_its_own_form(signed_in: Shop) -> None:
    token = {"Authorization": f"Bearer {signed_in.prepared['token']}"}
    status, text = signed_in.get("api/v1/topics/orders", **token)
    assert (status, json.loads(text)["name"]) == (200, "orders")
    for address, wanted, code in (("nowhere", 404, "not_found"), ("topics/none", 404, "unknown_topic")):
        status, text = signed_in.get(f"api/v1/{address}", **token)
        assert (status, json.loads(text)["code"]) == (wanted, code)
    status, text = signed_in.get("api/v1/me", Authorization="Bearer nonsense")
    assert (status, json.loads(text)["code"]) == (401, "invalid_token")


@pytest.mark.parametrize("topic", ["orders", "async-orders"])
def test_a_listener_reaches_the_models_also_after_the_database_hung_up(signed_in: Shop, topic: str) -> None:
    def written(number: str) -> bool:
        return f"{topic} {number}" in json.loads(signed_in.get(f"{signed_in.origin}/orders.json")[1])

    with signed_in.client() as client:
        client.send(topic, FixedTimeMessage("1", 1_000, key="1"), allow_past=True)
        wait_until(lambda: written("1"), timeout_s=60, what="the first order is written")
        if signed_in.database.startswith("postgres"):
            with psycopg.connect(signed_in.database) as database:
                database.execute(HANG_UP)
        client.send(topic, FixedTimeMessage("2", 1_000, key="2"), allow_past=True)
        wait_until(lambda: written("2"), timeout_s=60, what="the second order is written")


def test_people_are_called_what_the_project_calls_them(signed_in: Shop) -> None:
    """After the operation above: the audit names the user by the field that the project's users have."""
    _, text = signed_in.get("api/v1/audit")
    assert EMAIL in text
