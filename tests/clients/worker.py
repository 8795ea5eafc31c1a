# A worker in Python that obeys the command language of the conformance table (docs/reference/worker-protocol.md).
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import Discard, Kill, Snooze, Worker, job  # noqa: E402


def fail(ctx, message):
    raise ValueError(message)


def cause(ctx):
    raise TypeError("outer ü") from ValueError("inner")


def discard(ctx, message):
    raise Discard(message)


def kill(ctx, message):
    raise Kill(message)


def snooze(ctx, delay, until):
    if time.time() * 1000 < until:
        raise Snooze(delay)
    return ctx.attempt


def log(ctx, count, length):
    for _ in range(count):
        ctx.log.info("l" * int(length))


def progress(ctx, done, note):
    ctx.progress(done, note)
    ctx.log.info("it is half")


def block(ctx, seconds):
    ctx.log.info("blocks")
    # One call of C code that holds the interpreter's lock blocks every thread.
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(100_000))


def wait_until(ctx, file, notes=None):
    if notes:
        note(ctx, notes, 0)
    while not os.path.exists(file):
        time.sleep(0.02)


def note(ctx, file, seconds):
    with open(file, "a") as notes:
        notes.write(f"{ctx.jid}\n")
    time.sleep(seconds)


commands = {
    "echo": lambda ctx, *args: {"args": args, "attempt": ctx.attempt, "class": ctx.class_, "queue": ctx.queue, "jid": ctx.jid},
    "raw": lambda ctx, *_: ctx.raw,
    "nothing": lambda ctx: None,
    "fail": fail,
    "cause": cause,
    "discard": discard,
    "kill": kill,
    "snooze": snooze,
    "odd result": lambda ctx: float("nan"),
    "odd progress": lambda ctx: ctx.progress("half"),
    "text": lambda ctx, length: "x" * int(length),
    "log": log,
    "progress": progress,
    "push": lambda ctx, *args: ctx.client.push("Try", args, queue=ctx.queue, result_ttl="1h")["jid"],
    "wait": lambda ctx, seconds: ctx.wait(seconds),
    "sleep": lambda ctx, seconds: time.sleep(seconds),
    "block": block,
    "wait until": wait_until,
    "note": note,
}


def perform(ctx, command, *args):
    return commands[command](ctx, *args)


options = json.loads(os.environ["WORK_OPTIONS"])
Worker(
    os.environ["WORK_URL"].split(","),
    {name: job(name, **options)(perform) for name in os.environ["WORK_CLASSES"].split(",")},
    token=os.environ["WORK_TOKEN"],
    queues=[os.environ["WORK_QUEUE"]],
    concurrency=int(os.environ["WORK_CONCURRENCY"]),
    shutdown_timeout=float(os.environ["WORK_SHUTDOWN_TIMEOUT"]),
).run()
