"""The shop's warehouse, in Python: counts products in bulk, and waits for one. `python3 producer.py URL`"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "clients" / "python"))
from jobs_client import JobsClient  # noqa: E402

jobs = JobsClient(sys.argv[1])
stored = [push["jid"] for push in jobs.push_many({"class": "Stock", "args": [product]} for product in range(100, 110))]
print(f"Python: {len(stored)} products, {jobs.result(stored[5], timeout=60)['result']} of one")
