# The worker of tests/clients/step_misuse_test.ts in Python: prints what misuse of a step raises, as the result of the job.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import StepError, Worker, job  # noqa: E402


@job(retry=0, result_ttl="1h")
def Misuse(ctx):
    def error_of(run):
        try:
            run()
            return "none"
        except StepError as error:
            return str(error)

    return [
        error_of(lambda: ctx.step("a", lambda _: 1) and ctx.step("a", lambda _: 1)),
        error_of(lambda: ctx.step("b", lambda _: 1, retries=3)),
        error_of(lambda: ctx.step("c", None)),
    ]


Worker(sys.argv[1], [Misuse], token=os.environ.get("TOKEN")).run()
