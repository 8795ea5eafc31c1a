# Prints the errors of misuse: JSON for tests/clients/misuse_test.ts.
import json
import os
import sys
import types

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


def run_with_gevent():
    # As gevent.monkey.patch_all() leaves it.
    sys.modules["gevent.monkey"] = types.SimpleNamespace(is_module_patched=lambda name: name == "threading")
    Worker(URL, [Try]).run()


print(
    json.dumps(
        {
            "pushed": JobsClient(sys.argv[1], retries=0).push("A")["jid"],
            "urls": [
                message_of(lambda: JobsClient("http://ann:pw@127.0.0.1:1")),
                message_of(lambda: Worker(["http://127.0.0.1:1", "http://pw@127.0.0.1:1/x"], [Try])),
                message_of(lambda: JobsClient("ftp://ann:p@w@127.0.0.1:1")),
            ],
            "shown": [repr(JobsClient(URL, token="tok-3n")), repr(Worker(URL, [Try], token="tok-3n"))],
            "token": [
                message_of(lambda: JobsClient(URL, token="sec\nret")),
                message_of(lambda: Worker(URL, [Try], token="sec\nret")),
                message_of(lambda: JobsClient(URL, token="secret\n")),
            ],
            "green": [message_of(run_with_gevent)],
            "lists": [
                message_of(lambda: Worker(URL, [Try], queues="wq")),
                message_of(lambda: Worker(URL, [Try], labels="gpu")),
            ],
        }
    )
)
