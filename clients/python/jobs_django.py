"""A backend of Django's tasks: django.tasks of Django 6.0, or the package django-tasks for earlier versions.

    TASKS = {
        "default": {
            "BACKEND": "jobs_django.JobsBackend",
            "QUEUES": ["default", "mail"],
            "OPTIONS": {"url": "http://127.0.0.1:7433", "token": os.environ.get("JOBS_TOKEN"), "retry": 5},
        }
    }

The other OPTIONS are options of every job; see docs/reference/job-options.md. The worker is a program of the project:

    django.setup()
    jobs_django.worker(concurrency=10).run()

A task is stored under the name of its function, such as "shop.tasks.send_receipt", with two arguments: a list and a dictionary.
"""

import datetime
import os
import socket
import sys
import traceback
from typing import Any, Callable, Dict, List, Optional

from django.core.exceptions import ImproperlyConfigured
from django.db import close_old_connections, connections
from django.utils import timezone
from django.utils.module_loading import autodiscover_modules, import_string

try:
    from django.tasks import signals, task_backends
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
    from django.tasks.exceptions import TaskResultDoesNotExist
except ImportError:
    from django_tasks import signals, task_backends
    from django_tasks.backends.base import BaseTaskBackend
    from django_tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
    from django_tasks.exceptions import TaskResultDoesNotExist

from jobs_client import JobContext, JobsClient, JobsError, Snooze, Worker

__all__ = ["JobsBackend", "worker"]

_STATUS = {
    "running": TaskResultStatus.RUNNING,
    "succeeded": TaskResultStatus.SUCCESSFUL,
    **dict.fromkeys(("failed", "dead", "cancelled", "expired"), TaskResultStatus.FAILED),
}


class JobsBackend(BaseTaskBackend):
    """Enqueues tasks as jobs, and reads their results.

    A token of the role push enqueues. get_result of a task that hasn't ended reads the job, which needs the role operator.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: Dict[str, Any]):
        super().__init__(alias, params)
        options = dict(params.get("OPTIONS", {}))
        self.url = options.pop("url", None)
        self.token = options.pop("token", None)
        if not self.url:
            expected = 'expected the dashboard\'s address, such as "http://127.0.0.1:7433"'
            raise ImproperlyConfigured(f'TASKS["{alias}"]["OPTIONS"] has no "url": {expected}')
        client = {name: options.pop(name) for name in ("timeout", "retries") if name in options}
        self.job_options = options
        self.client = JobsClient(self.url, self.token, **client)

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """Stores a task, and returns its result, whose id is the jid. Raises TypeError for arguments that aren't JSON."""
        self.validate_task(task)
        options = {**self.job_options, "queue": task.queue_name}
        if task.priority != 0:
            options["priority"] = "high" if task.priority > 0 else "low"
        if task.run_after is not None:
            options["at"] = task.run_after
        jid = self.client.push(task.module_path, [list(args), dict(kwargs)], **options)["jid"]
        result = self._result(task, jid, args, kwargs, enqueued_at=timezone.now())
        signals.task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> Any:
        """Returns the result of a task. Raises TaskResultDoesNotExist if the server has it no more."""
        record = self.client.result(result_id, timeout=0)
        if record is None:
            record = self._unfinished(result_id)
        try:
            task = import_string(record["class"])
            args, kwargs = record["payload"]["args"]
        except (ImportError, KeyError, TypeError, ValueError):
            raise TaskResultDoesNotExist(result_id) from None
        if not isinstance(task, Task):
            raise TaskResultDoesNotExist(result_id)
        result = self._result(
            task,
            result_id,
            args,
            kwargs,
            status=_STATUS.get(record["state"], TaskResultStatus.READY),
            enqueued_at=_time(record.get("createdAt") or record["payload"].get("created_at")),
            started_at=_time(record.get("startedAt")),
            finished_at=_time(record.get("endedAt")),
            last_attempted_at=_time(record.get("startedAt")),
            worker_ids=[record["worker"]] * record.get("attempt", 1) if record.get("worker") else [],
            errors=[_error(record["error"])] if record.get("error") else [],
        )
        object.__setattr__(result, "_return_value", record.get("result"))
        return result

    def _unfinished(self, jid: str) -> Dict[str, Any]:
        try:
            jobs = self.client._send("GET", f"/jobs/{jid}", None, None, lambda reply: "jobs" in reply)["jobs"]
        except JobsError as error:
            if error.status == 404:
                raise TaskResultDoesNotExist(jid) from None
            raise
        if not jobs:
            raise TaskResultDoesNotExist(jid)
        return jobs[0]

    def _result(self, task: Any, jid: str, args: Any, kwargs: Any, **more: Any) -> Any:
        fields = {
            "status": TaskResultStatus.READY,
            **dict.fromkeys(("enqueued_at", "started_at", "finished_at", "last_attempted_at")),
            **{"errors": [], "worker_ids": []},
            **more,
        }
        return TaskResult(task=task, id=jid, args=list(args), kwargs=dict(kwargs), backend=self.alias, **fields)

    def perform(self, task: Any, ctx: JobContext, args: List[Any], kwargs: Dict[str, Any]) -> Any:
        """Performs one attempt of a task, with Django's signals. An error is retried by the options of the job."""
        now = timezone.now()
        result = self._result(
            task,
            ctx.jid,
            args,
            kwargs,
            status=TaskResultStatus.RUNNING,
            enqueued_at=_time(ctx.payload.get("created_at")),
            started_at=now,
            last_attempted_at=now,
            worker_ids=[f"{socket.gethostname()}:{os.getpid()}"] * ctx.attempt,
        )
        signals.task_started.send(type(self), task_result=result)
        try:
            value = task.call(*([TaskContext(task_result=result)] if task.takes_context else []), *args, **kwargs)
        except Snooze:
            raise
        except BaseException as error:
            result.errors.append(_error_of(error))
            self._finish(result, TaskResultStatus.FAILED)
            raise
        object.__setattr__(result, "_return_value", value)
        self._finish(result, TaskResultStatus.SUCCESSFUL)
        return value

    def _finish(self, result: Any, status: Any) -> None:
        object.__setattr__(result, "status", status)
        object.__setattr__(result, "finished_at", timezone.now())
        signals.task_finished.send(type(self), task_result=result)


def worker(backend: str = "default", **options: Any) -> Worker:
    """Returns a worker for all tasks of a backend: those of the modules "tasks" of the installed applications, and others that
    are imported already.

    options: those of Worker, such as concurrency=10. Queues are those of the backend and of its tasks.
    """
    autodiscover_modules("tasks")
    chosen = task_backends[backend]
    if not isinstance(chosen, JobsBackend):
        raise ImproperlyConfigured(f'TASKS["{backend}"] has another BACKEND: expected "jobs_django.JobsBackend"')
    found = [
        value
        for module in list(sys.modules.values())
        for value in list(getattr(module, "__dict__", {}).values())
        if issubclass(type(value), Task) and value.backend == backend
    ]
    tasks = {task.module_path: task for task in found}
    queues = sorted({*chosen.queues, *(task.queue_name for task in tasks.values())})
    handlers = {name: _handler(chosen, task) for name, task in tasks.items()}
    return Worker(chosen.url, handlers, token=chosen.token, **{"queues": queues, **options})


def _handler(backend: JobsBackend, task: Any) -> Callable[..., Any]:
    def perform(ctx: JobContext, args: List[Any], kwargs: Dict[str, Any]) -> Any:
        # A connection that the database has closed meanwhile would fail the first query.
        close_old_connections()
        try:
            return backend.perform(task, ctx, args, kwargs)
        finally:
            _close_connections()

    perform.jobs_options = {**backend.job_options, "queue": task.queue_name}  # type: ignore[attr-defined]
    return perform


def _close_connections() -> None:
    """Closes the connections of this thread, which ends with its job. Those of a test's transaction stay."""
    for connection in connections.all():
        if not connection.in_atomic_block:
            connection.close()


def _time(value: Any) -> Optional[datetime.datetime]:
    """Returns a time of the API, which is ISO 8601, or of a payload, in seconds or milliseconds."""
    if value is None:
        return None
    if isinstance(value, str):
        return datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
    return datetime.datetime.fromtimestamp(value / 1000 if value > 1e11 else value, datetime.timezone.utc)


def _error(error: Dict[str, Any]) -> Any:
    lines = error.get("stack") or error.get("backtrace") or []
    text = "\n".join([f"{error['class']}: {error['message']}", *lines])
    return TaskError(exception_class_path=error["class"], traceback=text)


def _error_of(error: BaseException) -> Any:
    kind = type(error)
    text = "".join(traceback.format_exception(kind, error, error.__traceback__))
    return TaskError(exception_class_path=f"{kind.__module__}.{kind.__qualname__}", traceback=text)
