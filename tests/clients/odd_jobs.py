# A worker for odd_jobs_test.ts. Its only processor performs the next job if the one before has ended.
import asyncio
import concurrent.futures
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import Worker, job  # noqa: E402


class NoText(Exception):
    def __str__(self):
        return None


class RaisesText(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def fail(error, cause=None):
    raise error from cause


def report(ctx, done, note=None):
    ctx.progress(done, note)
    # A heartbeat reports it.
    time.sleep(1.5)


handlers = {
    "Echo": lambda ctx, value: value,
    "raises an error whose text is None": lambda ctx: fail(NoText()),
    "raises an error whose text raises": lambda ctx: fail(RaisesText()),
    "raises an error whose cause has no text": lambda ctx: fail(ValueError("outer"), RaisesText()),
    "raises in a step what has no text": lambda ctx: ctx.step("one", lambda _: fail(RaisesText())),
    "reports a long note": lambda ctx: report(ctx, 1, "n" * 5_000_000),
    "reports a large number": lambda ctx: report(ctx, 10**300),
}
options = {"retry": 0, "result_ttl": "1h"}
handlers = {name: job(name, **options)(handler) for name, handler in handlers.items()}


def foreign(name):
    """Returns an error of another library, or of the platform."""
    known = {"CancelledError": concurrent.futures.CancelledError, "KeyboardInterrupt": KeyboardInterrupt}
    return known.get(name) or type(name, (Exception,), {"delay": 1, "kind": name})


async def cancel_subtask():
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task


async def raise_cancelled(ctx):
    raise asyncio.CancelledError


async def have_cancelled(ctx):
    await cancel_subtask()


async def have_cancelled_in_step(ctx):
    await ctx.step("one", lambda _: cancel_subtask())


async def start_exiting_task(ctx):
    async def leave():
        raise SystemExit(3)

    ctx.task = asyncio.ensure_future(leave())
    await asyncio.sleep(0.05)
    return "started"


again = {
    **{
        f"fails by a foreign {name}": lambda ctx, name=name: fail(foreign(name)())
        for name in ("Discard", "Kill", "Snooze", "Cancelled", "StepFailed", "CancelledError", "KeyboardInterrupt")
    },
    "fails by a CancelledError that its coroutine raises": raise_cancelled,
    "fails by a cancelled subtask": have_cancelled,
    "fails by a cancelled subtask in a step": have_cancelled_in_step,
    "starts a task that raises SystemExit": start_exiting_task,
    "fails by a foreign StepFailed in a step": lambda ctx: ctx.step("one", lambda _: fail(foreign("StepFailed")())),
    "has a step that has failed for good": lambda ctx: ctx.step("one", lambda _: fail(ValueError("broken")), retry=0),
}
options = {"retry": 1, "backoff": {"type": "fixed", "base": 0.05}, "result_ttl": "1h"}
handlers.update({name: job(name, **options)(handler) for name, handler in again.items()})


def log_and_fail(ctx):
    ctx.log.debug("not printed")
    ctx.log.info("importing", file="a.csv", ts="x", level="x")
    raise KeyError("intended")


def log_and_fail_hushed(ctx):
    log_and_fail(ctx)


handlers["logs and fails"] = job("logs and fails", retry=1)(log_and_fail)
handlers["logs and fails, hushed"] = job("logs and fails, hushed", retry=0, log_level="error")(log_and_fail_hushed)
Worker(sys.argv[1], handlers, token=os.environ["TOKEN"], concurrency=1).run()
