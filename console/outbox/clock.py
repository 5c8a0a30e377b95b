"""The clock of the database, by which rows are leased: one for all relays, whatever their machines think."""

from __future__ import annotations

from django.db import connections

_NOW = {
    "postgresql": "SELECT (extract(epoch from clock_timestamp()) * 1000)::bigint",
    "sqlite": "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
    # Not UNIX_TIMESTAMP(NOW(3)): in the zone of its session an hour of each autumn comes twice.
    "mysql": "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000",
}
VENDORS = tuple(_NOW)


def now_ms(database: str) -> int:
    """Epoch milliseconds."""
    connection = connections[database]
    with connection.cursor() as cursor:
        cursor.execute(_NOW[connection.vendor])
        return int(cursor.fetchone()[0])
