"""The handlers of a soak in a Python worker: those of handlers.js. The gateways' addresses are its arguments."""
import asyncio
import itertools
import json
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import Aborted, Snooze, Worker, job  # noqa: E402

OPTIONS = {"retry": 25, "backoff": {"type": "fixed", "base": 0.3, "jitter": 0}, "log_level": "warn"}
journal = os.open(os.environ["SOAK_JOURNAL"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
nonce = os.urandom(4).hex()
runs = itertools.count()


class Planned(Exception):
    pass


def note(event, ctx, run, why=None):
    with open("/proc/uptime") as file:
        t = round(float(file.read().split()[0]) * 1000)
    occurrence = ctx.payload.get("occurrence")
    line = {"event": event, "t": t, "run": run, "jid": ctx.jid, "class": ctx.class_, "queue": ctx.queue}
    line.update(attempt=ctx.attempt, pid=os.getpid(), ppid=os.getppid())
    if occurrence:
        line["occurrence"] = f"{occurrence['name']} {occurrence['scheduledAt']}"
    if why:
        line["why"] = why
    os.write(journal, f"{json.dumps(line)}\n".encode())


def why_of(error):
    if isinstance(error, Aborted):
        return error.reason
    return {"Planned": "failed", "Snooze": "snoozed"}.get(type(error).__name__, type(error).__name__)


def handler(perform, **options):
    def noted(ctx, *args):
        run = f"{os.getpid()}-{nonce}-{next(runs)}"
        note("start", ctx, run)
        try:
            perform(ctx, *args)
            note("end", ctx, run, "done")
        except BaseException as error:
            note("end", ctx, run, why_of(error))
            raise

    return job(**{**OPTIONS, **options})(noted)


def coroutine(perform):
    async def noted(ctx, *args):
        run = f"{os.getpid()}-{nonce}-{next(runs)}"
        note("start", ctx, run)
        try:
            await perform(ctx, *args)
            note("end", ctx, run, "done")
        except BaseException as error:
            note("end", ctx, run, why_of(error))
            raise

    return job(**OPTIONS)(noted)


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
