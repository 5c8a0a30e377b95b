"""A worker whose listener ends processes that it has forked; prints what came of each, and that it has ended."""

from __future__ import annotations

import multiprocessing
import sys
import time

from rmq_core import Delivery, Listener, Worker

FORK = multiprocessing.get_context("fork")


def pool(delivery: Delivery) -> None:
    with FORK.Pool(2) as processes:
        print(delivery.text, sum(processes.map(abs, [-1, 2])), flush=True)


def one(delivery: Delivery) -> None:
    process = FORK.Process(target=time.sleep, args=(600,))
    process.start()
    process.terminate()
    process.join()
    print(delivery.text, process.exitcode, flush=True)


if __name__ == "__main__":
    _, url, namespace, name = sys.argv
    Worker(url, [Listener("work", {"pool": pool, "one": one}[name])], namespace=namespace).run()
    print("ended", flush=True)
