# The worker of tests/clients/step_misuse_test.ts in Python: returns what misuse of a step raises, as the result of the job.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import StepError, Worker, job  # noqa: E402

NAN = float("nan")


@job(retry=0, result_ttl="1h")
def Misuse(ctx):
    def error_of(run):
        try:
            run()
            return "none"
        except StepError as error:
            return str(error)

    return {
        "twice": error_of(lambda: ctx.step("a", lambda _: 1) and ctx.step("a", lambda _: 1)),
        "option": error_of(lambda: ctx.step("b", lambda _: 1, retries=3)),
        "missing": error_of(lambda: ctx.step("c", None)),
        "result": error_of(lambda: ctx.step("d", lambda _: {"amount": NAN})),
        "wait": error_of(lambda: ctx.wait_for("e", key="k", timeout="1h", keep_for="1d")),
        "list": error_of(lambda: ctx.run("f", "Mail", "abc")),
        "argument": error_of(lambda: ctx.run("f", "Mail", [NAN])),
        "child": error_of(lambda: ctx.run("f", "Mail", [], retrys=3)),
        "patience": error_of(lambda: ctx.run("f", "Mail", [], giveUpAfter="1h")),
        "field": error_of(lambda: ctx.run("f", "Mail", [], tenant="acme")),
        "duration": error_of(lambda: ctx.sleep("g", NAN)),
    }


@job(retry=0, failure_ttl="1h")
def Odd(ctx):
    return {"amount": NAN}


Worker(sys.argv[1], [Misuse, Odd], token=os.environ.get("TOKEN")).run()
