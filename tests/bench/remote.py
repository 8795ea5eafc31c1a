"""A worker in Python over HTTP, for the benchmarks: pushes JOBS no-op jobs with a text of BYTES bytes, or performs
them, and prints the seconds and the processor time.

JOBS=50000 BYTES=10 python3 remote.py push|work|coroutines URL CONCURRENCY
"""
import os
import sys
import time
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import JobsClient, Worker  # noqa: E402

stage, url, concurrency = sys.argv[1:]
total, text = int(os.environ["JOBS"]), "x" * int(os.environ["BYTES"])
start = time.monotonic()

if stage == "push":
    warnings.simplefilter("ignore")  # no worker has registered the class yet
    rows = ({"class": "Noop", "args": [text]} for _ in range(total))
    refused = [result for result in JobsClient(url).push_many(rows) if "refused" in result]
    assert not refused, refused[:1]
    print("push", time.monotonic() - start)
else:
    left = total

    def count():
        global left, start, cpu
        if left == total:
            start, cpu = time.monotonic(), time.process_time()
        left -= 1
        if left == 0:
            worker.stop()

    def on_thread(ctx, *args):
        count()

    async def on_loop(ctx, *args):
        count()

    Noop = on_loop if stage == "coroutines" else on_thread
    worker = Worker(url, handlers={"Noop": Noop}, concurrency=int(concurrency))
    worker.run()
    print("drain", time.monotonic() - start)
    print("cpu", time.process_time() - cpu)
