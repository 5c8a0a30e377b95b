"""Text that is no text (a lone surrogate, as undecodable bytes come to Python) is refused where it comes in."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rmq_core import (
    RMQ,
    Control,
    FixedTimeMessage,
    Inspector,
    Listener,
    MessageFilter,
    PriorityMessage,
    RangeMergeMessage,
    Topic,
    TopicKind,
    Worker,
    errors,
)
from rmq_core.cli.main import main
from rmq_core.embedded.ports import free_port
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.protocol.keys import Keyspace
from rmq_core.transport.redis_url import RedisURL
from tests.support.keys import keys_of

ROOT = Path(__file__).parent.parent.parent
ODD = "a\ud800b"
NO_TEXT = "must not hold U\\+D800, a lone surrogate"
MAKERS: tuple[Callable[..., Any], ...] = (
    lambda content="x", **more: PriorityMessage(content, 20, **more),
    lambda content="x", **more: RangeMergeMessage(content, 1_000, **more),
    lambda content="x", **more: FixedTimeMessage(content, 1_000, **more),
)
FIELDS = {
    "content": {"content": ODD},
    "key": {"key": ODD},
    "slot_basis": {"slot_basis": ODD},
    "the name of a header": {"headers": {ODD: "a"}},
    "the value of a header": {"headers": {"a": ODD}},
}


@pytest.fixture
def rmq(redis_server: EmbeddedRedis, namespace: str) -> Iterator[RMQ]:
    with RMQ(redis_server.url, namespace) as client:
        client.define(Topic("t", TopicKind.PRIORITY, slots=1))
        yield client
        Control(client).delete_topic("t", force=True)
        with redis_server.client() as raw:
            assert keys_of(raw, namespace) == []


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("given", FIELDS.values(), ids=FIELDS)
def test_no_message_is_made_of_it(make: Callable[..., Any], given: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidMessage, match=NO_TEXT) as raised:
        make(**given)
    str(raised.value).encode()


def test_headers_that_were_changed_after_the_message_was_made_are_not_sent(rmq: RMQ) -> None:
    for name, value in ((ODD, "a"), ("a", ODD)):
        headers = {"a": "b"}
        message = PriorityMessage("x", 20, headers=headers)
        headers[name] = value
        with pytest.raises(errors.InvalidMessage, match=NO_TEXT):
            rmq.send("t", message)
        with pytest.raises(errors.InvalidMessage, match=NO_TEXT):
            rmq.send_many("t", [message])
    headers["a"] = 12  # type: ignore[assignment]
    with pytest.raises(errors.InvalidMessage, match="text to text"):
        rmq.send("t", message)
    assert rmq.take("t") == []


def test_real_unicode_and_bytes_pass_everywhere(rmq: RMQ) -> None:
    text = "Ü 😀 \x00 ﷽"
    rmq.send("t", PriorityMessage(text, 20, key=text, slot_basis=text, headers={text: text}))
    (delivery,) = rmq.take("t")
    assert (delivery.text, delivery.headers) == (text, {text: text})
    rmq.send("t", PriorityMessage(b"\xff", 20, key=b"\xed\xa0\x80"))
    (other,) = rmq.take("t")
    assert (other.content, other.raw_id) == (b"\xff", b"\xed\xa0\x80")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Keyspace(ODD),
        lambda: Topic(ODD, TopicKind.PRIORITY),
        lambda: Topic("t", TopicKind.PRIORITY, description=ODD),
        lambda: MessageFilter("ready", text=ODD),
        lambda: MessageFilter("dead", error=ODD),
        lambda: Listener(ODD, print),
        lambda: Worker(listeners=[Listener("t", print)], name=ODD),
        lambda: Worker(listeners=[Listener("t", print)], namespace=ODD),
        lambda: RedisURL(f"redis://:{ODD}@localhost"),
        lambda: RedisURL(f"unix:///{ODD}"),
        lambda: RedisURL(f"sentinel://localhost:1/{ODD}"),
        lambda: RedisURL(f"cluster://{ODD}:1"),
        lambda: RedisURL(f"redis://localhost?client_name={ODD}"),
        lambda: ZooKeeperConfig(ODD),
        lambda: ZooKeeperConfig("localhost:1", username="u", password=ODD),
        lambda: ZooKeeperConfig("localhost:1", tls=True, ca=ODD),
        lambda: ZooKeeperConfig.of(f"zk://{ODD}:p@localhost:1"),
        lambda: ZooKeeperConfig.from_env({"ZOOKEEPER_URL": f"localhost:1/{ODD}"}),
    ],
)
def test_constructors_refuse_it_in_words_that_can_be_written(make: Callable[[], Any]) -> None:
    with pytest.raises(errors.RMQError) as raised:
        make()
    str(raised.value).encode()


@pytest.mark.parametrize(
    "call",
    [
        lambda rmq: rmq.topic(ODD),
        lambda rmq: rmq.send(ODD, PriorityMessage("x", 20)),
        lambda rmq: rmq.send_many(ODD, [PriorityMessage("x", 20)]),
        lambda rmq: rmq.take(ODD),
        lambda rmq: rmq.take(ODD, timeout_ms=10),
        lambda rmq: Control(rmq).pause(ODD),
        lambda rmq: Control(rmq).delete_topic(ODD),
        lambda rmq: Control(rmq).unfence(ODD),
        lambda rmq: Control(rmq).drain(ODD),
        lambda rmq: Control(rmq).pin("t", 0, ODD),
        lambda rmq: Control(rmq).cancel("t", ODD),
        lambda rmq: Inspector(rmq).slot(ODD, 0),
        lambda rmq: Inspector(rmq).find("t", ODD),
        lambda rmq: Inspector(rmq).find("t", "x", slot_basis=ODD),
        lambda rmq: Inspector(rmq).search("t", ODD),
        lambda rmq: Inspector(rmq).messages("t", "ready", cursor=ODD),
    ],
)
def test_calls_refuse_it_in_words_that_can_be_written(rmq: RMQ, call: Callable[[RMQ], Any]) -> None:
    with pytest.raises(errors.RMQError) as raised:
        call(rmq)
    str(raised.value).encode()


# -- what programs are started with: bytes


def ran(*command: bytes | str, environ: dict[bytes, bytes] | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environb, **(environ or {})},
        capture_output=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("command", "environ"),
    [
        (("-m", "rmq_core", "stats", b"\xff"), {}),
        (("-m", "rmq_core", "send", "t", b"caf\xe9"), {}),
        (("-m", "rmq_core", "worker", b"\xff:x"), {}),
        (("-m", "rmq_core", "topics"), {b"RMQ_URL": b"redis://\xff:1"}),
        (("-m", "rmq_core", "topics"), {b"RMQ_NAMESPACE": b"\xff"}),
        (("-m", "rmq_core", "worker", "tests.engine.lone_listener"), {b"RMQ_WORKER_NAME": b"\xff"}),
        (("-m", "rmq_core", "worker", "tests.engine.lone_listener"), {b"ZOOKEEPER_URL": b"h:1/\xff"}),
        (("-m", "rmq_core.pipeline", "archive", "--archive", b"\xff"), {}),
        (("manage.py", "worker", "--name", b"\xff"), {}),
        (("manage.py", "up", "--host", b"\xff"), {}),
        (("manage.py", "up", "--port", str(free_port())), {b"RMQ_REDIS_URL": b"redis://\xff:1"}),
        (("manage.py", "check"), {b"RMQ_REDIS_URL": b"redis://\xff:1"}),
        (("manage.py", "check"), {b"RMQ_DATABASE_URL": b"sqlite:////tmp/\xff"}),
        (
            ("manage.py", "check"),
            {b"RMQ_PIPELINE_REPORTS": b"/\xff", b"RMQ_RECORD_TOPICS": b"\xff", b"RMQ_SECRET_KEY": b"\xff"},
        ),
    ],
)
def test_programs_say_it_in_one_sentence(command: tuple[bytes | str, ...], environ: dict[bytes, bytes]) -> None:
    """Several variables: a line for each."""
    found = ran(*command, environ=environ)
    assert found.returncode in (1, 2)
    output = found.stderr.decode()
    assert "Traceback" not in output
    for name in environ if command[0] == "manage.py" else ():
        assert f"  {name.decode()}: must not hold U+DCFF, a lone surrogate." in output
    assert len(output.strip().splitlines()) <= 1 + len(environ)


def test_content_that_is_no_text_comes_through_standard_input(
    rmq: RMQ, redis_server: EmbeddedRedis, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["send", "t", "caf\udce9", "--priority", "20"]) == 2
    assert "standard input" in capsys.readouterr().err
    found = subprocess.run(
        [sys.executable, "-m", "rmq_core", "send", "t", "-", "--priority", "20"],
        cwd=ROOT,
        env={**os.environ, "RMQ_URL": redis_server.url, "RMQ_NAMESPACE": namespace},
        input=b"caf\xe9",
        check=False,
    )
    assert found.returncode == 0
    assert [each.content for each in rmq.take("t")] == [b"caf\xe9"]
