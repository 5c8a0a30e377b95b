"""What happens in it: `python -m tests.tasks.project.evening PID`, of a worker, which is killed in the end."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable

import django
from django.core.management import call_command


def until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def main(worker: int) -> None:
    from django.db import transaction

    from console.outbox.models import OutboxMessage
    from tests.tasks.project.models import Order
    from tests.tasks.project.tasks import hang, mail, ship

    def status_of(result) -> str:
        try:
            result.refresh()
        except Exception as error:
            assert type(error).__name__ == "TaskResultDoesNotExist", error
            return "gone"
        return result.status

    def over(result) -> bool:
        result.refresh()
        return result.is_finished

    with transaction.atomic():
        Order.objects.create(number=1)
        shipping = ship.enqueue(1)
        assert OutboxMessage.objects.filter(state="waiting").count() == 1
    until(lambda: over(shipping), "it is shipped")
    assert (shipping.status, shipping.return_value) == ("SUCCESSFUL", {"shipped": 1}), shipping.errors
    with contextlib.suppress(RuntimeError), transaction.atomic():
        lost = ship.enqueue(2)
        raise RuntimeError("rolled back")
    assert OutboxMessage.objects.count() == 1
    mailing = mail.enqueue(1)  # outside a transaction: at once
    until(lambda: over(mailing), "it is mailed")
    assert mailing.return_value == "1 shipped: True, attempt 1"
    assert status_of(lost) == "gone", "what was rolled back was sent"
    hanging = hang.enqueue()

    until(lambda: status_of(hanging) == "RUNNING", "it runs")
    os.kill(worker, signal.SIGKILL)
    # Though no worker is there. The next one runs it alone; if that is killed, too, the task has failed.
    until(lambda: status_of(hanging) in ("READY", "FAILED"), "it runs no longer")
    print("a fine evening", len(hanging.worker_ids))


if __name__ == "__main__":
    django.setup()
    call_command("check", fail_level="WARNING")
    main(int(sys.argv[1]))
