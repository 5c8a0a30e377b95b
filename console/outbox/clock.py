"""The clock of the database, by which rows are leased: one for all relays, whatever their machines think."""

from __future__ import annotations

from django.db import connections

_NOW = {
    "postgresql": "SELECT (extract(epoch from clock_timestamp()) * 1000)::bigint",
    "sqlite": "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
    "mysql": "SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS UNSIGNED)",
}
VENDORS = tuple(_NOW)


def now_ms(database: str) -> int:
    """Epoch milliseconds."""
    connection = connections[database]
    with connection.cursor() as cursor:
        cursor.execute(_NOW[connection.vendor])
        return int(cursor.fetchone()[0])
