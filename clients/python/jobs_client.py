"""Client of the HTTP API of jobs: pushes jobs, and waits for their results.

One file without dependencies, for Python 3.9 and later.

Every push carries an idempotency key, so a request that is sent again after a
lost answer stores its jobs once.

    from jobs_client import JobsClient

    jobs = JobsClient("http://127.0.0.1:7433", token=os.environ.get("JOBS_TOKEN"))
    jid = jobs.push("Mail", ["ada@example.com"], in_="5m", id="order-7-mail")["jid"]
    ended = jobs.result(jid, timeout=60)
"""

import datetime
import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
import warnings
from typing import Any, Dict, Iterable, Iterator, List, Optional

__all__ = ["JobsClient", "JobsError", "JobsWarning"]

_BATCH = 1_000
_MAX_WAIT = 30.0
_TRANSIENT = frozenset((408, 429, 500, 502, 503, 504))


class JobsError(Exception):
    """The API rejected a request, or is unreachable.

    code: "invalid", "conflict" (a unique lock, a throttle or a batch refuses
    the job), "forbidden", "rate_limited", "unavailable", "unreachable", …
    status: HTTP's status code; None if there was no answer.
    field: the field that is wrong, or None.
    """

    def __init__(self, message: str, code: str, status: Optional[int] = None, field: Optional[str] = None):
        super().__init__(message)
        self.code = code
        self.status = status
        self.field = field
        self.retry_after: Optional[float] = None


class JobsWarning(UserWarning):
    """A push was stored, but may be a mistake: no worker has registered its class."""


class JobsClient:
    """Pushes jobs over HTTP.

    url: the dashboard's address, such as "https://jobs.example.com".
    token: one of the role push or operator.
    timeout: how long one request may take, in seconds.
    retries: how many times a request is sent again.
    """

    def __init__(self, url: str, token: Optional[str] = None, timeout: float = 10, retries: int = 4):
        self._url = url.rstrip("/") + "/api/v1"
        self._token = token
        self._timeout = timeout
        self._retries = retries

    def push(self, class_: str, args: Iterable[Any] = (), **options: Any) -> Dict[str, Any]:
        """Pushes one job, and returns {"jid": …, "existed": …, "replaced": …}.

        Raises JobsError with the code "conflict" if its unique lock, throttle or batch refuses it.

        Options, with the types and defaults of docs/reference/job-options.md:

        queue, group, priority: where it waits, and its share
        in_, at: when it runs: seconds or "5m"; a datetime, ISO 8601 text or epoch seconds
        retry, retry_for, retry_queue, backoff, dead: after a failure
        timeout, expires_in: bounds of an attempt, and of the wait before it
        unique_for, unique_key, unique_until: refuses a duplicate: unique_for="1h"
        on_duplicate: "replace" replaces the waiting duplicate instead
        debounce, debounce_key, debounce_max: runs once after the last push of a burst
        throttle, throttle_key: refuses pushes above a rate: throttle="1/1m"
        result_ttl, failure_ttl: how long its record is kept
        backtrace, log_level, tags, display_class, wrapped: how it is shown, logged and performed
        batch: the ID of the batch that counts it
        jid, id, within, created_at: its ID; with id, a later push returns the first jid
        fields: additional fields, which the payload keeps
        """
        job = _request_of({**options, "class": class_, "args": list(args)})
        answer = self._push_once(job, job.get("id") or str(uuid.uuid4()))
        return {
            "jid": answer["jid"],
            "existed": answer.get("existed", False),
            "replaced": answer.get("replaced", False),
        }

    def push_many(self, jobs: Iterable[Dict[str, Any]]) -> Iterator[Dict[str, Any]]:
        """Pushes jobs from any iterable, in batches: {"class": "Mail", "args": [1], "queue": "low"}.

        Yields a result for each, in order, once its batch is stored: {"jid": …} or {"refused": …}; a
        throttle's refusal has "retryInMs".
        """
        batch: List[Dict[str, Any]] = []
        for job in jobs:
            batch.append(_request_of(job))
            if len(batch) == _BATCH:
                yield from self._push_batch(batch)
                batch = []
        if batch:
            yield from self._push_batch(batch)

    def result(self, jid: str, timeout: float = 60) -> Optional[Dict[str, Any]]:
        """Waits until a job has ended, and returns its record; None if it hasn't ended in time."""
        deadline = time.monotonic() + timeout
        while True:
            left = max(0.0, deadline - time.monotonic())
            wait = min(_MAX_WAIT, left)
            query = f"?wait={int(wait * 1000) + 1}ms" if wait > 0 else ""
            path = f"/jobs/{urllib.parse.quote(jid, safe='')}/result{query}"
            finished = self._send("GET", path, extra=wait)["finished"]
            if finished is not None:
                return finished
            if left <= _MAX_WAIT:
                return None

    def _push_batch(self, batch: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
        return self._push_once(batch, str(uuid.uuid4()))["results"]

    def _push_once(self, body: Any, key: str) -> Dict[str, Any]:
        answer = self._send("POST", "/jobs", body, key)
        for warning in answer.get("warnings", ()):
            warnings.warn(warning, JobsWarning, stacklevel=3)
        return answer

    def _send(self, method: str, path: str, body: Any = None, key: Optional[str] = None, extra: float = 0) -> Any:
        attempt = 0
        while True:
            try:
                return self._send_once(method, path, body, key, extra)
            except JobsError as error:
                if attempt >= self._retries or not (error.status is None or error.status in _TRANSIENT):
                    raise
                delay = error.retry_after or min(5.0, 0.1 * 2**attempt) * random.uniform(0.5, 1)
            time.sleep(delay)
            attempt += 1

    def _send_once(self, method: str, path: str, body: Any, key: Optional[str], extra: float) -> Any:
        headers = {"content-type": "application/json"}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        if key is not None:
            headers["idempotency-key"] = key
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        request = urllib.request.Request(self._url + path, data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=self._timeout + extra) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise _error_of(error) from None
        except (OSError, ValueError, EOFError) as error:
            reason = getattr(error, "reason", error)
            raise JobsError(f"Can't reach {self._url}: {reason}", "unreachable") from error


def _request_of(job: Dict[str, Any]) -> Dict[str, Any]:
    """Returns a job as the API takes it: Python's keyword is "in_", and times become text."""
    request = {("in" if name == "in_" else name): value for name, value in job.items()}
    at = request.get("at")
    if isinstance(at, datetime.datetime):
        request["at"] = at.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return request


def _error_of(error: urllib.error.HTTPError) -> JobsError:
    try:
        details = json.loads(error.read())["error"]
        result = JobsError(details["message"], details["code"], error.code, details.get("field"))
    except (ValueError, KeyError, TypeError, OSError):
        # A proxy's page.
        result = JobsError(f"{error.code} {error.reason}", "unavailable", error.code)
    retry_after = error.headers.get("retry-after", "")
    if retry_after.isdigit():
        result.retry_after = min(60.0, float(retry_after))
    return result
