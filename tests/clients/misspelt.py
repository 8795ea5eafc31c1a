# Prints the errors of misspelt options: JSON for tests/clients/misspelt_test.ts.
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
        [
            message_of(lambda: Worker(URL, [Try], concurency=5)),
            message_of(lambda: Worker(URL, [Try], colour="red")),
            message_of(lambda: Worker(URL, handler=[Try])),
            message_of(lambda: JobsClient(URL, tokn="x")),
            message_of(lambda: Worker(URL, [])),
        ]
    )
)
