"""A Django project, for tests/clients/django_test.ts: performs its tasks, or enqueues some."""
import datetime
import json
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../../clients/python")]

import django  # noqa: E402
from django.conf import settings  # noqa: E402

role, url = sys.argv[1:3]
OPTIONS = {"url": url, "retry": 1, "backoff": {"type": "fixed", "base": 0.1}, "result_ttl": "1h", "failure_ttl": "1h"}
folder = tempfile.TemporaryDirectory()
settings.configure(
    INSTALLED_APPS=["shop"],
    DATABASES={
        "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"},
        "kept": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{folder.name}/kept", "CONN_MAX_AGE": None},
    },
    USE_TZ=True,
    TASKS={"default": {"BACKEND": "jobs_django.JobsBackend", "QUEUES": ["default", "mail"], "OPTIONS": OPTIONS}},
)
django.setup()

import jobs_django  # noqa: E402
from shop import tasks  # noqa: E402

signals = []


def note(name, task_result, **_):
    signals.append(f"{name} {task_result.status.value}")
    print(json.dumps({"level": "info", "msg": signals[-1]}), file=sys.stderr)


for name in ("task_enqueued", "task_started", "task_finished"):
    getattr(jobs_django.signals, name).connect(lambda name=name, **given: note(name, **given), weak=False)


def finished(result):
    end = time.monotonic() + 30
    while result.finished_at is None and time.monotonic() < end:
        jobs_django.task_backends["default"].client.result(result.id, timeout=30)
        result.refresh()
    return result


if role == "work":
    jobs_django.worker(concurrency=2).run()
else:
    when = datetime.datetime(2099, 1, 2, tzinfo=datetime.timezone.utc)
    deferred = tasks.later.using(run_after=when, priority=50).enqueue()
    receipt = finished(tasks.send_receipt.enqueue(7, to="ada@example.com"))
    flaky = finished(tasks.flaky.enqueue())
    broken = finished(tasks.broken.enqueue())
    deferred.refresh()
    try:
        jobs_django.task_backends["default"].get_result("none")
        missing = "found"
    except jobs_django.TaskResultDoesNotExist:
        missing = "missing"
    try:
        tasks.later.enqueue(when)
        invalid = "stored"
    except TypeError:
        invalid = "refused"
    print(
        json.dumps(
            {
                "receipt": [receipt.return_value, receipt.status, receipt.attempts, receipt.args, receipt.kwargs],
                "flaky": [flaky.return_value == flaky.id, flaky.attempts],
                "broken": [broken.status, broken.errors[0].exception_class_path, broken.errors[0].traceback.split("\n")[0]],
                "connections": [finished(tasks.connections.enqueue()).return_value for _ in range(3)],
                "async": finished(tasks.later.enqueue()).return_value,
                "deferred": [deferred.status, deferred.id],
                "signals": sorted(set(signals)),
                "missing": missing,
                "invalid": invalid,
            }
        )
    )
