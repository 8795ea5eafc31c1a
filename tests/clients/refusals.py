# Uses a wrong token: prints the errors of pushes, and of a worker, as JSON lines for tests/clients/refusals_test.ts.
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import JobsClient, JobsError, Worker  # noqa: E402

role, url = sys.argv[1:3]


def error_of(run):
    try:
        run()
    except JobsError as error:
        return {"code": error.code, "status": error.status, "message": str(error)}


def Mail(ctx):
    pass


# The wait before the next attempt doubles.
for _ in range(20 if role == "push" else 0):
    found = error_of(lambda: JobsClient(url, token="wrong").push("Mail"))
    print(json.dumps(found))
    if found and found["status"] == 429:
        break
print(json.dumps(error_of(Worker(url, [Mail], token="wrong").run)))
