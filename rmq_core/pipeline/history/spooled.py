"""Rows that need not fit into memory: in a file without a name, which goes with the process."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

RUN = 100_000
"""Rows that are sorted at once."""
_LOCAL_DIRS = "SPARK_LOCAL_DIRS"  # where Spark puts what does not fit into memory; it tells its Pythons


class Spool:
    """Batches of rows, to be read when all are written. They are only for reading: their memory is the file's."""

    def __init__(self, schema: pyarrow.Schema) -> None:
        self.schema = schema
        self.file: IO[bytes] | None = None
        self.writer: Any = None

    def add(self, batch: pyarrow.RecordBatch) -> None:
        """Writes the rows."""
        import pyarrow as pa

        if not batch.num_rows:
            return
        if self.file is None:
            folder = (os.environ.get(_LOCAL_DIRS) or "").split(",")[0]
            there = bool(folder) and Path(folder).is_dir()
            self.file = tempfile.TemporaryFile(dir=folder if there else None)  # noqa: SIM115 – for as long as it is read
            self.writer = pa.ipc.new_file(self.file, self.schema)
        self.writer.write_batch(batch)

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        """All that was written; nothing can be added any more."""
        import pyarrow as pa

        if self.file is None:
            return
        self.writer.close()
        self.file.flush()
        with self.file:
            mapped = mmap.mmap(self.file.fileno(), 0, access=mmap.ACCESS_READ)
        reader = pa.ipc.open_file(pa.py_buffer(mapped))
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)

    def close(self) -> None:
        """Gives the room back; nothing can be read any more."""
        if self.file is not None:
            self.file.close()


class Sorter:
    """Rows of `schemas.STEPS` → the same by position and seq, piece by piece, one behind the other."""

    def __init__(self, schema: pyarrow.Schema) -> None:
        self.spool = Spool(schema)
        self.held: list[Any] = []
        self.rows = 0

    def add(self, batch: pyarrow.RecordBatch) -> None:
        """More rows, in any order."""
        self.held.append(batch)
        self.rows += batch.num_rows
        if self.rows >= RUN:
            self._write()

    def pieces(self, size: int) -> Iterator[pyarrow.Table]:
        """Tables of about so many rows, each by message, position and seq. Those of a closing state are in the
        first."""
        import numpy as np
        import pyarrow as pa

        self._write()
        runs = list(self.spool.batches())
        positions = [run.column("position").to_numpy() for run in runs]
        at = [0] * len(runs)
        while left := [number for number, run in enumerate(runs) if at[number] < run.num_rows]:
            step = max(1, size // len(left))
            until = max(0, min(positions[each][min(at[each] + step, len(positions[each])) - 1] for each in left))
            parts = []
            for each in left:
                end = int(np.searchsorted(positions[each], until, side="right"))
                parts.append(runs[each].slice(at[each], end - at[each]))
                at[each] = end
            by = ("topic", "slot", "id", "position", "seq")
            yield pa.Table.from_batches(parts).sort_by([(name, "ascending") for name in by]).combine_chunks()

    def _write(self) -> None:
        import pyarrow as pa

        if not self.held:
            return
        table = pa.Table.from_batches(self.held)
        ordered = table.sort_by([("position", "ascending"), ("seq", "ascending")]).combine_chunks()
        for batch in ordered.to_batches():
            self.spool.add(batch)
        self.held, self.rows = [], 0
