# A worker whose process stands still before each job begins, for late_start_test.ts.
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import Worker  # noqa: E402


class Late(Worker):
    def _perform(self, *args):
        time.sleep(0.4)
        super()._perform(*args)

    def _begin_coroutine(self, *args):
        time.sleep(0.4)
        super()._begin_coroutine(*args)


def plain(ctx):
    sys.stdout.write(f"{ctx.jid}\n")


async def coroutine(ctx):
    plain(ctx)


Late(sys.argv[1], {"Plain": plain, "Coroutine": coroutine}, concurrency=5).run()
