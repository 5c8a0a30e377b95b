"""A process that ends sends what is buffered; a forked one uses nothing of its parent."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from rmq_core import RMQ, Control, Topic, TopicKind
from rmq_core.embedded.redis import EmbeddedRedis

ROOT = Path(__file__).parents[2]
HEAD = """
import asyncio, logging, multiprocessing, os, sys, threading, time
from concurrent.futures import Future
from rmq_core import RMQ, AsyncProducer, AsyncRMQ, PriorityMessage, Producer
from rmq_core.errors import ProducerClosed
logging.basicConfig(stream=sys.stdout, format="%(message)s")
url, namespace = sys.argv[1:]

def message(name):
    return PriorityMessage(str(name), 30)

def child(act):
    pid = os.fork()
    if not pid:
        code = 1
        try:
            act()
            code = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            sys.stdout.flush(); sys.stderr.flush()
            os._exit(code)
    return pid

def wait(*pids):
    for pid in pids:
        assert os.waitpid(pid, 0)[1] == 0
"""


@pytest.fixture
def rmq(redis_server: EmbeddedRedis, namespace: str) -> Iterator[RMQ]:
    with RMQ(redis_server.url, namespace) as client:
        client.define(Topic("work", TopicKind.PRIORITY, slots=4))
        yield client
        Control(client).delete_topic("work", force=True)


def run(rmq: RMQ, program: str, url: str = "", status: int = 0) -> str:
    """Runs a program of its own to its end, of which nothing but ``status`` is expected; its words."""
    source = HEAD + textwrap.dedent(program)
    command = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", source]
    done = subprocess.run(
        [*command, url or rmq.target.url, rmq.keyspace.namespace],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=220,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def waiting(rmq: RMQ) -> list[str]:
    """What was sent."""
    found: list[str] = []
    while some := rmq.take("work", 1000):
        found += [each.text for each in some]
        assert rmq.ack(some) == ["done"] * len(some)
    return sorted(found)


def names(*prefixes: str, count: int = 500) -> list[str]:
    return sorted(f"{prefix}{n}" for prefix in prefixes for n in range(count))


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "exit()", "threading.Thread(target=lambda: None).start()"])
@pytest.mark.parametrize("options", ["", "flush_ms=60_000, flush_count=10_000"])
def test_what_was_posted_is_sent_when_the_process_ends(rmq: RMQ, end: str, options: str) -> None:
    run(
        rmq,
        f"""
        producer = Producer(RMQ(url, namespace), {options})
        for n in range(500):
            producer.post("work", message(f"a{{n}}"))
        {end}
        """,
    )
    assert waiting(rmq) == names("a")


@pytest.mark.parametrize("error", ["ValueError('why')", "KeyboardInterrupt"])
def test_an_exception_that_ends_the_process_does_not_stop_it(rmq: RMQ, error: str) -> None:
    said = run(
        rmq,
        f"""
        producer = Producer(RMQ(url, namespace), flush_ms=60_000)
        producer.post("work", message("a0"))
        raise {error}
        """,
        status=-signal.SIGINT if error == "KeyboardInterrupt" else 1,
    )
    assert error.partition("(")[0] in said
    assert waiting(rmq) == ["a0"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_so_does_a_child_of_multiprocessing(rmq: RMQ, method: str, tmp_path: Path) -> None:
    (tmp_path / "child_program.py").write_text(
        textwrap.dedent("""
        from rmq_core import RMQ, PriorityMessage, Producer
        def post(url, namespace):
            producer = Producer(RMQ(url, namespace), flush_ms=60_000)
            for n in range(500):
                producer.post("work", PriorityMessage(f"c{n}", 30))
        """)
    )
    run(
        rmq,
        f"""
        sys.path.insert(0, {str(tmp_path)!r})
        from child_program import post
        if __name__ == "__main__":
            process = multiprocessing.get_context("{method}").Process(target=post, args=(url, namespace))
            process.start()
            process.join()
            assert process.exitcode == 0
        """,
    )
    assert waiting(rmq) == names("c")


def test_a_server_that_is_away_holds_the_end_up_for_a_while_and_what_is_lost_is_said(rmq: RMQ) -> None:
    said = run(
        rmq,
        """
        from rmq_core.client import exits
        exits.EXIT_S = 1.0
        lost = []
        producer = Producer(RMQ("redis://127.0.0.1:1", namespace), flush_ms=60_000,
                            flush_count=400, on_error=lambda error, some: print("lost", len(some), error))
        for n in range(500):
            producer.post("work", message(n))
        """,
    )
    (unknown,) = re.findall(r"of (\d+) message\(s\) nobody knows whether they were sent", said)
    unsent = re.findall(r"(\d+) message\(s\) to topic 'work' were not sent", said)
    assert int(unknown) >= 400  # as many as a flush takes at least; how many more is a matter of speed
    assert int(unknown) + sum(map(int, unsent)) == 500


def test_forked_children_share_a_client_and_read_only_their_own_replies(rmq: RMQ) -> None:
    run(
        rmq,
        """
        client = RMQ(url, namespace)
        for n in range(10):
            client.send("work", message(f"p{n}"))
        def sends(name):
            for n in range(200):
                sent = client.send("work", message(f"{name}{n}"))
                assert sent.id == f"{name}{n}" and sent.merged is False, sent
        pids = [child(lambda name=name: sends(name)) for name in "abc"]
        sends("q")
        wait(*pids)
        """,
    )
    assert waiting(rmq) == sorted([*names("p", count=10), *names(*"abcq", count=200)])


def test_a_fork_while_other_threads_are_at_work(rmq: RMQ) -> None:
    """In every state: locks held, calls under way, connections being made."""
    run(
        rmq,
        """
        client = RMQ(url, namespace)
        producer = Producer(client)
        over = threading.Event()
        def busy(name):
            n = 0
            while not over.is_set():
                client.send("work", message(f"busy-{name}-{n}"))
                producer.post("work", message(f"post-{name}-{n}"))
                n += 1
        threads = [threading.Thread(target=busy, args=(name,)) for name in range(4)]
        for each in threads: each.start()
        def act(name):
            for n in range(5):
                assert client.send("work", message(f"child-{name}-{n}")).id == f"child-{name}-{n}"
                assert producer.send("work", message(f"own-{name}-{n}")).result(30).id == f"own-{name}-{n}"
            producer.close()
        for n in range(30):
            wait(child(lambda: act(n)))
        over.set()
        for each in threads: each.join()
        """,
    )
    found = waiting(rmq)
    assert len(found) == len(set(found))
    assert [name for name in found if name.startswith(("child", "own"))] == sorted(
        f"{kind}-{name}-{n}" for kind in ("child", "own") for name in range(30) for n in range(5)
    )


def test_a_fork_in_the_middle_of_a_stream(rmq: RMQ) -> None:
    run(
        rmq,
        """
        client = RMQ(url, namespace)
        pids = []
        def source():
            for n in range(25_000):
                if n == 15_000:
                    pids.append(os.fork())
                yield message(n)
        sent = client.send_many("work", source())
        assert sum(sent) == 25_000, sent
        if not pids[0]:
            os._exit(0)
        wait(pids[0])
        """,
    )
    assert waiting(rmq) == sorted(str(n) for n in range(25_000))


def test_a_child_sends_nothing_of_its_parents_and_awaits_nothing(rmq: RMQ) -> None:
    run(
        rmq,
        """
        producer = Producer(RMQ(url, namespace), flush_ms=60_000, on_error=lambda error, some: print(error))
        for n in range(100):
            producer.post("work", message(f"p{n}"))
        awaited = producer.send("work", message("p100"))
        def act():
            try:
                awaited.result(30)
            except ProducerClosed:
                pass
            else:
                raise AssertionError("an answer")
            producer.post("work", message("c0"))
            producer.close()
        wait(child(act))
        print(awaited.done())
        producer.close()
        assert awaited.result().merged is False
        """,
    )
    assert waiting(rmq) == sorted([*names("p", count=101), "c0"])


def test_a_fork_of_a_process_with_an_event_loop(rmq: RMQ) -> None:
    run(
        rmq,
        """
        client = AsyncRMQ(url, namespace)
        producer = AsyncProducer(client)
        async def sends(name):
            sent = await asyncio.gather(*(client.send("work", message(f"{name}{n}")) for n in range(100)))
            assert [each.id for each in sent] == [f"{name}{n}" for n in range(100)]
            assert (await producer.send("work", message(f"{name}100"))).merged is False
            assert await client.take("work", 1, timeout_ms=1) or True
        async def parent():
            await client.send("work", message("first"))
            under_way = asyncio.create_task(sends("p"))
            await asyncio.sleep(0)
            pids = []
            for name in "ab":
                pid = os.fork()
                if not pid:
                    asyncio.events._set_running_loop(None)
                    code = 1
                    try:
                        asyncio.run(sends(name))
                        code = 0
                    finally:
                        os._exit(code)
                pids.append(pid)
            await under_way
            wait(*pids)
            await sends("q")
            await producer.close()
            await client.close()
        asyncio.run(parent())
        """,
    )


def test_an_async_client_moves_to_the_next_event_loop(rmq: RMQ) -> None:
    said = run(
        rmq,
        """
        client = AsyncRMQ(url, namespace)
        producer = AsyncProducer(client)
        async def sends(name):
            assert (await client.send("work", message(name))).merged is False
            await client.take("work", timeout_ms=5)
            await producer.send("work", message(name + "!"))
            await producer.post("work", message(name + "?"))
        for name in "abc":
            asyncio.run(sends(name))
        async def last():
            await producer.close()
            await client.close()
        asyncio.run(last())
        """,
    )
    assert said == ""
    assert len(waiting(rmq)) >= 6


def test_an_async_client_in_two_running_loops_says_what_is_wrong(rmq: RMQ) -> None:
    said = run(
        rmq,
        """
        client = AsyncRMQ(url, namespace)
        def other():
            try:
                asyncio.run(client.send("work", message("b")))
            except Exception as error:
                print(type(error).__name__, error)
        async def one():
            await client.send("work", message("a"))
            await asyncio.to_thread(other)
            await client.close()
        asyncio.run(one())
        """,
    )
    assert "ConfigurationError" in said and "one client for each event loop" in said
    assert waiting(rmq) == ["a"]


def test_what_an_async_producer_still_holds_at_the_end_is_said(rmq: RMQ) -> None:
    said = run(
        rmq,
        """
        async def forgets():
            producer = AsyncProducer(AsyncRMQ(url, namespace), flush_ms=60_000)
            for n in range(7):
                await producer.post("work", message(n))
        asyncio.run(forgets())
        """,
    )
    assert "7 message(s) to topic 'work' were not sent" in said


def test_a_child_sends_contents_through_its_parents_producer(rmq: RMQ) -> None:
    run(
        rmq,
        """
        producer = Producer(RMQ(url, namespace))
        producer.send("work", {"from": "parent"}, priority=20).result()
        wait(child(lambda: producer.send("work", {"from": "child"}, priority=30).result(60)))
        producer.close()
        """,
    )
    assert sorted(each.json()["from"] for each in rmq.take("work", 10)) == ["child", "parent"]


def test_nothing_is_imported_late(rmq: RMQ) -> None:
    """A child that is forked while another thread imports something waits for that import for ever."""
    said = run(
        rmq,
        """
        client = RMQ(url, namespace)
        producer = Producer(client)
        before = set(sys.modules)
        client.send("work", message("a"))
        producer.send("work", {"b": 1}, priority=20).result()
        assert len(client.take("work", 10, timeout_ms=100)) == 2
        producer.close()
        print(*sorted(set(sys.modules) - before))
        """,
    )
    assert said.split() == []
