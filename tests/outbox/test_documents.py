"""docs/reference/outbox.md: what it tells to write is run, its function for SQLAlchemy in each database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

from tests.docs.blocks import blocks
from tests.outbox.conftest import Shop

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "outbox.md"
DJANGO, SQLALCHEMY, RELAY = (block.code for block in blocks(PAGE) if block.language == "python")


def defined(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    return names


def url_of(alias: str) -> str:
    about = connections[alias].settings_dict
    if connections[alias].vendor == "sqlite":
        return f"sqlite:///{about['NAME']}"
    driver = "mysql+pymysql" if connections[alias].vendor == "mysql" else "postgresql+psycopg"
    return f"{driver}://{about['USER']}@{about['HOST']}:{about['PORT']}/{about['NAME']}"


def test_sqlalchemy_writes_what_a_relay_sends(shop: Shop) -> None:
    shop.topic(slots=1)
    send = defined(SQLALCHEMY)["send"]
    connections[shop.alias].close()
    engine = create_engine(url_of(shop.alias))
    with Session(engine) as session, session.begin():
        session.execute(text("INSERT INTO orders VALUES (1)"))
        send(session, "mail", {"to": "a"}, priority=900, headers={"x": "y"}, key="k")
        send(session, "mail", "second", priority=900, slot_basis="k")
    with pytest.raises(ZeroDivisionError), Session(engine) as session, session.begin():
        send(session, "mail", "never", priority=900)
        raise ZeroDivisionError
    engine.dispose()
    assert shop.orders() == 1
    assert shop.step().sent == 2
    (first, second) = sorted(shop.rmq.take("mail", 5), key=lambda each: each.text, reverse=True)
    assert (first.json(), first.headers, first.id, second.text) == ({"to": "a"}, {"x": "y"}, "k", "second")


def test_what_the_page_tells_is_what_there_is() -> None:
    found = defined(DJANGO)
    assert {"cancel", "confirm"} <= found.keys()
    assert defined(RELAY)["INSTALLED_APPS"] == ["console.outbox"]
    assert len(SQLALCHEMY.strip().splitlines()) <= 20
