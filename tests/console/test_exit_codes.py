"""How every command of `rmq` ends: 2 for what can be nothing, 1 for what a server or its state refuses, 0 else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from console.command import SECTIONS
from rmq_core import RMQ, Control, Topic, TopicKind
from rmq_core.cli.main import ENGINE, main
from rmq_core.cli.shell import Shell
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.pipeline.__main__ import main as run_pipeline
from tests.support.proxy import TcpProxy
from tests.support.rmq_command import rmq

HUGE = "9" * 20
LISTENERS = "tests.engine.lone_listener"

USAGE = f"""
send p x
send p x --priority 16
send p x --priority 1048577
send p x --priority high
send p x --priority 20 --in-ms 5
send p x --priority 20 --header a
send p x --priority 20 --key=
send f x --in-ms -1
send f x --due-ms {HUGE}
send r x --range-ms 0
take p --max 0
take p --max 1001
take p --wait-ms {HUGE}
take p --then burn
peek p --limit 0
peek p --limit {HUGE}
peek p --state odd
tail s --lines 1001
cancel p
cancel p a --all
cancel p --slot -1
cancel p --slot 4
cancel p --since-ms {HUGE}
cancel p --since-ms 5 --until-ms 4
restore p
restore p --slot 4096
report p
report p a --wait-ms -1
why
dead p --limit -1
dead
clusters
requeue p --fingerprint xyz
requeue p a --dry-run
drop p --slot 4
reschedule p --all
reschedule p --all --priority 16
reschedule f --all --in-ms -1
reschedule f --all --in-ms 5 --due-ms 5
run-now p
run-now p --slot 4
holds
tenants
tenants p --limit 0
limit-tenant p
limit-tenant p ann often
limit-tenant p ann held
bands
bands p --slot 4
hold p
hold p a --slot-basis b
hold p a --for-ms 0
lift p
lift p nothing
order
order p --most 0
skip p
skip p a --to 0
topics t
topics t --kind odd
topics t --kind priority --slots 3
topics 1t --kind priority
stats --namespace a{{b
stats --url nonsense://
stats --url redis://localhost/a
journal p --slot 4
journal p --slot -1
pause
resume
groups s --start start
groups s g --start start --delete
position s@g
position s@g start --slot one
members
claim s@g
stuck s@g --for-ms 0
routes --nonsense
route
forward --nonsense
redrive p a
outbox --nonsense
recurring
recurring --nonsense
recurring run
pause s@g --for-ms 5 --until-ms 5
worker nothing_here
worker os
worker {LISTENERS} --threads 0
worker {LISTENERS} --weight {HUGE}
worker {LISTENERS} --zookeeper 127.0.0.1:abc
owners
drain
undrain
pin p 4 ann
pin p one ann
unpin p 4
unfence
archive
archive --archive x --every -1
archive --archive x --every nan
archive --archive x --slots-per-partition 0
archive --archive x --slots-per-partition {HUGE}
archive --archive x --url nonsense://
archive erase --archive x --reason y
archive erase --archive x --id a
archive erase --archive x --id %zz --reason y
archive erase --archive x --ids nowhere --reason y
archive erase --archive x --id a --reason y --url nonsense://
reconcile
reconcile --reports x --stuck-ms -1
reconcile --reports x --overdue-ms 1.5
reconcile --reports x --since soon
reconcile --reports x --url nonsense://
up --port 0
up --workers -1
up --nonsense
token
token create a --days 0
token create a --rate 0
token create a --role God
token list --nonsense
console jobs --nonsense
"""

REFUSED = f"""
send f x --priority 20
send f x --due-ms 1000000000000
send nowhere x --priority 20
take nowhere
peek nowhere
tail nowhere
tail p
cancel nowhere --all
cancel p nope
restore nowhere --all
restore p nope
dead nowhere
report nowhere a
why nowhere
report p a
clusters nowhere
requeue nowhere --all
requeue p nope
drop p nope
reschedule nowhere --all --priority 20
reschedule p nope --priority 20
run-now nowhere --all
holds nowhere
tenants nowhere
limit-tenant nowhere ann held
bands nowhere
bands s
hold nowhere a
hold s a
lift p 0-1
order nowhere
skip p a
skip s a
run-now p nope
topics p --kind priority --slots 8
topics --url redis://127.0.0.1:AWAY/0
stats nowhere
stats --url redis://:wrong@127.0.0.1:PORT/0
journal nowhere
pause nowhere
pause p --for-ms 5
resume nowhere
groups nowhere
groups p
position p start
position s@nowhere start
members p
claim p ann
stuck nowhere
routes --url redis://127.0.0.1:AWAY/0
route nowhere
redrive nowhere a --to p
worker {LISTENERS}
owners nowhere
drain ann --url redis://127.0.0.1:AWAY/0
undrain ann --url redis://127.0.0.1:AWAY/0
pin nowhere 0 ann
unpin nowhere 0
unfence nowhere
token list
token revoke nothing
recurring run nobody
console nonsense
"""


@pytest.fixture(scope="module")
def ports(redis_server: EmbeddedRedis) -> Iterator[tuple[str, str]]:
    """That of the server, and one at which nobody answers."""
    with closing(TcpProxy(redis_server.port)) as away:
        away.refuse()
        yield str(redis_server.port), str(away.port)


@pytest.fixture
def queue(redis_server: EmbeddedRedis, namespace: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[RMQ]:
    monkeypatch.setenv("RMQ_URL", redis_server.url)
    monkeypatch.setenv("RMQ_NAMESPACE", namespace)
    monkeypatch.setattr(Shell, "client", lambda shell: RMQ(shell.url, shell.namespace, retry_for_ms=100))
    with RMQ(redis_server.url, namespace) as client:
        for name, kind in (("p", TopicKind.PRIORITY), ("f", TopicKind.FIXED_TIME), ("r", TopicKind.RANGE_MERGE)):
            client.define(Topic(name, kind, slots=4))
        yield client
        for name in ("p", "f", "r"):
            Control(client).delete_topic(name, force=True)


def ended(line: str, folder: Path) -> int:
    command, *arguments = line.split()
    try:
        if command in ("archive", "reconcile"):
            return run_pipeline([command, *arguments])
        if command in ("up", "token", "recurring", "console"):
            folder.chmod(0o700)
            ran = rmq(command, *arguments, RMQ_DATA_DIR=str(folder))
            assert "Traceback" not in ran.stderr and ran.stderr
            return ran.returncode
        return main([command, *arguments])
    except SystemExit as left:  # argparse
        return int(left.code or 0)


@pytest.mark.parametrize("line", USAGE.strip().splitlines())
def test_what_can_be_nothing_ends_with_2(
    queue: RMQ, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(line, tmp_path) == 2, capsys.readouterr().err


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_what_is_refused_ends_with_1(
    queue: RMQ, line: str, ports: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = line.replace("PORT", ports[0]).replace("AWAY", ports[1])
    assert ended(line, tmp_path) == 1, capsys.readouterr().err


def test_every_command_is_there() -> None:
    named = {name for section in SECTIONS.values() for name in section}
    assert {line.split()[0] for line in USAGE.strip().splitlines()} == named
    # What those are refused is shown where they are run: a taken port, an archive that is none, a database.
    elsewhere = {"up", "archive", "reconcile", "outbox", "forward"}
    assert {line.split()[0] for line in REFUSED.strip().splitlines()} == named - elsewhere
    assert named >= {name for section in ENGINE.values() for name in section}
