"""Its tasks."""

import time

from tests.tasks.project.models import Order

try:
    from django.tasks import task
except ImportError:  # Django before 6.0
    from django_tasks import task


@task
def ship(number: int) -> dict[str, int]:
    return {"shipped": Order.objects.filter(number=number).update(shipped=True)}


@task(queue_name="mail", takes_context=True)
async def mail(context, number: int) -> str:
    order = await Order.objects.aget(number=number)
    return f"{order.number} shipped: {order.shipped}, attempt {context.attempt}"


@task
def hang() -> None:
    time.sleep(600)
