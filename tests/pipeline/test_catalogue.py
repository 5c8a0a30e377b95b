"""Every fault of the catalogue, alone and in pairs: exactly these are found, and what can be repaired is."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from tests.console.conftest import person, queue
from tests.console.operations.desk import Desk, desk
from tests.pipeline.catalogue.faults import FAULTS
from tests.pipeline.catalogue.runs import Run, prove
from tests.support.console_options import set_options

__all__ = ["desk", "person", "queue"]


def test_every_fault_is_found_rightly_named_and_repaired(
    spark: Any, desk: Desk, settings: Any, tmp_path: Path, redis_server: Any
) -> None:
    set_options(settings, PIPELINE_REPORTS=tmp_path / "reports")
    with redis_server.client() as raw:
        prove(Run(spark, desk, raw, tmp_path, [(each,) for each in FAULTS]))
