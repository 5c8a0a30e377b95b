"""Real servers, started once per run when first asked for, and a namespace of its own for every test."""

from __future__ import annotations

import faulthandler
import gc
import signal
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

from rmq_core.embedded.java import find_java
from rmq_core.embedded.redis import EmbeddedRedis
from rmq_core.embedded.redis_cluster import EmbeddedCluster
from rmq_core.embedded.redis_sentinel import EmbeddedSentinel
from rmq_core.embedded.zookeeper import EmbeddedZooKeeper, zookeeper_jars
from rmq_core.errors import EmbeddedServerError
from tests.support.keys import KeySpace, remove_keys_of
from tests.support.missing import missing
from tests.support.servers import chosen_server, server_of

AFTER_S = 60
_PASSED = pytest.StashKey[bool]()
_key_spaces: list[KeySpace] = []


@pytest.fixture(scope="session")
def redis_server() -> Iterator[EmbeddedRedis]:
    """One Redis for the whole run; tests share it, each in its own ``namespace``, and never flush it.

    It is the default one, unless TEST_REDIS names another kind of ``tests/support/servers.py``.
    """
    with EmbeddedRedis(executable=chosen_server()) as server, server.client() as client:
        _key_spaces.append(client)
        yield server
        _key_spaces.remove(client)


@pytest.fixture(scope="session")
def redis_of_kind() -> Iterator[Callable[[str], EmbeddedRedis]]:
    """Gives the run's server of a kind of ``tests/support/servers.py``; skips, or in CI fails, where it is missing."""
    running: dict[str, EmbeddedRedis] = {}
    with ExitStack() as stack:

        def of_kind(kind: str) -> EmbeddedRedis:
            if kind not in running:
                running[kind] = stack.enter_context(EmbeddedRedis(executable=server_of(kind)))
                client = stack.enter_context(running[kind].client())
                _key_spaces.append(client)
                stack.callback(_key_spaces.remove, client)
            return running[kind]

        yield of_kind


@pytest.fixture(scope="session")
def redis_cluster() -> Iterator[EmbeddedCluster]:
    """One Redis Cluster of three masters for the whole run, shared in the same way."""
    with EmbeddedCluster(executable=chosen_server()) as cluster, cluster.client() as client:
        _key_spaces.append(client)
        yield cluster
        _key_spaces.remove(client)


@pytest.fixture(scope="session")
def _sentinel_service() -> Iterator[EmbeddedSentinel]:
    with EmbeddedSentinel() as service:
        yield service


@pytest.fixture
def redis_sentinel(_sentinel_service: EmbeddedSentinel) -> EmbeddedSentinel:
    """A master, a replica and a Sentinel for the whole run; a test may kill any of them, the next one finds all up."""
    return _sentinel_service.start()


@pytest.fixture(scope="session")
def zookeeper_parts() -> None:
    """Skips (in CI: fails) where there is no Java or no PySpark to take ZooKeeper from."""
    try:
        find_java()
        zookeeper_jars()
    except EmbeddedServerError as error:
        missing(f"ZooKeeper ({error})")


@pytest.fixture(scope="session")
def zookeeper(zookeeper_parts: None) -> Iterator[EmbeddedZooKeeper]:
    """One ZooKeeper for the whole run; a test keeps to the path ``/<namespace>`` and removes it."""
    with EmbeddedZooKeeper() as server:
        yield server


@pytest.fixture
def namespace(request: pytest.FixtureRequest, redis_server: EmbeddedRedis) -> Iterator[str]:
    """A namespace of the test's own; the test fails if a key of it is left in any of our servers."""
    name = f"t{uuid.uuid4().hex[:10]}"
    yield name
    left = [key for space in _key_spaces for key in remove_keys_of(space, name)]
    if left and request.node.stash.get(_PASSED, False):
        pytest.fail(f"the test left {len(left)} keys behind, such as {', '.join(left[:10])}", pytrace=False)


def pytest_configure() -> None:
    """A shell's job in the background ignores Ctrl-C, and so would every program that a test starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Nothing of it is garbage, and looking for some is a third of the work."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """What was imported and collected stays; looking through it again and again costs more than many tests."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The second net under a test that was given more time than others stays under the first one."""
    marker = item.get_closest_marker("timeout")
    usual_s = float(item.config.getini("faulthandler_timeout"))
    if marker is not None and marker.args[0] >= usual_s:
        file = item.config.stash[fault_handler_stderr_fd_key]
        faulthandler.dump_traceback_later(marker.args[0] + AFTER_S, exit=True, file=file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """For `--dist loadfile`."""
    if config.getvalue("dist") != "loadfile":
        return None
    from tests.support.scheduling import Together

    return Together(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    # What a test logs may hold what no UTF-8 says, and then a process of several could not send its report.
    report.sections = [(name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections]
    if call.when == "call":
        item.stash[_PASSED] = report.passed
    return report
