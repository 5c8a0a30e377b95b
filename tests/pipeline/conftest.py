"""One small Spark session for all tests of a process, and a Redis of its own."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rmq_core import RMQ
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.errors import PipelineError
from tests.support.missing import missing
from tests.support.spark import SETTINGS
from tests.support.spark_python import forked_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = f"{Path(__file__).parent}{os.sep}"
PATIENCE_S = 3_600
"""Many jobs of Spark on a busy machine. To break one off leaves nothing of Spark to those that follow."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if str(item.path).startswith(HERE):
            item.add_marker(pytest.mark.timeout(PATIENCE_S))


@pytest.fixture(scope="session")
def python_of_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What Spark starts as Python."""
    if sys.platform != "linux":
        yield sys.executable
        return
    with forked_python(tmp_path_factory.mktemp("python")) as program:
        yield str(program)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, python_of_spark: str) -> Iterator[SparkSession]:
    """One core and one partition, for the price of a small job is its tasks; `test_interrupted` and `test_standalone`
    run the jobs as users do."""
    from rmq_core.pipeline.session import open_session

    folder = tmp_path_factory.mktemp("spark")
    os.environ["SPARK_MASTER"] = "local[1]"
    os.environ["PYSPARK_PYTHON"] = python_of_spark
    settings = SETTINGS | {
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.memory": "1g",
        # Planning anew after every stage costs more than it brings.
        "spark.sql.adaptive.enabled": "false",
    }
    try:
        session = open_session("tests", settings=settings, log=folder / "spark.log")
    except PipelineError as error:
        missing(f"Spark ({error})")
    os.environ["PYSPARK_PYTHON"] = sys.executable  # for the jobs that tests start
    yield session
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        session.stop()


@pytest.fixture
def client(redis_server: EmbeddedRedis, namespace: str) -> Iterator[RMQ]:
    """A client whose topics are deleted afterwards."""
    from rmq_core import Control, Inspector

    with RMQ(redis_server.url, namespace) as rmq:
        yield rmq
        for topic in Inspector(rmq).topics():
            Control(rmq).delete_topic(topic.name, force=True)
