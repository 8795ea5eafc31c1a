# A worker for odd_jobs_test.ts. Its only processor performs the next job if the one before has ended.
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
Worker(sys.argv[1], handlers, token=os.environ["TOKEN"], concurrency=1).run()
