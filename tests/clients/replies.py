# Calls the client once for each case, and prints the results: one JSON object for tests/clients/replies_test.ts.
import concurrent.futures
import json
import os
import sys
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import JobsClient, JobsError  # noqa: E402

server, cases = sys.argv[1:3]
for url in ["", "jobs.example.com", "file:///etc/passwd"]:
    try:
        JobsClient(url)
        sys.exit(f"accepts {url}")
    except ValueError:
        pass


def run(case):
    name, call = case["name"], case["call"]
    jobs = JobsClient(f"{server}/{name}", token="secret", timeout=0.3 if name == "dripping" else 30)
    try:
        if call == "push":
            result = jobs.push("A", [1])["jid"]
        elif call == "result":
            result = jobs.result("j1", timeout=30)
        else:
            result = list(jobs.push_many([{"class": "A"}, {"class": "B"}]))
        return {"result": result, "message": None}
    except JobsError as error:
        return {"result": [error.code, error.status], "message": str(error)}
    except Exception as error:
        return {"result": traceback.format_exc(), "message": str(error)}


table = json.loads(cases)
with concurrent.futures.ThreadPoolExecutor(len(table)) as pool:
    results = pool.map(run, table)
    print(json.dumps({case["name"]: result for case, result in zip(table, results)}))
