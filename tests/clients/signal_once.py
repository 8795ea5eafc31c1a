# Sends a signal, for signal_once_test.ts.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import JobsClient, JobsError  # noqa: E402

try:
    JobsClient(sys.argv[1]).signal("paid")
except JobsError as error:
    print(error.code)
