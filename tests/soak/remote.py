"""The handlers of a soak in a Python worker: those of handlers.js. The gateways' addresses are its arguments."""
import asyncio
import os
import random
import signal
import sys
import time

from journal import noted  # first: it finds the client
from jobs_client import Snooze, Worker, job

OPTIONS = {"retry": 25, "backoff": {"type": "fixed", "base": 0.3, "jitter": 0}, "log_level": "warn"}


class Planned(Exception):
    pass


def handler(perform, **options):
    def run(ctx, *args):
        with noted(ctx):
            perform(ctx, *args)

    return job(**{**OPTIONS, **options})(run)


def coroutine(perform):
    async def run(ctx, *args):
        with noted(ctx):
            await perform(ctx, *args)

    return job(**OPTIONS)(run)


def flaky(ctx, failures, *_):
    if ctx.attempt <= failures:
        raise Planned("Intended")


def doomed(ctx, *_):
    raise Planned("Intended")


def snoozer(ctx, *_):
    if random.random() < 0.5:
        raise Snooze(0.3)


async def away(ctx, ms, *_):
    await asyncio.sleep(ms / 1000)


handlers = {
    "Quick": handler(lambda ctx, *_: None),
    "Nap": handler(lambda ctx, ms, *_: ctx.wait(ms / 1000)),
    "Away": coroutine(away),
    "Deaf": handler(lambda ctx, ms, *_: time.sleep(ms / 1000)),
    "Block": handler(lambda ctx, ms, *_: time.sleep(ms / 1000)),
    "Flaky": handler(flaky),
    "Doomed": handler(doomed, retry=1),
    "Snoozer": handler(snoozer),
    "Poison": handler(lambda ctx, *_: os.kill(os.getpid(), signal.SIGKILL)),
    "Tick": handler(lambda ctx, *_: None),
}
Worker(
    sys.argv[1:],
    handlers,
    concurrency=6,
    queues=os.environ["SOAK_QUEUES"].split(","),
    shutdown_timeout=int(os.environ["SOAK_SHUTDOWN_MS"]) / 1000,
).run()
