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
import http.client
import io
import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
import warnings
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional

__all__ = ["JobsClient", "JobsError", "JobsWarning"]

_BATCH = 1_000
_MAX_WAIT = 30.0
# The part of an unexpected reply that an error shows.
_SHOWN = 100
_TRANSIENT = frozenset((408, 429, 500, 502, 503, 504))

_Check = Callable[[Dict[str, Any]], bool]


class JobsError(Exception):
    """The API rejected a request, or is unreachable.

    code: "invalid", "conflict" (a unique lock, a throttle or a batch refuses
    the job), "forbidden", "rate_limited", "unavailable", "unreachable",
    "redirected" (the URL is wrong), "invalid_reply" (the server isn't the API
    of jobs), …
    status: HTTP's status code; None if there was no answer.
    field: the field that is wrong, or None.
    """

    def __init__(self, message: str, code: str, status: Optional[int] = None, field: Optional[str] = None):
        super().__init__(message)
        self.code = code
        self.status = status
        self.field = field
        self.retry_after: Optional[float] = None
        self.is_transient = status is None or status in _TRANSIENT


class JobsWarning(UserWarning):
    """A push was stored, but may be a mistake: no worker has registered its class."""


class JobsClient:
    """Pushes jobs over HTTP.

    url: the dashboard's address, such as "https://jobs.example.com".
    token: one of the role push or operator.
    timeout: how long one request may take, in seconds, from connecting to the
    end of its reply.
    retries: how many times a request is sent again.
    """

    def __init__(self, url: str, token: Optional[str] = None, timeout: float = 10, retries: int = 4):
        if not url.lower().startswith(("http://", "https://")):
            raise ValueError(f"Invalid url {url!r}: expected the dashboard's address, such as https://jobs.example.com")
        self._url = url.rstrip("/") + "/api/v1"
        self._token = token
        self._timeout = timeout
        self._retries = retries
        self._opener = urllib.request.build_opener(_HTTPHandler, _HTTPSHandler, _NoRedirect)

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
        # The job's own id has the same effect as the header, and may contain characters that a header can't.
        key = str(uuid.uuid4()) if job.get("id") is None else None
        answer = self._push_once(job, key, _is_pushed)
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
            finished = self._send("GET", path, None, None, _has_finished, wait, deadline)["finished"]
            if finished is not None:
                return finished
            if left <= _MAX_WAIT:
                return None

    def _push_batch(self, batch: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
        def is_complete(reply: Dict[str, Any]) -> bool:
            results = reply.get("results")
            return isinstance(results, list) and len(results) == len(batch) and all(map(_is_result, results))

        return self._push_once(batch, str(uuid.uuid4()), is_complete)["results"]

    def _push_once(self, body: Any, key: Optional[str], is_expected: _Check) -> Dict[str, Any]:
        answer = self._send("POST", "/jobs", body, key, is_expected)
        found = answer.get("warnings")
        for warning in found if isinstance(found, list) else ():
            warnings.warn(str(warning), JobsWarning, stacklevel=3)
        return answer

    def _send(
        self,
        method: str,
        path: str,
        body: Any,
        key: Optional[str],
        is_expected: _Check,
        extra: float = 0,
        deadline: float = float("inf"),
    ) -> Dict[str, Any]:
        """Sends a request, and repeats it after a temporary failure. No attempt begins after the deadline."""
        attempt = 0
        while True:
            try:
                return self._send_once(method, path, body, key, is_expected, extra)
            except JobsError as error:
                delay = error.retry_after or min(5.0, 0.1 * 2**attempt) * random.uniform(0.5, 1)
                if not error.is_transient or attempt >= self._retries or time.monotonic() + delay >= deadline:
                    raise
            time.sleep(delay)
            attempt += 1

    def _send_once(
        self, method: str, path: str, body: Any, key: Optional[str], is_expected: _Check, extra: float
    ) -> Dict[str, Any]:
        headers = {"content-type": "application/json"}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        if key is not None:
            headers["idempotency-key"] = key
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        request = urllib.request.Request(self._url + path, data=data, headers=headers, method=method)
        try:
            with self._opener.open(request, timeout=self._timeout + extra) as response:
                status, type_ = response.status, response.headers.get("content-type") or "no content type"
                text = response.read()
        except urllib.error.HTTPError as error:
            with error:
                if 300 <= error.code < 400:
                    raise _redirected(self._url, path, error) from None
                raise _error_of(error) from None
        except (OSError, ValueError, EOFError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise JobsError(f"Can't reach {self._url}: {reason or type(error).__name__}", "unreachable") from error
        is_page = "html" in type_
        is_cut = False
        try:
            value = json.loads(text)
            if not is_page and isinstance(value, dict) and is_expected(value):
                return value
        except (ValueError, RecursionError):
            is_cut = not is_page
        shown = json.dumps(text[:_SHOWN].decode("utf-8", "replace"), ensure_ascii=False)
        reason = f"with {shown} ({type_}): expected a reply of the API of jobs, check the URL"
        invalid = JobsError(f"{self._url} answered {status} {reason}", "invalid_reply", status)
        # A reply that was cut off may be complete the next time.
        invalid.is_transient = is_cut
        raise invalid


def _is_pushed(reply: Dict[str, Any]) -> bool:
    return isinstance(reply.get("jid"), str) and reply["jid"] != ""


def _is_result(value: Any) -> bool:
    return isinstance(value, dict) and (_is_pushed(value) or isinstance(value.get("refused"), str))


def _has_finished(reply: Dict[str, Any]) -> bool:
    return "finished" in reply and (reply["finished"] is None or isinstance(reply["finished"], dict))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: it would turn a push into a GET, and hand the token to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Timed(io.RawIOBase):
    """Reads from a socket until a deadline. The socket's own timeout begins again with each byte."""

    def __init__(self, sock: Any, deadline: float):
        self._sock = sock
        self._deadline = deadline
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Optional[int]:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimedSocket:
    """A connected socket whose reply must be complete at a deadline."""

    def __init__(self, sock: Any, deadline: float):
        self._sock = sock
        self._deadline = deadline

    def makefile(self, *_: Any, **__: Any) -> io.BufferedReader:
        return io.BufferedReader(_Timed(self._sock, self._deadline))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class _HTTPConnection(http.client.HTTPConnection):
    def connect(self) -> None:
        deadline = time.monotonic() + self.timeout
        super().connect()
        self.sock = _TimedSocket(self.sock, deadline)


class _HTTPSConnection(http.client.HTTPSConnection):
    def connect(self) -> None:
        deadline = time.monotonic() + self.timeout
        super().connect()
        self.sock = _TimedSocket(self.sock, deadline)


class _HTTPHandler(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> Any:
        return self.do_open(_HTTPConnection, request)


class _HTTPSHandler(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> Any:
        return self.do_open(_HTTPSConnection, request)


def _request_of(job: Dict[str, Any]) -> Dict[str, Any]:
    """Returns a job as the API takes it: Python's keyword is "in_", and times become text."""
    request = {("in" if name == "in_" else name): value for name, value in job.items()}
    at = request.get("at")
    if isinstance(at, datetime.datetime):
        request["at"] = at.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return request


def _redirected(url: str, path: str, error: urllib.error.HTTPError) -> JobsError:
    """Returns the error of a redirect, with the URL to use instead if the redirect is to the same path."""
    cure = ": expected the API of jobs, check the URL"
    location = error.headers.get("location")
    try:
        if location:
            target = urllib.parse.urlsplit(urllib.parse.urljoin(url, location))
            host = target.netloc.rpartition("@")[2]
            end = "/api/v1" + path.partition("?")[0]
            if target.path.endswith(end):
                cure = f": use {target.scheme}://{host}{target.path[: -len(end)]}"
            else:
                cure = f" to {target.scheme}://{host}{target.path}{cure}"
    except ValueError:
        pass  # No valid location.
    return JobsError(f"{url} answered {error.code}, a redirect{cure}", "redirected", error.code)


def _error_of(error: urllib.error.HTTPError) -> JobsError:
    result = JobsError(f"{error.code} {error.reason}", "unavailable", error.code)
    try:
        details = json.loads(error.read())["error"]
        if isinstance(details["message"], str) and isinstance(details["code"], str):
            result = JobsError(details["message"], details["code"], error.code, details.get("field"))
    except (ValueError, KeyError, TypeError, RecursionError, OSError, http.client.HTTPException):
        pass  # A proxy's page.
    retry_after = error.headers.get("retry-after", "")
    if retry_after.isascii() and retry_after.isdigit():
        result.retry_after = min(60.0, float(retry_after))
    return result
