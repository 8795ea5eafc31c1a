import dataclasses
import enum
import json
from typing import Any, Optional

from asgiref.sync import async_to_sync
from django.conf import settings
from django.utils.module_loading import import_string


class TaskResultStatus(str, enum.Enum):
    READY = "READY"
    RUNNING = "RUNNING"
    FAILED = "FAILED"
    SUCCESSFUL = "SUCCESSFUL"


class _Backends(dict):
    def __missing__(self, alias):
        params = settings.TASKS[alias]
        self[alias] = import_string(params["BACKEND"])(alias, params)
        return self[alias]


task_backends = _Backends()


@dataclasses.dataclass(frozen=True)
class Task:
    func: Any
    priority: int = 0
    backend: str = "default"
    queue_name: str = "default"
    run_after: Any = None
    takes_context: bool = False

    @property
    def module_path(self):
        return f"{self.func.__module__}.{self.func.__qualname__}"

    def using(self, **changes):
        return dataclasses.replace(self, **changes)

    def enqueue(self, *args, **kwargs):
        return task_backends[self.backend].enqueue(self, args, kwargs)

    def get_result(self, result_id):
        return task_backends[self.backend].get_result(result_id)

    def call(self, *args, **kwargs):
        value = self.func(*args, **kwargs)
        return async_to_sync(lambda: value)() if hasattr(value, "__await__") else value


def task(function=None, **options):
    return Task(function, **options) if function else lambda f: Task(f, **options)


@dataclasses.dataclass(frozen=True)
class TaskError:
    exception_class_path: str
    traceback: str


@dataclasses.dataclass(frozen=True)
class TaskResult:
    task: Task
    id: str
    status: TaskResultStatus
    enqueued_at: Any
    started_at: Any
    finished_at: Any
    last_attempted_at: Any
    args: list
    kwargs: dict
    backend: str
    errors: list
    worker_ids: list
    _return_value: Optional[Any] = dataclasses.field(init=False, default=None)

    def __post_init__(self):
        object.__setattr__(self, "args", json.loads(json.dumps(self.args)))

    @property
    def return_value(self):
        if self.status != TaskResultStatus.SUCCESSFUL:
            raise ValueError("Task has not succeeded")
        return self._return_value

    @property
    def attempts(self):
        return len(self.worker_ids)

    def refresh(self):
        fresh = task_backends[self.backend].get_result(self.id)
        for field in dataclasses.fields(self):
            if field.name not in ("task", "id", "args", "kwargs", "backend"):
                object.__setattr__(self, field.name, getattr(fresh, field.name))


@dataclasses.dataclass(frozen=True)
class TaskContext:
    task_result: TaskResult

    @property
    def attempt(self):
        return self.task_result.attempts
