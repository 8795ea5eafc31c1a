# Batches, cancels and signals by the client: prints one JSON object for tests/clients/batches_test.ts.
import json
import os
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import JobsClient, JobsError  # noqa: E402

url, flaky, notes = sys.argv[1:4]
warnings.simplefilter("ignore")
out = {"batches": [], "ids": []}


def client_of(name, address=url):
    return JobsClient(address, token=os.environ[name])


def code_of(run):
    try:
        run()
        return "none"
    except JobsError as error:
        return [error.code, str(error)]
    except Exception as error:
        return {"ValueError": "RangeError"}.get(type(error).__name__, type(error).__name__)


complete = {"class": "Tell", "args": [notes, "complete"]}
for name, address in (("PUSH", url), ("WORK", url), ("PUSH", flaky)):
    with client_of(name, address).batch(name="import", complete=complete, close_within="1h", keep_for="2h") as batch:
        for i in range(1_200):
            batch.add("Empty", [i])
        batch.add("Empty", [name, address], throttle="1/1h", throttle_key=f"{name} {address}")
        batch.add("Empty", [name, address], throttle="1/1h", throttle_key=f"{name} {address}")
        batch.add("Empty", [name, address], unique_for="1h")
        batch.add("Empty", [name, address], unique_for="1h")
    out["batches"].append([batch.added, batch.duplicates])
    out["ids"].append(batch.id)
abandoned = {"class": "Tell", "args": [notes, "abandoned"]}
push = client_of("PUSH")


def throws():
    with push.batch(complete=complete, abandoned=abandoned):
        raise ValueError("stop")


def fill(client, *args, **options):
    with client.batch(**options) as batch:
        batch.add("Empty", *args)


def refuses():
    with push.batch(complete=complete, abandoned=abandoned) as batch:
        batch.add("Empty", [], retry=-1)


out["thrown"] = code_of(throws)
out["refused"] = code_of(refuses)
out["limited"] = code_of(lambda: fill(client_of("LIMITED")))
out["misspelt"] = code_of(lambda: fill(push, succes=complete))

operator = client_of("OPERATOR")
jid = push.push("Empty", [], in_="1h")["jid"]
out["cancelled"] = [operator.cancel(jid), operator.cancel(jid), operator.cancel("none")]
out["forbidden"] = code_of(lambda: push.cancel(jid))[0]
waiting = push.push("Approve", ["order-1"])["jid"]
operator.signal("order-1", {"by": "ann"})
out["signalled"] = operator.result(waiting, timeout=30)["result"]
out["kept"] = operator.signal("order-2", keep_for="1h")
out["unkept"] = code_of(lambda: operator.signal("order 3/ü", None, keep=False))[0]
print(json.dumps(out))
