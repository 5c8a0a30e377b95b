"""``journal``: prints a topic's journal, and follows it."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Any

import click

from rmq_core.cli.shell import Shell, command, complain, moment
from rmq_core.client.inspector import Inspector
from rmq_core.journal import Gap, Transition
from rmq_core.journal.trimmer import JournalState
from rmq_core.model.ids import id_to_text, raw_id
from rmq_core.model.text import shown
from rmq_core.model.topic import Journal

PAUSE_S = 0.5
WORDS = {
    "missing": "entries {after_n} to {before_n} are missing in between",
    "restarted": "the numbers started again after {after_n}",
    "off": "the journal was off until here: what the slot held has a past that was not recorded",
}


@command
@click.argument("topic")
@click.option("--id", "ident", help="Of one message only.")
@click.option("--slot", type=int, help="Of this slot only.")
@click.option("--follow", is_flag=True, help="Go on as it happens, until interrupted.")
@click.option("--state", is_flag=True, help="How large it is, and how far its readers are.")
def journal(shell: Shell, topic: str, ident: str | None, slot: int | None, follow: bool, state: bool) -> None:
    """Print what happened to messages, from the topic's journal.

    Oldest first; a line (--json: an object) for each transition and each gap. Reads only, and holds nothing back.
    """
    with shell.client() as rmq:
        if state:
            found = Inspector(rmq).journal(topic)
            shell.show(asdict(found), _state_lines(found))
            return
        wanted = None if ident is None else raw_id(ident)
        if rmq.topic(topic).journal is Journal.OFF:
            complain(f"the journal of topic {topic!r} is off: what happens now is not recorded")
        reader = rmq.journal(topic, slots=slot)
        while True:
            for each in reader:
                if isinstance(each, Gap) or wanted in (None, each.id):
                    click.echo(json.dumps(_values(each)) if shell.as_json else shown(_line(each)))
            if not follow:
                return
            time.sleep(PAUSE_S)


def _values(each: Transition | Gap) -> dict[str, Any]:
    if isinstance(each, Gap):
        return {"gap": each.reason} | asdict(each)
    values = each._asdict()
    body = values.pop("body")
    return values | {"id": id_to_text(each.id) if each.id else "", "body_bytes": None if body is None else len(body)}


def _line(each: Transition | Gap) -> str:
    if isinstance(each, Gap):
        words = WORDS[each.reason].format(after_n=each.after_n + 1, before_n=each.before_n - 1)
        return f"{_time(each.at_ms)}  slot {each.slot:<4} GAP          {words}"
    detail = " ".join(filter(None, (each.error, each.message)))
    way = f"{each.origin} → {each.target}"
    ident = id_to_text(each.id) if each.id else ""
    return f"{_time(each.at_ms)}  slot {each.slot:<4} {each.event:<12} {way:<18} {ident}  {detail}".rstrip()


def _time(at_ms: int | None) -> str:
    return "-" * 23 if at_ms is None else moment(at_ms)


def _state_lines(state: JournalState) -> list[str]:
    size = "" if state.size is None else f", about {state.size:,} bytes"
    lines = [f"{state.mode}: {state.entries:,} entries{size}, {state.written:,} ever written"]
    if state.slot_limit:
        lines.append(f"the fullest slot holds {state.fullest:,} of {state.slot_limit:,}")
    lines += [f"reader {each.name}: {each.behind:,} behind, {each.behind_ms / 1000:.1f} s" for each in state.readers]
    return lines if state.readers else [*lines, "nobody reads it durably: nothing is trimmed"]
