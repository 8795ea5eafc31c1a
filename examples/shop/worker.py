"""The shop's bookkeeping, in Python: a worker whose jobs come over HTTP. `python3 worker.py URL…`

With several URLs, of gateways on one store, it continues at the next when one fails.
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "clients" / "python"))
from jobs_client import Worker, job  # noqa: E402


@job(queue="books", retry=5, timeout="1m", result_ttl="1h")
def Invoice(ctx, order):
    # Drawn once, however many attempts the job has.
    number = ctx.step("number", lambda step: f"2026-{order:04}")
    ctx.log.info(f"invoice {number} of order {order}")
    return f"invoice-{number}.pdf"


if __name__ == "__main__":
    # The built-in worker has the queue "default", which this one would take from, too.
    Worker(sys.argv[1:], handlers=[Invoice], queues=["books"], token=os.environ.get("JOBS_TOKEN")).run()
