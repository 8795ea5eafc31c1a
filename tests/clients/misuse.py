# Prints the errors of misuse: JSON for tests/clients/misuse_test.ts.
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import JobsClient, Worker  # noqa: E402

URL = "http://127.0.0.1:1"


def Try(ctx):
    pass


def message_of(run):
    try:
        run()
        return "none"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


print(
    json.dumps(
        {
            "token": [
                message_of(lambda: JobsClient(URL, token="sec\nret")),
                message_of(lambda: Worker(URL, [Try], token="sec\nret")),
                message_of(lambda: JobsClient(URL, token="secret\n")),
            ],
            "lists": [
                message_of(lambda: Worker(URL, [Try], queues="wq")),
                message_of(lambda: Worker(URL, [Try], labels="gpu")),
            ],
        }
    )
)
