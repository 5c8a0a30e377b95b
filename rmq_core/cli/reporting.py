"""``report``: how far a message is, and what came of it."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from rmq_core.cli.shell import Shell, command, complain, moment
from rmq_core.errors import NoResult
from rmq_core.model.report import Report
from rmq_core.model.text import encodable, shown


@command
@click.argument("topic")
@click.argument("ident", metavar="ID")
@click.option("--slot-basis", help="The one it was sent with.")
@click.option("--wait-ms", type=click.IntRange(0), default=0, help="Wait so long for its result.")
def report(shell: Shell, topic: str, ident: str, slot_basis: str | None, wait_ms: int) -> int:
    """Say how far a message is: its progress, log and result.

    Ends with 1 where nothing is known of it, and where its result was waited for and did not come.
    """
    with shell.client() as rmq:
        failed = None
        if wait_ms:
            try:
                rmq.result(topic, ident, slot_basis, timeout_ms=wait_ms)
            except NoResult as error:
                failed = str(error)
        found = rmq.report(topic, ident, slot_basis)
    if found is not None:
        shell.show(asdict(found) | {"done": found.done}, _lines(found))
    elif failed is None:
        failed = f"nothing is known of message {ident!r:.100} of topic {topic!r}"
    if failed is not None:
        complain(failed)
    return 1 if failed is not None else 0


def _lines(found: Report) -> list[str]:
    lines = [f"state     {found.state or ('done' if found.done else 'no longer in the queue')}"]
    if found.progress_ms is not None:
        lines.append(f"progress  {_text(found.progress)}  ({moment(found.progress_ms)})")
    if found.result_ms is not None:
        lines.append(f"result    {_text(found.result)}  ({moment(found.result_ms)})")
    if found.lines_dropped:
        lines.append(f"… {found.lines_dropped} earlier lines were dropped")
    return lines + [f"{moment(line.at_ms)}  {line.attempt}  {shown(line.text)}" for line in found.lines]


def _text(value: object) -> str:
    return shown(encodable(json.dumps(value, ensure_ascii=False)))
