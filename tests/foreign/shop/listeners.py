from asgiref.sync import sync_to_async
from django.db import connection

from rmq_core import Delivery, Topic, TopicKind
from rmq_core.worker import Listener
from tests.foreign.shop.models import Order


def write(delivery: Delivery) -> None:
    session = 0
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("select pg_backend_pid()")
            session = cursor.fetchone()[0]
    Order.objects.create(number=delivery.text, session=session)


async def write_async(delivery: Delivery) -> None:
    await sync_to_async(write)(delivery)


RETRYING = {"slots": 2, "max_retries": 0}
LISTENERS = [
    Listener("orders", write, Topic("orders", TopicKind.FIXED_TIME, **RETRYING)),
    Listener("async-orders", write_async, Topic("async-orders", TopicKind.FIXED_TIME, **RETRYING)),
]
