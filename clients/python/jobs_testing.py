"""Tests handlers without a server: performs jobs in memory by the code of a real worker, and collects what they push.

    from jobs_testing import FakeJobs

    jobs = FakeJobs([Report, Mail])
    ended = jobs.perform("Report", ["2026-01"])
    assert ended["state"] == "succeeded"
    assert [job["class"] for job in jobs.pushed] == ["Mail"]
    jobs.drain()  # performs what was pushed
"""

import json
import urllib.parse
from typing import Any, Dict, Iterable, List, Optional

from jobs_client import JobsClient, JobsError, Worker, _request_of

__all__ = ["FakeJobs"]

_URL = "http://jobs.invalid"
# The retries of a job without the option.
_RETRIES = 25
_STATES = {"succeeded": "succeeded", "failed": "failed", "discard": "discarded", "kill": "dead", "snooze": "snoozed"}


class FakeJobs:
    """Handlers under test.

    handlers: functions, by the name of their class or as a list, as those of Worker.
    pushed: the jobs that were pushed and not performed, oldest first.
    batches: those that were opened: {"id", "options", "state", "total", "pending", "dead"}.
    client: pushes into pushed, as a JobsClient, for the code under test.
    """

    def __init__(self, handlers: Any):
        self.pushed: List[Dict[str, Any]] = []
        self.batches: List[Dict[str, Any]] = []
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
        payload = {"queue": "default", **_request_of({**options, "class": class_, "args": args}), "jid": jid}
        raw = json.dumps(payload)
        given = {"token": jid, "payload": raw, "queue": payload["queue"], "attempt": attempt, "receipt": "", "jid": jid}
        given["class"] = payload.get("wrapped") or class_
        given["batch"] = payload.get("batch")
        worker = _Performer(_URL, self._handlers)
        worker._client = self.client
        steps: Dict[str, Any] = {}
        worker.answer = lambda body: self._step(body, steps, given["batch"])
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

    def drain(self, limit: int = 1_000, retries: bool = False) -> List[Dict[str, Any]]:
        """Performs the pushed jobs, those that they push, and the callbacks of their batches.

        Raises AssertionError at the first that fails, or after limit jobs. With retries, a job that fails is performed again by its
        option retry, without a delay, and then is dead.
        """
        ended: List[Dict[str, Any]] = []
        while self._call_back():
            if len(ended) == limit:
                raise AssertionError(f"More than {limit} jobs: do they push each other? Expected an end")
            given = self.pushed.pop(0)
            job = {"attempt": 1, **given}
            name, attempt = job.pop("class"), job["attempt"]
            one = self.perform(name, job.pop("args"), **job)
            is_again = retries and one["state"] == "failed" and attempt <= self._retries_of(given)
            if is_again:
                self.pushed.append({**given, "attempt": attempt + 1})
            elif retries and one["state"] == "failed":
                one["state"] = "dead"
            if not retries and one["state"] in ("failed", "dead"):
                error = one["error"]
                raise AssertionError(f"Job of class {name!r} is {one['state']}: {error['class']}: {error['message']}")
            ended.append(one)
            if not is_again:
                self._count(job.get("batch"), one["state"])
        return ended

    def _retries_of(self, job: Dict[str, Any]) -> int:
        handler = _Performer(_URL, self._handlers)._handlers[job["class"]]
        retry = job.get("retry", getattr(handler, "jobs_options", {}).get("retry", True))
        return _RETRIES if retry is True else int(retry)

    def _count(self, id: Optional[str], state: str) -> None:
        for batch in self.batches:
            if batch["id"] == id:
                batch["pending"] -= 1
                if state == "dead":
                    batch["dead"] += 1
                    if batch["dead"] == 1:
                        self._call_back_of(batch, "death")

    def _call_back(self) -> bool:
        """Pushes the callbacks that are due. Returns whether there are jobs."""
        for batch in self.batches:
            if batch["state"] == "closed" and batch["pending"] == 0:
                batch["state"] = "ended"
                self._call_back_of(batch, "complete")
                if batch["dead"] == 0:
                    self._call_back_of(batch, "success")
        return bool(self.pushed)

    def _call_back_of(self, batch: Dict[str, Any], event: str) -> None:
        if batch["options"].get(event):
            self._store(batch["options"][event])

    def _step(self, body: Dict[str, Any], steps: Dict[str, Any], batch: Optional[str]) -> Dict[str, Any]:
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
        if kind == "member":
            return _done(self._store({**body["options"], "class": body["class"], "args": body["args"], "batch": batch})["jid"])
        if kind == "child":
            ended = self.perform(body["class"], body["args"], **(body.get("options") or {}))
            if ended["state"] == "succeeded":
                return _done(ended["result"])
            message = ended["error"]["message"] if ended["error"] else f"Its child is {ended['state']}"
            return {"failed": {"final": True, "class": "ChildFailed", "message": message}}
        raise TypeError(f"{kind} isn't part of tests in memory")

    def _next_jid(self) -> str:
        self._jids += 1
        return f"test-{self._jids}"

    def _store(self, job: Dict[str, Any]) -> Dict[str, Any]:
        jid = job.get("jid") or self._next_jid()
        # The same as over HTTP: what isn't JSON is refused.
        self.pushed.append(json.loads(json.dumps({"args": [], **job, "jid": jid}, allow_nan=False)))
        for batch in self.batches:
            if batch["id"] == job.get("batch"):
                batch["total"] += 1
                batch["pending"] += 1
        return {"jid": jid}

    def _open(self, options: Dict[str, Any]) -> Dict[str, Any]:
        id = f"batch-{len(self.batches) + 1}"
        self.batches.append({"id": id, "options": options, "state": "open", "total": 0, "pending": 0, "dead": 0})
        return {"id": id}

    def _close(self, id: str, abandon: bool) -> Dict[str, Any]:
        batch = next(one for one in self.batches if one["id"] == id)
        batch["state"] = "abandoned" if abandon else "closed"
        if abandon:
            self._call_back_of(batch, "abandoned")
        return {"closed": True}

    def _cancel(self, jid: str) -> Dict[str, Any]:
        for job in self.pushed:
            if job["jid"] == jid:
                self.pushed.remove(job)
                self._count(job.get("batch"), "cancelled")
                return {"changed": 1}
        raise JobsError(f'Job "{jid}" not found', "not_found", 404)


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
        part, *rest = [urllib.parse.unquote(text) for text in path[1:].split("/")]
        if part == "batches":
            return self._jobs._close(rest[0], body.get("abandon", False)) if rest else self._jobs._open(body)
        if part == "signals":
            self._jobs.signal(rest[0], body["data"])
            return {}
        if rest:
            return self._jobs._cancel(rest[0])
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
