# A worker whose job ignores that it is cancelled, for stuck_test.ts.
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import Worker  # noqa: E402


def stuck(ctx, file):
    while not os.path.exists(file):
        time.sleep(0.02)


Worker(sys.argv[1], {"Stuck": stuck}, token=os.environ["TOKEN"], concurrency=1).run()
