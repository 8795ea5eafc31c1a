# The worker of tests/clients/worker_test.ts in Python.
import asyncio
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import Discard, Kill, Snooze, Worker, job  # noqa: E402

url, only = (*sys.argv[1:], "all")[:2]


@job(retry=1, backoff={"type": "fixed", "base": 1}, result_ttl="1h")
def Try(ctx, how, *rest):
    ctx.progress(50, "half")
    ctx.log.info(f"tries {how}")
    if how == "fail":
        raise TypeError("no such account")
    if how == "discard":
        raise Discard("not needed")
    if how == "kill":
        raise Kill("can't work")
    if how == "snooze" and rest[0] > time.time() * 1000:
        raise Snooze(0.1)
    if how == "wait":
        ctx.wait(60)
    if how == "ignore":
        time.sleep(60)
    if how == "nap":
        time.sleep(rest[0] / 1000)
    if how == "block":
        end = time.monotonic() + rest[0] / 1000
        while time.monotonic() < end:
            pass
    if how == "large":
        ctx.log.info("l" * 5_000_000)
        return "x" * rest[0]
    if how == "huge error":
        raise ValueError("e" * 5_000_000)
    if how == "push":
        return ctx.client.push("Try", ["ok"])["jid"]
    if how == "raw":
        return "whole" if ctx.payload["args"][1] == 12345678901234567890 else "cut"
    return {"how": how, "rest": rest, "attempt": ctx.attempt}


@job(retry=0, timeout=0.5)
async def Limited(ctx):
    await asyncio.sleep(60)


handlers = [Try, Limited] if only == "all" else {only: Try}
Worker(url, handlers, token=os.environ.get("TOKEN"), concurrency=3, shutdown_timeout=0.5).run()
