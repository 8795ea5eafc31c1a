# Passes values that JSON can't hold, and prints the errors: JSON for tests/clients/values_test.ts.
import datetime
import decimal
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import JobsClient, Snooze, Worker, job  # noqa: E402
from jobs_testing import FakeJobs  # noqa: E402

url = sys.argv[1]
jobs = JobsClient(url, retries=0)
out = {}
NAN = float("nan")


def refused(name, run):
    try:
        run()
        out[name] = "none"
    except Exception as error:
        out[name] = f"{type(error).__name__}: {error}"


class Account:
    def __repr__(self):
        return "an\n  account"


circular = {}
circular["self"] = circular
deep = []
for _ in range(200):
    deep = [deep]
values = {
    "text for a list": "abc",
    "null for a list": None,
    "dictionary for a list": {"a": 1},
    "not a number": [{"amount": NAN}],
    "infinity": [1, (float("-inf"),)],
    "set": [{1}],
    "date": [{"due on": datetime.date(2026, 11, 28)}],
    "bytes": [b"abc"],
    "decimal": [decimal.Decimal("1.5")],
    "key": [{1: "a"}],
    "half a character": ["\ud800"],
    "object": [Account()],
    "circular": [circular],
    "deep": [deep],
}
for name, args in values.items():
    refused(name, lambda args=args: jobs.push("Mail", args))
refused("duration", lambda: jobs.push("Mail", [], in_=datetime.timedelta(minutes=5)))
refused("field", lambda: jobs.push("Mail", [], fields={"rate": NAN}))
refused("option", lambda: jobs.push("Mail", [], timeout=NAN))
good = {"class": "Mail", "args": [1]}
refused("one of many", lambda: list(jobs.push_many([good, good, {"class": "Mail", "args": [NAN]}])))
refused("no job", lambda: list(jobs.push_many(["Mail"])))
refused("signal", lambda: jobs.signal("key", {"by": NAN}))
refused("signal's camel case", lambda: jobs.signal("key", keepFor="1h"))


def fill(client, *args, **options):
    with client.batch(**options) as batch:
        batch.add("Mail", *args)


refused("batch", lambda: fill(jobs, [], success={"class": "Mail", "args": [NAN]}))
refused("batch's camel case", lambda: fill(jobs, [], closeWithin="1h"))
refused("member", lambda: fill(FakeJobs([print]).client, [NAN]))


@job(timeout=NAN)
def Report(ctx):
    pass


def Odd(ctx, how):
    if how == "chunk":
        ctx.stream(NAN)
    if how == "snooze":
        raise Snooze(NAN)
    return {"amount": NAN}


refused("class option", lambda: Worker(url, [Report]))
for how in ("chunk", "snooze"):
    error = FakeJobs([Odd]).perform("Odd", [how])["error"]
    out[how] = f"{error['class']}: {error['message']}"
jobs.push("Valid", ([1, 2], {"a": (None, True, "ü😀", -1.5)}, "last"))
print(json.dumps({"refused": out}))
