"""``python -m rmq_core``: a small command line over the public API."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rmq_core import Control, FixedTimeMessage, Inspector, PriorityMessage, RangeMergeMessage, Topic, TopicKind
from rmq_core.cli.commands import act, add_action, client, clusters, show
from rmq_core.cli.journal import print_journal
from rmq_core.errors import RMQError
from rmq_core.model.message import Message
from rmq_core.model.text import NotText, check_arguments
from rmq_core.model.views import STATES, MessageRow
from rmq_core.ownership.config import ZooKeeperConfig
from rmq_core.queries.owners import to_ranges
from rmq_core.worker import Worker, find_listeners

DEFAULT_URL = "redis://localhost:6379/0"


_BECAME: dict[bool | None, str] = {False: "new", True: "merged", None: "sent twice: new or merged"}


def parser() -> argparse.ArgumentParser:
    """The command line."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--url", default=os.environ.get("RMQ_URL", DEFAULT_URL), help="Redis URL (RMQ_URL)")
    common.add_argument(
        "--namespace", default=os.environ.get("RMQ_NAMESPACE", "rmq"), help="key prefix (RMQ_NAMESPACE)"
    )
    common.add_argument("--json", action="store_true", help="print JSON, one value")
    program = Path(sys.argv[0]).name
    root = argparse.ArgumentParser(
        prog=program if program == "rmq" else "python -m rmq_core", description="A message queue on Redis sorted sets."
    )
    commands = root.add_subparsers(dest="command", required=True, metavar="command")

    def command(name: str, run: Callable[..., int], about: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, parents=[common], help=about, description=about)
        sub.set_defaults(run=run)
        return sub

    sub = command("topics", _topics, "list topics, or define one")
    sub.add_argument("define", nargs="?", metavar="NAME", help="define this topic")
    sub.add_argument("--kind", choices=[kind.value for kind in TopicKind], help="with NAME")
    sub.add_argument("--slots", type=int, default=64, help="a power of two (64)")
    sub = command("send", _send, "send one message; content '-' reads standard input")
    sub.add_argument("topic")
    sub.add_argument("content")
    sub.add_argument("--range-ms", type=int, help="range-merge topics: delivered so long after the first send")
    sub.add_argument("--priority", type=int, help="priority topics: above 16")
    sub.add_argument("--due-ms", type=int, help="fixed-time topics: epoch milliseconds")
    sub.add_argument("--in-ms", type=int, help="fixed-time topics: from now")
    sub.add_argument("--key")
    sub.add_argument("--slot-basis")
    sub.add_argument("--header", action="append", default=[], metavar="NAME=VALUE")
    sub = command("peek", _peek, "look at messages without taking them")
    sub.add_argument("topic")
    sub.add_argument("--state", choices=STATES, default="ready")
    sub.add_argument("--limit", type=int, default=20)
    sub = command("stats", _stats, "counts of every topic, or of one")
    sub.add_argument("topic", nargs="?")
    sub = command("dead", _dead, "list dead letters")
    sub.add_argument("topic")
    sub.add_argument("--limit", type=int, default=20)
    command("clusters", clusters, "what dead letters died of").add_argument("topic")
    for name, about in (
        ("requeue", "bring dead letters back"),
        ("drop", "remove dead letters"),
        ("cancel", "take waiting messages out of the queue"),
        ("restore", "bring back what was cancelled or dropped"),
    ):
        add_action(command(name, act, about), name)
    sub = command("journal", print_journal, "what happened to messages, as the topic's journal tells it")
    sub.add_argument("topic")
    sub.add_argument("--id", help="of one message only")
    sub.add_argument("--slot", type=int)
    sub.add_argument("--follow", action="store_true", help="go on as it happens, until interrupted")
    sub.add_argument("--state", action="store_true", help="how large it is, and how far its readers are")
    sub = command("worker", _worker, "consume with the listeners of module[:attribute] until SIGTERM")
    sub.add_argument("listeners", metavar="module[:attribute]")
    sub.add_argument("--name", help="unique in the fleet, best stable over restarts")
    sub.add_argument("--threads", type=int, default=8)
    sub.add_argument("--zookeeper", metavar="HOSTS", help="one owner per slot; hosts or zk:// URL (ZOOKEEPER_URL)")
    sub.add_argument("--weight", type=int, default=1, help="share of slots beside the others' (1)")
    sub = command("owners", _owners, "who owns which slots of a topic")
    sub.add_argument("topic")
    for name, about in (("drain", "take every slot from a worker"), ("undrain", "let a worker have slots again")):
        command(name, _drain, about).add_argument("worker")
    sub = command("pin", _pin, "give a slot to one worker whenever it is there")
    sub.add_argument("topic")
    sub.add_argument("slot", type=int)
    sub.add_argument("worker")
    command("unfence", _unfence, "hand a topic's slots back to workers without ZooKeeper").add_argument("topic")
    sub = command("unpin", _pin, "let a slot go to whoever")
    sub.add_argument("topic")
    sub.add_argument("slot", type=int)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; 0 done, 1 refused or failed (said on standard error), 2 wrong usage."""
    given = sys.argv[1:] if argv is None else argv
    try:
        check_arguments(given)
    except NotText as error:
        print(f"rmq_core: {error}; content that is no text goes through standard input ('-')", file=sys.stderr)
        return 2
    arguments = parser().parse_args(given)
    try:
        return int(arguments.run(arguments))
    except RMQError as error:
        print(f"rmq_core: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _topics(arguments: argparse.Namespace) -> int:
    with client(arguments) as rmq:
        if arguments.define:
            if not arguments.kind:
                print("rmq_core: topics NAME needs --kind", file=sys.stderr)
                return 2
            topics = [rmq.define(Topic(arguments.define, TopicKind(arguments.kind), slots=arguments.slots))]
        else:
            topics = Inspector(rmq).topics()
        lines = [
            f"{topic.name:<40} {topic.kind.value:<12} {topic.slots:>5} slots  v{topic.version}"
            + ("  paused" if topic.paused else "")
            for topic in topics
        ]
        show(arguments, [asdict(topic) for topic in topics], lines or ["no topics"])
    return 0


def _message(arguments: argparse.Namespace, topic: Topic, now_ms: int) -> Message:
    content: bytes | str = sys.stdin.buffer.read() if arguments.content == "-" else arguments.content
    headers = dict(header.partition("=")[::2] for header in arguments.header)
    more: dict[str, Any] = {
        "key": arguments.key,
        "slot_basis": arguments.slot_basis,
        "headers": headers or None,
    }
    if topic.kind is TopicKind.RANGE_MERGE:
        return RangeMergeMessage(content, arguments.range_ms, **more)
    if topic.kind is TopicKind.PRIORITY:
        return PriorityMessage(content, arguments.priority, **more)
    due_ms = arguments.due_ms if arguments.in_ms is None else now_ms + arguments.in_ms
    return FixedTimeMessage(content, due_ms, **more)


def _send(arguments: argparse.Namespace) -> int:
    with client(arguments) as rmq:
        topic = rmq.topic(arguments.topic)
        sent = rmq.send(topic.name, _message(arguments, topic, Inspector(rmq).now_ms()))
        show(arguments, sent._asdict(), [f"{sent.id}  slot {sent.slot}  {_BECAME[sent.merged]}"])
    return 0


def _row(row: MessageRow) -> dict[str, Any]:
    values = asdict(row)
    del values["raw_id"]
    return values | {"id": row.id, "preview": row.preview.decode(errors="replace")}


def _line(row: MessageRow) -> str:
    when = (
        "" if row.score_ms is None else datetime.fromtimestamp(row.score_ms / 1000, UTC).isoformat(" ", "milliseconds")
    )
    rank = f"priority {row.priority}" if row.priority is not None else ""
    return f"{row.slot:>4}  {row.id:<40.40}  {when:<30}{rank:<14}failures {row.failures}  {row.error or ''}".rstrip()


def _list(arguments: argparse.Namespace, state: Any) -> int:
    with client(arguments) as rmq:
        page = Inspector(rmq).messages(arguments.topic, state, limit=arguments.limit)
        more = ["… there are more; raise --limit"] if page.next_cursor else []
        lines = [_line(row) for row in page.rows] or [f"nothing is {state.replace('_', ' ')}"]
        show(arguments, [_row(row) for row in page.rows], lines + more)
    return 0


def _peek(arguments: argparse.Namespace) -> int:
    return _list(arguments, arguments.state)


def _dead(arguments: argparse.Namespace) -> int:
    return _list(arguments, "dead")


def _stats(arguments: argparse.Namespace) -> int:
    with client(arguments) as rmq:
        if arguments.topic:
            rmq.topic(arguments.topic)
        samples = Inspector(rmq).sample([arguments.topic] if arguments.topic else None)
    values = [
        {
            "topic": sample.topic.name,
            "backlog": sample.backlog,
            "ready": sample.ready,
            "waiting": sample.waiting,
            "in_flight": sample.prepare,
            "dead": sample.dead,
            "lag_ms": sample.lag_ms,
            "ledger_gap": sample.ledger_gap,
            **asdict(sample.counters),
        }
        for sample in samples
    ]
    heads = ("topic", "backlog", "ready", "waiting", "in_flight", "dead", "sent", "merged", "acked", "ledger_gap")
    lines = ["".join(f"{head:>12}" if i else f"{head:<40}" for i, head in enumerate(heads))]
    lines += [
        "".join(f"{row[head]:>12}" if i else f"{row[head]:<40}" for i, head in enumerate(heads)) for row in values
    ]
    show(arguments, values, lines)
    return 0


def _worker(arguments: argparse.Namespace) -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - listeners live beside whoever starts this
    listeners = find_listeners(arguments.listeners)
    Worker(
        arguments.url,
        listeners,
        name=arguments.name,
        namespace=arguments.namespace,
        threads=arguments.threads,
        zookeeper=arguments.zookeeper or ZooKeeperConfig.from_env(),
        weight=arguments.weight,
    ).run()
    return 0


def _owners(arguments: argparse.Namespace) -> int:
    with client(arguments) as rmq:
        owners = Inspector(rmq).assignment(arguments.topic)
    slots: dict[str | None, list[int]] = {}
    for owner in owners:
        slots.setdefault(owner.worker, []).append(owner.slot)
    ranked = sorted(slots.items(), key=lambda item: (item[0] is not None, item[0] or ""))
    lines = [f"{worker or '(nobody)':<40} {len(held):>5} slots  {to_ranges(held)}" for worker, held in ranked]
    show(arguments, [asdict(owner) for owner in owners], lines)
    return 0


def _drain(arguments: argparse.Namespace) -> int:
    with client(arguments) as rmq:
        drains = arguments.command == "drain"
        control = Control(rmq)
        changed = control.drain(arguments.worker) if drains else control.undrain(arguments.worker)
    show(arguments, {"changed": changed}, [f"{arguments.command}ed" if changed else "it was so already"])
    return 0


def _pin(arguments: argparse.Namespace) -> int:
    with client(arguments) as rmq:
        control, topic, slot = Control(rmq), arguments.topic, arguments.slot
        pins = arguments.command == "pin"
        changed = control.pin(topic, slot, arguments.worker) if pins else control.unpin(topic, slot)
    show(arguments, {"changed": changed}, [f"{arguments.command}ned" if changed else "it was so already"])
    return 0


def _unfence(arguments: argparse.Namespace) -> int:
    with client(arguments) as rmq:
        name = arguments.topic
        workers = [each for each in Inspector(rmq).workers() if name in each.topics and each.state != "lost"]
        if owning := [worker.name for worker in workers if worker.session != "shared"]:
            print(f"stop its workers with ZooKeeper first: {', '.join(owning)}", file=sys.stderr)
            return 1
        number = Control(rmq).unfence(name)
    show(arguments, {"slots": number}, [f"{number} slots handed back to shared mode"])
    return 0
