# Prints the events of a class, for events_test.ts.
import itertools
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import JobsClient  # noqa: E402

jobs = JobsClient(sys.argv[1], token=os.environ["TOKEN"])
events = jobs.events(after=0, class_="Mail*", type=["cancelled", "dead"])
for event in itertools.islice(events, int(sys.argv[2])):
    print(json.dumps({name: event[name] for name in ("id", "type", "jid")}), file=sys.stderr, flush=True)
