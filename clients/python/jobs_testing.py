"""Tests handlers without a server: performs jobs in memory by the code of a real worker, and collects what they push.

    from jobs_testing import FakeJobs

    jobs = FakeJobs([Report, Mail])
    ended = jobs.perform("Report", ["2026-01"])
    assert ended["state"] == "succeeded"
    assert [job["class"] for job in jobs.pushed] == ["Mail"]
    jobs.drain()  # performs what was pushed
"""

import json
from typing import Any, Dict, Iterable, List, Optional

from jobs_client import JobsClient, Worker

__all__ = ["FakeJobs"]

_URL = "http://jobs.invalid"
_STATES = {"succeeded": "succeeded", "failed": "failed", "discard": "discarded", "kill": "dead", "snooze": "snoozed"}


class FakeJobs:
    """Handlers under test.

    handlers: functions, by the name of their class or as a list, as those of Worker.
    pushed: the jobs that were pushed and not performed, oldest first.
    client: pushes into pushed, as a JobsClient, for the code under test.
    """

    def __init__(self, handlers: Any):
        self.pushed: List[Dict[str, Any]] = []
        self.client: JobsClient = _Client(self)
        self._handlers = handlers
        self._signals: Dict[str, Any] = {}
        self._jids = 0

    def signal(self, key: str, data: Any = None) -> None:
        """Lets a later wait_for with this key return the data. Without a signal it returns None, as after its timeout."""
        self._signals[key] = data

    def perform(self, class_: str, args: Iterable[Any] = (), attempt: int = 1, **options: Any) -> Dict[str, Any]:
        """Performs one job once. Never raises an error of the handler.

        Returns {"jid", "state", "result", "error", "delay", "log", "progress"}. The state is "succeeded", "failed", "discarded",
        "dead" or "snoozed".
        """
        jid = options.get("jid") or self._next_jid()
        payload = {"class": class_, "args": list(args), "queue": "default", **options, "jid": jid}
        raw = json.dumps(payload, allow_nan=False)
        given = {"token": jid, "payload": raw, "queue": payload["queue"], "attempt": attempt, "receipt": "", "jid": jid}
        given["class"] = payload.get("wrapped") or class_
        worker = _Performer(_URL, self._handlers)
        worker._client = self.client
        steps: Dict[str, Any] = {}
        worker.answer = lambda body: self._step(body, steps)
        if class_ not in worker._handlers:
            raise LookupError(f"No handler for class {class_!r}: expected it in FakeJobs([{class_}])")
        worker._begin(given)
        with worker._lock:
            worker._lock.wait_for(lambda: bool(worker._ended))
        if worker._loop is not None:
            worker._loop.call_soon_threadsafe(worker._loop.stop)
        outcome = worker._ended[0][1]
        return {
            "jid": jid,
            "state": _STATES[outcome["end"]],
            "result": json.loads(json.dumps(outcome.get("result"))),
            "error": outcome.get("error"),
            "delay": outcome.get("in"),
            "log": [line["message"] for line in outcome.get("log", ())],
            "progress": outcome.get("progress"),
            "streamed": worker.streamed,
        }

    def drain(self, limit: int = 1_000) -> List[Dict[str, Any]]:
        """Performs the pushed jobs, and those that they push. Raises AssertionError at the first that fails, or after limit jobs."""
        ended: List[Dict[str, Any]] = []
        while self.pushed:
            if len(ended) == limit:
                raise AssertionError(f"More than {limit} jobs: do they push each other? Expected an end")
            job = dict(self.pushed.pop(0))
            name = job.pop("class")
            one = self.perform(name, job.pop("args"), **job)
            if one["state"] in ("failed", "dead"):
                error = one["error"]
                raise AssertionError(f"Job of class {name!r} is {one['state']}: {error['class']}: {error['message']}")
            ended.append(one)
        return ended

    def _step(self, body: Dict[str, Any], steps: Dict[str, Any]) -> Dict[str, Any]:
        """Answers a request of a step as the server does, in memory."""
        kind, result = body["kind"], body.get("result")
        if kind == "cursor":
            key = body["name"]
            if "cursor" in body:
                steps[key] = body["cursor"]
            return _done(steps.get(key))
        if kind == "step" and result is None:
            return {"run": {"attempt": 1, "idempotencyKey": f"test-{body['call']}"}}
        if kind == "step":
            if result["end"] == "succeeded":
                return _done(json.loads(json.dumps(result.get("result"))))
            return {"failed": result.get("error") or {"class": "Error", "message": ""}}
        if kind == "wait":
            return _done(self._signals.get(body["options"]["key"]))
        if kind == "sleep":
            return _done(None)
        if kind == "child":
            ended = self.perform(body["class"], body["args"], **(body.get("options") or {}))
            if ended["state"] == "succeeded":
                return _done(ended["result"])
            message = ended["error"]["message"] if ended["error"] else f"Its child is {ended['state']}"
            return {"failed": {"class": "ChildFailed", "message": message}}
        raise TypeError(f"{kind} isn't part of tests in memory")

    def _next_jid(self) -> str:
        self._jids += 1
        return f"test-{self._jids}"

    def _store(self, job: Dict[str, Any]) -> Dict[str, Any]:
        jid = job.get("jid") or self._next_jid()
        # The same as over HTTP: what isn't JSON is refused.
        self.pushed.append(json.loads(json.dumps({"args": [], **job, "jid": jid}, allow_nan=False)))
        return {"jid": jid}


def _done(value: Optional[Any]) -> Dict[str, Any]:
    return {"done": {} if value is None else {"value": value}}


class _Client(JobsClient):
    """Answers pushes in memory."""

    def __init__(self, jobs: FakeJobs):
        super().__init__(_URL)
        self._jobs = jobs

    def _send_once(self, url: str, method: str, path: str, body: Any, *_: Any) -> Dict[str, Any]:
        if method == "GET":
            return {"finished": None}
        return {"results": [self._jobs._store(job) for job in body]} if isinstance(body, list) else self._jobs._store(body)


class _Performer(Worker):
    """Performs jobs by the code of a worker, and answers the requests of their steps."""

    answer: Any = None

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self.streamed: List[Any] = []

    def _use(self, body: Dict[str, Any], path: str = "/work/step") -> Dict[str, Any]:
        if path == "/work/stream":
            self.streamed.extend(body["chunks"])
            return {}
        return self.answer(body)
