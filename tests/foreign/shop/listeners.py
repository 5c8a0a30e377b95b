from asgiref.sync import sync_to_async

from rmq_core import Delivery, Topic, TopicKind
from rmq_core.worker import Listener
from tests.foreign.shop.models import Order


def write(delivery: Delivery) -> None:
    Order.objects.create(number=f"{delivery.topic} {delivery.text}")


async def write_async(delivery: Delivery) -> None:
    await sync_to_async(write)(delivery)


RETRYING = {"slots": 2, "max_retries": 0}
LISTENERS = [
    Listener("orders", write, Topic("orders", TopicKind.FIXED_TIME, **RETRYING)),
    Listener("async-orders", write_async, Topic("async-orders", TopicKind.FIXED_TIME, **RETRYING)),
]
