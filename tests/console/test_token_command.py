"""`rmq token`: what the admin's pages do with tokens, without a browser."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from console.models import ApiToken, AuditEntry
from tests.console.api.conftest import Caller
from tests.console.conftest import Queue


def test_a_token_is_made_used_listed_and_revoked(db: Any, queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("token", "create", "nightly export", "--role", "Operator", "--topics", "orders.*,mail", "--days", "7")
    secret, output = capsys.readouterr()
    secret = secret.strip()
    assert secret not in output and "not shown again" in output
    assert Caller(secret).ok("GET", "/me")["topics"] == ["orders.*", "mail"]
    call_command("token", "list", "--json")
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["name"], listed["role"], listed["state"]) == ("nightly export", "Operator", "active")
    assert secret not in json.dumps(listed)
    call_command("token", "revoke", listed["prefix"])
    assert ApiToken.objects.get().state == ApiToken.State.REVOKED
    assert "opens nothing any more" in capsys.readouterr().out
    assert Caller(secret)("GET", "/me").status_code == 401
    call_command("token", "list")
    assert "revoked" in capsys.readouterr().out
    assert [(each.action, each.via) for each in AuditEntry.objects.order_by("pk")] == [
        ("create_token", "command"),
        ("revoke_token", "command"),
    ]


def test_programs_read_what_it_did(db: Any, queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("token", "list")
    assert capsys.readouterr().out == "no tokens\n"
    call_command("token", "create", "nightly", "--json")
    output = capsys.readouterr()
    made = json.loads(output.out)
    assert Caller(made.pop("secret")).ok("GET", "/me")["topics"] == ["*"] and output.err == ""
    call_command("token", "revoke", made["prefix"], "--json")
    assert json.loads(capsys.readouterr().out)["state"] == "revoked"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("create", "a\nb"), "name: Use printable"),
        (("create", "a", "--topics", "{}"), "topics: Write topic names"),
        (("create", "a", "--rate", "0"), "from 1 to 1000000"),
        (("create", "a", "--days", "733"), "from 1 to 732"),
        (("create", "a", "--role", "God"), "invalid choice"),
        (("revoke", "rmq_none"), "no token begins"),
        (("revoke", ""), "no token begins"),
    ],
)
def test_what_cannot_be_is_said(db: Any, arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        call_command("token", *arguments)
    assert not ApiToken.objects.exists() and not AuditEntry.objects.exists()
