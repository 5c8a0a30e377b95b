"""Every fault of the catalogue, alone and in pairs: exactly these are found, and what can be repaired is.

``CATALOGUE=alone`` plants each in a run of its own, and more pairs; ``CATALOGUE_SEED`` chooses the pairs.
"""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest

from rmq_core.pipeline.findings.verdicts import KINDS
from tests.console.conftest import person, queue
from tests.console.operations.desk import Desk, desk
from tests.docs.blocks import ROOT
from tests.pipeline.catalogue.doubled import DOUBLED
from tests.pipeline.catalogue.faults import FAULTS, Fault, as_table, pairs_well
from tests.pipeline.catalogue.further import FURTHER
from tests.pipeline.catalogue.runs import Run, prove
from tests.pipeline.catalogue.streams import STREAMS
from tests.support.console_options import set_options

__all__ = ["desk", "person", "queue"]

ALONE = os.environ.get("CATALOGUE") == "alone"
SEED = int(os.environ.get("CATALOGUE_SEED") or 20261124)
PAIRS = 200 if ALONE else 24
PAGE = ROOT / "docs" / "reference" / "faults.md"
ALL = [*FAULTS, *DOUBLED, *FURTHER, *STREAMS]
UNPROVED = ("a waiting message is gone", "a message waits that nobody sent")
"""Of which nothing may be claimed where a journal has a gap."""
GAPS = ("an entry is missing in the archive", "the journal was trimmed before it was archived")


@pytest.fixture
def run_of(spark: Any, desk: Desk, settings: Any, tmp_path: Path, redis_server: Any) -> Any:
    set_options(settings, PIPELINE_REPORTS=tmp_path / "reports")
    with redis_server.client() as raw:
        yield lambda groups: Run(spark, desk, raw, tmp_path, groups)


def pairs() -> list[tuple[Fault, ...]]:
    every: list[tuple[Fault, ...]] = [*combinations([each for each in ALL if pairs_well(each)], 2)]
    return Random(SEED).sample(every, min(PAIRS, len(every)))


def unproved() -> list[tuple[Fault, ...]]:
    of = {fault.words: fault for fault in ALL}
    return [tuple(of[words] for words in (gap, *UNPROVED)) for gap in GAPS]


def test_every_fault_is_found_rightly_named_and_repaired(run_of: Any) -> None:
    assert len(FAULTS) >= 40 and len(FURTHER) >= 20
    told = prove(run_of([*((each,) for each in ALL), *pairs(), *unproved()]))
    rows = [(fault, *known) for fault, known in zip(ALL, told, strict=False)]
    assert {kind for _, found, _ in rows for kind, _ in found} == {*KINDS}
    table = as_table(rows)
    assert table in PAGE.read_text(), f"the document has this table:\n{table}"


def test_the_page_lists_every_fault() -> None:
    rows = [line.split(" | ")[1] for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    assert rows[1:] == [fault.words for fault in ALL]


if ALONE:

    @pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.words)
    def test_alone(run_of: Any, fault: Fault) -> None:
        prove(run_of([(fault,)]))
