from __future__ import annotations
import time, uuid, asyncio
import pytest
from asgiref.sync import sync_to_async
from console.engine import AsyncEngine
from console.keeper.data_watch import DataWatch
from console.keeper.record import Recording
from console.models import DataLoss, KnownData, MessageRecord
from console.options import options
from console.record import losing
from console.snapshots.store import LiveKeys
from rmq_core.model.topic import Journal
from tests.console.conftest import Queue, roles_come_back
from tests.console.api.conftest import Caller, make_token
from tests.console.test_data_loss import Server, accept_all, count_at_once, engine, in_thread, look_made, losses, recording, server, states, watch
pytestmark = [pytest.mark.django_db(transaction=True, serialized_rollback=True), pytest.mark.usefixtures("roles_come_back")]

def fill(n, ended):
    rows=[]
    for i in range(n + ended):
        st = "ready" if i < n else "done"
        rows.append(MessageRecord(key=uuid.uuid4(), topic=f"t{i%20}", slot=0, ident=b"x", state=st, queued="ready" if st=="ready" else "", in_flight=False, dead=False, first_ms=i, updated_ms=i, ended_ms=None if st=="ready" else i, sends=1, deliveries=0, failures=0, error=""))
    MessageRecord.objects.bulk_create(rows, batch_size=2000)

def test_speed(queue):
    fill(100_000, 200_000)
    loss = DataLoss.objects.create(seen_ms=10**12, found_ms=10**12+5)
    t=time.perf_counter(); n=losing.tell(loss, {}); print("mark", n, time.perf_counter()-t)
    DataLoss.objects.filter(pk=loss.pk).update(how="returned"); loss.refresh_from_db()
    t=time.perf_counter(); n=losing.tell(loss, {}); print("back", n, time.perf_counter()-t)
    loss = DataLoss.objects.create(seen_ms=10**12, found_ms=10**12+5, back_ms=5)
    t=time.perf_counter(); n=losing.tell(loss, {}); print("older", n, time.perf_counter()-t)
    assert 0

async def test_only_console_keys(queue, recording, server):
    await in_thread(queue.topic, journal=Journal.FULL)
    await in_thread(queue.delayed, "a")
    await recording.round(); await recording.round()
    print(await in_thread(states))
    await in_thread(queue.client.connection.run, [("DEL", LiveKeys(options().namespace).data)])
    await recording.round(); await recording.round()
    print(await in_thread(states))
    await in_thread(accept_all)
    await recording.round(); await recording.round()
    print(await in_thread(states))
    assert 0

async def test_db_backup(watch, server):
    await watch.look(); await watch.look()
    before = await in_thread(KnownData.objects.get)
    server.lose()
    await watch.look(); await in_thread(accept_all); await watch.look(); await watch.look()
    await in_thread(before.save)   # the database is put back from a backup
    print("db backup:", await watch.look())
    assert 0

async def test_flapping_two_watches(engine, count_at_once, queue, server):
    from console.threads import DatabaseThread
    dbs=[DatabaseThread() for _ in range(4)]
    ws=[DataWatch(engine, LiveKeys(options().namespace), d) for d in dbs]
    for turn in range(6):
        for _ in range(3):
            r = await asyncio.gather(*(w.look() for w in ws), return_exceptions=True)
            bad=[x for x in r if x is not None]
            if bad: print("calm?", turn, bad)
        server.lose()
        r = await asyncio.gather(*(w.look() for w in ws), return_exceptions=True)
        r2 = await asyncio.gather(*(w.look() for w in ws), return_exceptions=True)
        print(turn, r, r2)
        ok = await asyncio.gather(in_thread(accept_all), *(w.look() for w in ws), return_exceptions=True)
        print("acc", ok)
    print(await in_thread(losses))
    for d in dbs: await d.close()
    assert 0

def test_accept_at_once(queue):
    from concurrent.futures import ThreadPoolExecutor
    from django.db import connections
    loss = DataLoss.objects.create(seen_ms=5, found_ms=10)
    KnownData.objects.create(pk=1, word="a"*32, count=3, loss=loss)
    cs=[Caller(make_token("Operator")[0]) for _ in range(6)]
    def go(c):
        try: return c.post("/problems/data-lost:accept", {"found_ms":10,"reason":"r"}).status_code
        finally: connections.close_all()
    with ThreadPoolExecutor(6) as p: print("codes", list(p.map(go, cs)))
    assert 0
