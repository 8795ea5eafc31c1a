# A worker in Python that obeys the command language of the conformance table (docs/reference/worker-protocol.md).
import ctypes
import json
import os
import signal
import sys
import threading
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
    ctx.log.info("it is half", n=1)


def block(ctx, file, notes, seconds):
    time.sleep(seconds)
    ctx.log.info("blocks")
    note(ctx, notes, 0)
    # Calls of C code that hold the interpreter's lock; one that never returns it would block every thread.
    while not os.path.exists(file):
        ctypes.PyDLL(None).usleep(100_000)


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
    "die": lambda ctx: os.kill(os.getpid(), signal.SIGKILL),
    "wait until": wait_until,
    "note": note,
}


def perform(ctx, command, *args):
    return commands[command](ctx, *args)


def worker(of):
    options = json.loads(of["WORK_OPTIONS"])

    # A separate function: its options are only this worker's.
    def own(ctx, command, *args):
        return perform(ctx, command, *args)

    return Worker(
        of["WORK_URL"].split(","),
        {name: job(name, **options)(own) for name in of["WORK_CLASSES"].split(",")},
        token=of["WORK_TOKEN"],
        queues=[of["WORK_QUEUE"]],
        concurrency=int(of["WORK_CONCURRENCY"]),
        shutdown_timeout=float(of["WORK_SHUTDOWN_TIMEOUT"]),
    )


def further(of):
    end = {"ended": of["WORK_NAME"]}
    try:
        worker(of).run()
    except Exception as error:
        end["error"] = str(error)
    # Another thread may be within its line.
    os.write(2, f"\n{json.dumps(end)}\n".encode())


def read():
    for line in sys.stdin:
        threading.Thread(target=further, args=(json.loads(line),), daemon=True).start()


threading.Thread(target=read, daemon=True).start()
worker(os.environ).run()
