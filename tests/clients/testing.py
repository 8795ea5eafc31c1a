# Performs jobs in memory, and prints the results: one JSON object for tests/clients/testing_test.ts.
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import Discard, Kill, Snooze  # noqa: E402
from jobs_testing import FakeJobs  # noqa: E402


def Report(ctx, month):
    ctx.progress(50, "half")
    ctx.log.info(f"report of {month}")
    jid = ctx.client.push("Mail", [month], queue="mail")["jid"]
    return {"month": month, "attempt": ctx.attempt, "jid": jid}


def End(ctx, how):
    if how == "discard":
        raise Discard("not needed")
    if how == "kill":
        raise Kill("no")
    if how == "snooze":
        raise Snooze("5m")
    raise TypeError("outer") from ValueError("inner")


async def Mail(ctx, to):
    ctx.log.info(f"mail to {to}")


def Order(ctx):
    card = ctx.step("charge", lambda step: {"attempt": step.attempt})
    ctx.sleep("cool down", "2d")
    answer = ctx.wait_for("approval", key="order", timeout="1h")
    child = ctx.run("invoice", "Report", ["2026-02"])
    count = ctx.each("items", lambda after: [1, 2, 3], lambda item: None)
    return {"card": card, "answer": answer, "child": child["month"], "count": count}


jobs = FakeJobs([Report, End, Mail, Order])
jobs.signal("order", {"by": "ann"})
out = {"report": jobs.perform("Report", ["2026-01"], attempt=3)}
out["pushed"] = [[job["class"], job["args"], job["queue"]] for job in jobs.pushed]
out["drained"] = [ended["log"] for ended in jobs.drain()]
for how in ("discard", "kill", "snooze", "fail"):
    ended = jobs.perform("End", [how])
    error = ended["error"] or {}
    out[how] = [ended["state"], error.get("message"), error.get("causes"), ended["delay"]]
out["order"] = jobs.perform("Order")["result"]
def Row(ctx, row):
    if row == "flaky" and ctx.attempt < 3:
        raise ValueError(f"attempt {ctx.attempt}")
    if row == "poison":
        raise ValueError("always")
    if row == "more":
        ctx.batch.add("Row", [1])


Row.jobs_options = {"retry": 2}
noted = []
rows = FakeJobs({"Row": Row, "Called": lambda ctx, name: noted.append(name)})
callbacks = {event: {"class": "Called", "args": [event]} for event in ("success", "complete", "death", "abandoned")}
for all_rows in (["flaky", "more"], ["poison", "flaky"]):
    with rows.client.batch(name="rows", **callbacks) as batch:
        for row in all_rows:
            batch.add("Row", [row])
    noted.append(" ".join(ended["state"] for ended in rows.drain(retries=True)))
failures = 0
try:
    with rows.client.batch(**callbacks):
        raise ValueError("stop")
except ValueError:
    failures += 1
rows.drain()
out["batches"] = [noted, [[one["state"], one["total"], one["dead"]] for one in rows.batches], failures]
cancelled = rows.client.push("Row", [1])["jid"]
out["cancel"] = [rows.client.cancel(cancelled), rows.client.cancel(cancelled), len(rows.pushed)]
jobs.client.push("Nothing")
try:
    jobs.drain()
except (AssertionError, LookupError) as error:
    out["missing"] = "No handler for class" in str(error)
print(json.dumps(out))
