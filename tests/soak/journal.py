"""The journal of a soak, for handlers in Python: a line when a run starts, and one when it ends."""
import contextlib
import itertools
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))
from jobs_client import Aborted  # noqa: E402

journal = os.open(os.environ["SOAK_JOURNAL"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
nonce = os.urandom(4).hex()
runs = itertools.count()


@contextlib.contextmanager
def noted(ctx):
    """Notes the start and the end of a run."""
    run = f"{os.getpid()}-{nonce}-{next(runs)}"
    note("start", ctx, run)
    try:
        yield
        note("end", ctx, run, "done")
    except BaseException as error:
        note("end", ctx, run, why_of(error))
        raise


def note(event, ctx, run, why=None):
    with open("/proc/uptime") as file:
        t = round(float(file.read().split()[0]) * 1000)
    occurrence = ctx.payload.get("occurrence")
    line = {"event": event, "t": t, "run": run, "jid": ctx.jid, "class": ctx.class_, "queue": ctx.queue}
    line.update(attempt=ctx.attempt, pid=os.getpid(), ppid=os.getppid())
    if occurrence:
        line["occurrence"] = f"{occurrence['name']} {occurrence['scheduledAt']}"
    if why:
        line["why"] = why
    os.write(journal, f"{json.dumps(line)}\n".encode())


def why_of(error):
    if isinstance(error, Aborted):
        return error.reason
    return {"Planned": "failed", "Snooze": "snoozed"}.get(type(error).__name__, type(error).__name__)
