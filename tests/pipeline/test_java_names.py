"""Names of Java that were looked up once are known from then on, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.java_gateway import GatewayClient
from py4j.protocol import Py4JError
from pyspark.sql import functions as F

from rmq_core.pipeline import java_names

ASKED = "r\n"


@pytest.fixture
def asked(spark: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that Java is asked for."""
    found, client = list[str](), type(spark.sparkContext._gateway._gateway_client)
    assert issubclass(client, GatewayClient)
    original = client.send_command

    def noted(self: Any, command: str, *given: Any, **more: Any) -> Any:
        if command.startswith(ASKED):
            found.append(command)
        return original(self, command, *given, **more)

    monkeypatch.setattr(client, "send_command", noted)
    return found


def test_a_name_is_looked_up_once(spark: Any, asked: list[str]) -> None:
    def use() -> list[Any]:
        rows = spark.range(3).select(F.shiftright(F.col("id"), 1).alias("half"), F.crc32(F.lit("x"))).collect()
        spark._jvm.org.apache.hadoop.fs.Path("/")
        return list(rows)

    first = use()
    before = len(asked)
    assert use() == first and len(asked) == before
    java_names.remember(spark)
    assert use() == first and len(asked) == before, "nor forgotten by a session that is opened in the same context"


def test_values_and_names_there_are_not_are_asked_for_each_time(spark: Any, asked: list[str]) -> None:
    jvm = spark.sparkContext._jvm
    for _ in range(2):
        before = len(asked)
        assert jvm.java.lang.Long.MAX_VALUE == 2**63 - 1
        assert len(asked) > before
    with pytest.raises(Py4JError):
        _ = jvm.java.lang.Long.nothing_of_the_kind
    with pytest.raises(TypeError):
        jvm.java.lang.NoClass(1)
    assert "NoClass" not in jvm.java.lang.__dict__
