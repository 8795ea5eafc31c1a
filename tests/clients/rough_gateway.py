# A worker for rough_gateway_test.ts.
import asyncio
import os
import select
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
import jobs_client  # noqa: E402

if "hasty" in sys.argv:
    jobs_client.random.uniform = lambda *_: 0


def chatty(ctx, file):
    for _ in range(200):
        ctx.log.info("l" * 1_000)
    while os.path.exists(file):
        time.sleep(0.02)


async def coroutine(ctx):
    await asyncio.sleep(60)


class Late(jobs_client.Worker):
    """Is slow to begin a coroutine, which is aborted meanwhile."""

    def _begin_coroutine(self, context, handler):
        context._aborted.wait()
        super()._begin_coroutine(context, handler)


kind = Late if "late" in sys.argv else jobs_client.Worker
if "idle" in sys.argv:
    line = jobs_client._Line(jobs_client._Servers(sys.argv[1]), None)
    for _ in range(2):
        line.send("/work/heartbeat", {}, 10, {"lost": list})
        # Until the proxy has closed it.
        select.select([line._connection.sock], [], [], 30)
    sys.exit()

if "ended" in sys.argv:
    line = jobs_client._Line(jobs_client._Servers(sys.argv[1]), None)
    line.end()
    try:
        line.send("/work/take", {}, 10, {"jobs": list})
    except jobs_client.JobsError as error:
        print(error)
    sys.exit()

handlers = {"Echo": lambda ctx: None, "Chatty": chatty, "Coroutine": coroutine}
try:
    timeout = 0 if "hurried" in sys.argv else 25
    kind(sys.argv[1], handlers, concurrency=40, shutdown_timeout=timeout).run()
except jobs_client.JobsError as error:
    print(error)
    for thread in threading.enumerate():
        if thread.name.endswith("_loop"):
            thread.join(10)
            assert not thread.is_alive(), thread.name
