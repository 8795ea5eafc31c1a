# The conformance run of every client of the HTTP API: prints one JSON object for tests/clients/conformance_test.ts.
import datetime
import json
import os
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import JobsClient, JobsError, JobsWarning  # noqa: E402

url, flaky, dead = sys.argv[1:4]
token = os.environ.get("TOKEN")
jobs = JobsClient(url, token=token)
out = {}
warned = set()
warnings.simplefilter("always")
warnings.showwarning = lambda text, kind, *_: warned.add(str(text)) if kind is JobsWarning else None


def code_of(run):
    try:
        run()
        return "none"
    except JobsError as error:
        return [error.code, error.status, error.field]


jid = jobs.push("Add", [2, 3], queue="default", tags=["a"], fields={"tenant": "acme"})["jid"]
ended = jobs.result(jid, timeout=30)
out["result"] = [ended["state"], ended["result"], ended["payload"]["tenant"], "string" if isinstance(ended["endedAt"], str) else "?"]
first = jobs.push("Add", [1, 1], id="order-7", in_="1h")
again = jobs.push("Add", [1, 1], id="order-7", in_="1h")
out["idempotent"] = [first["existed"], again["existed"], first["jid"] == again["jid"]]
out["pending"] = jobs.result(first["jid"], timeout=0.05)
when = datetime.datetime(2099, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
jobs.push("Later", [], at=when, queue="default")
jobs.push("Sync", [1], unique_for="1h", in_="1h")
out["unique"] = code_of(lambda: jobs.push("Sync", [1], unique_for="1h", in_="1h"))
out["invalid"] = code_of(lambda: jobs.push("Add", [], retry=-1))
out["unknown"] = code_of(lambda: jobs.push("Add", [], retrys=3))


def rows():
    for i in range(2_500):
        job = {"class": "Bulk", "args": [i], "queue": "bulk"}
        if i == 7:
            job["retry"] = "no"
        yield job


stored, refused = 0, []
for place, result in enumerate(jobs.push_many(rows())):
    if "jid" in result:
        stored += 1
    else:
        refused.append(place)
out["bulk"] = [stored, refused]
out["lost"] = JobsClient(flaky, token=token).push("Lost", [1], queue="lost")["existed"]
out["unreachable"] = code_of(lambda: JobsClient(dead, token=token, retries=1).push("A"))
out["large"] = code_of(lambda: jobs.push("Add", ["a" * 20_000_000]))
out["forbidden"] = code_of(lambda: JobsClient(url, token="wrong").push("A"))
out["warned"] = sorted(text.split('"')[1] for text in warned)
print(json.dumps(out))
