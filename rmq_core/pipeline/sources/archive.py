"""``rmq_archive``: what an archive holds, each transition once; one partition per file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from rmq_core.errors import ConfigurationError
from rmq_core.pipeline.archive_files import archive_files
from rmq_core.pipeline.schemas import EVENTS, arrow, ddl
from rmq_core.pipeline.sources.pruning import chosen

if TYPE_CHECKING:
    import pyarrow

NAME = "rmq_archive"
ROWS_AT_ONCE = 50_000


class ArchiveSource(DataSource):
    """Options: ``path`` (or ``load(path)``), ``topics`` (comma-separated; all), ``since``, ``until`` (without it)."""

    @classmethod
    def name(cls) -> str:
        """What ``format()`` takes."""
        return NAME

    def schema(self) -> str:
        """See `schemas.EVENTS`."""
        return ddl(EVENTS)

    def reader(self, schema: Any) -> DataSourceReader:
        """What counts now."""
        return ArchiveReader(self.options, chosen(schema, EVENTS))


class File(InputPartition):
    """One file."""

    def __init__(self, path: str) -> None:
        super().__init__(None)
        self.path = path


class ArchiveReader(DataSourceReader):
    """One partition per file of the topics and days asked for."""

    def __init__(self, options: Mapping[str, str], names: list[str]) -> None:
        if not options.get("path"):
            raise ConfigurationError("the option 'path' is missing: which archive to read")
        self.path, self.names = options["path"], names
        several = [name.strip() for name in options.get("topics", "").split(",") if name.strip()]
        self.topics = several or None
        self.since, self.until = _moment(options, "since"), _moment(options, "until")

    def partitions(self) -> list[InputPartition]:
        """The files that count."""
        return [File(file) for file in archive_files(self.path, self.topics, self.since, self.until)]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """On an executor. Where there is no file, Spark asks for a partition of its own invention."""
        if isinstance(partition, File):
            yield from self._read(partition.path)

    def _read(self, path: str) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.dataset as ds

        types = {field.name: field.type for field in arrow(EVENTS)}
        of_path = pa.schema([(name, types[name]) for name in ("topic", "date")])
        parts = ds.partitioning(of_path, flavor="hive")
        schema = pa.schema([*arrow(EVENTS), ("batch", pa.string())])
        where = None
        if self.since:
            where = pc.field("at") >= pa.scalar(self.since, types["at"])
        if self.until:
            before = pc.field("at") < pa.scalar(self.until, types["at"])
            where = before if where is None else where & before
        file = ds.dataset(path, schema=schema, format="parquet", partitioning=parts)
        wanted = pa.schema([(name, types[name]) for name in self.names])
        for batch in file.to_batches(columns=self.names, filter=where, batch_size=ROWS_AT_ONCE):
            yield batch.cast(wanted)


def _moment(options: Mapping[str, str], name: str) -> datetime | None:
    if not (text := options.get(name, "").strip()):
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigurationError(f"{name}={text!r} is no time: 2027-01-15 or 2027-01-15T10:00:00+01:00") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
