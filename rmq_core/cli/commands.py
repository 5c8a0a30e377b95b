"""The commands of ``python -m rmq_core`` that act on many messages: by id, all of a state, or by a filter."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rmq_core.client.control import Control
from rmq_core.client.inspector import Inspector
from rmq_core.client.rmq import RMQ
from rmq_core.model.filters import FILTER_STATES, MessageFilter

BATCH = 1_000
STATE_OF = {"requeue": "dead", "drop": "dead", "restore": "trash"}
"""What an action is about, where it is about one state only."""

FIELDS = ("text", "error", "fingerprint", "slot", "since_ms", "until_ms")


def client(arguments: argparse.Namespace) -> RMQ:
    """The client a command line asks for."""
    return RMQ(arguments.url, arguments.namespace)


def show(arguments: argparse.Namespace, value: Any, lines: Sequence[str]) -> None:
    """Prints a result as JSON, or as lines for people."""
    print(json.dumps(value, indent=2) if arguments.json else "\n".join(lines))


def add_filter(sub: argparse.ArgumentParser) -> None:
    """Options that choose messages."""
    sub.add_argument("--text", default="", help="in the id or the content")
    sub.add_argument("--error", default="", help="in the failure's class or message")
    sub.add_argument("--fingerprint", default="", help="of a cluster (see clusters)")
    sub.add_argument("--slot", type=int)
    sub.add_argument("--since-ms", type=int, help="due, died or removed then or later; epoch milliseconds")
    sub.add_argument("--until-ms", type=int, help="… then or earlier")


def add_action(sub: argparse.ArgumentParser, name: str) -> None:
    """The arguments of an action."""
    sub.set_defaults(action=name)
    sub.add_argument("topic")
    sub.add_argument("ids", nargs="*")
    sub.add_argument("--all", action="store_true", help="everything in the state")
    sub.add_argument("--dry-run", action="store_true", help="say how many, and change nothing")
    if name not in STATE_OF:
        states = [state for state in FILTER_STATES if state not in STATE_OF.values()]
        sub.add_argument("--state", choices=states, default="delayed", help="with --all or a filter (delayed)")
    add_filter(sub)


def act(arguments: argparse.Namespace) -> int:
    """Runs an action: on ids, or on all that a filter selects now."""
    name = arguments.action
    filtered = any(getattr(arguments, field) not in ("", None) for field in FIELDS)
    if bool(arguments.ids) == (arguments.all or filtered):
        print(f"rmq_core: {name} needs ids, or --all, or a filter", file=sys.stderr)
        return 2
    done = missing = 0
    with client(arguments) as rmq:
        control, inspector = Control(rmq), Inspector(rmq)
        run = getattr(control, name)
        if arguments.ids:
            batches: Iterator[Sequence[Any]] = iter([arguments.ids])
        else:
            wanted = filter_of(arguments, STATE_OF.get(name) or arguments.state)
            if arguments.dry_run:
                seen = inspector.preview(arguments.topic, wanted)
                about = "" if seen.exact else "about "
                show(arguments, {"count": seen.count, "exact": seen.exact}, [f"{name} would take {about}{seen.count}"])
                return 0
            batches = selected(inspector, arguments.topic, wanted)
        for some in batches:
            statuses = [result.status for result in run(arguments.topic, some)]
            done += statuses.count("done")
            missing += len(statuses) - statuses.count("done")
    past = {"requeue": "requeued", "drop": "dropped", "restore": "restored", "cancel": "cancelled"}[name]
    show(arguments, {past: done, "not_found": missing}, [f"{past} {done}, not found {missing}"])
    return 1 if missing and arguments.ids else 0


def filter_of(arguments: argparse.Namespace, state: str) -> MessageFilter:
    """The filter a command line asks for. Raises `InvalidFilter`."""
    return MessageFilter.from_mapping({"state": state} | {field: getattr(arguments, field) for field in FIELDS})


def selected(inspector: Inspector, topic: str, wanted: MessageFilter) -> Iterator[Sequence[Any]]:
    """The addresses of what a filter selects, a batch at a time."""
    cursor = None
    while True:
        found = inspector.select_refs(topic, wanted, cursor, scan=BATCH)
        if found.refs:
            yield found.refs
        cursor = found.next_cursor
        if cursor is None:
            return


def clusters(arguments: argparse.Namespace) -> int:
    """Lists what dead letters died of."""
    with client(arguments) as rmq:
        found = Inspector(rmq).dead_clusters(arguments.topic)
    lines = [f"{each.count:>9}  {each.fingerprint}  {each.error}: {each.example}".rstrip(": ") for each in found]
    show(arguments, [asdict(each) for each in found], lines or ["nothing is dead"])
    return 0
