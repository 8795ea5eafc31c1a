"""Client of the HTTP API of jobs: pushes jobs, and waits for their results.

One file without dependencies, for Python 3.9 and later.

Every push carries an idempotency key, so a request that is sent again after a
lost answer stores its jobs once.

    from jobs_client import JobsClient

    jobs = JobsClient("http://127.0.0.1:7433", token=os.environ.get("JOBS_TOKEN"))
    jid = jobs.push("Mail", ["ada@example.com"], in_="5m", id="order-7-mail")["jid"]
    ended = jobs.result(jid, timeout=60)
"""

import asyncio
import collections.abc
import contextlib
import datetime
import difflib
import http.client
import inspect
import io
import json
import math
import os
import platform
import queue
import random
import re
import selectors
import signal
import socket
import sys
import threading
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request
import uuid
import warnings
from typing import Any, AsyncIterator, Callable, Dict, Iterable, Iterator, List, Optional, Union

__all__ = [
    *("JobsClient", "JobsError", "JobsWarning", "OpenBatch"),
    *("Worker", "job", "JobContext", "Discard", "Kill", "Snooze", "Aborted"),
    *("Step", "StepFailed", "StepError", "AttemptEnded"),
]

_BATCH = 1_000
_MAX_WAIT = 30.0
# A stream of events on which nothing has come for this long is read again: the server writes each 15 s.
_MAX_SILENCE = 45.0
# The part of an unexpected reply that an error shows.
_SHOWN = 100
_TRANSIENT = frozenset((408, 429, 500, 502, 503, 504))
_WRONG_TOKEN = "unauthenticated"
# A server that has failed this often in a row is left for the next one.
_MAX_FAILURES = 2

_Check = Callable[[Dict[str, Any]], bool]


class JobsError(Exception):
    """The API rejected a request, or is unreachable.

    code: "invalid", "conflict" (a unique lock, a throttle or a batch refuses
    the job), "unauthenticated" (the token is wrong), "forbidden",
    "rate_limited", "unavailable", "unreachable", "redirected" (the URL is
    wrong), "invalid_reply" (the server isn't the API of jobs), …
    status: HTTP's status code; None if there was no answer.
    field: the field that is wrong, or None.
    """

    def __init__(self, message: str, code: str, status: Optional[int] = None, field: Optional[str] = None):
        super().__init__(message)
        self.code = code
        self.status = status
        self.field = field
        self.retry_after: Optional[float] = None
        # After many wrong tokens, a further one is status 429. Waiting doesn't make it right.
        self.is_transient = status is None or status in _TRANSIENT and code != _WRONG_TOKEN


class JobsWarning(UserWarning):
    """A push was stored, but may be a mistake: no worker has registered its class."""


class _Servers:
    """The addresses of the API, beginning with one by chance, so that many clients spread over all.

    A server that fails twice in a row, or doesn't reply in time, is left for the next one.
    """

    def __init__(self, url: Union[str, Iterable[str]]):
        urls = [url] if isinstance(url, str) else list(url)
        for one in urls or [""]:
            shown = _USER_INFO.sub(r"\1…@", one) if isinstance(one, str) else one
            if shown != one:
                raise ValueError(f"Invalid url {shown!r}: expected an address without a user or a password: pass a token")
            if not isinstance(one, str) or not one.lower().startswith(("http://", "https://")):
                expected = "the dashboard's address, such as https://jobs.example.com, or a list of them"
                raise ValueError(f"Invalid url {one!r}: expected {expected}")
        first = random.randrange(len(urls))
        self._urls = [one.rstrip("/") + "/api/v1" for one in urls[first:] + urls[:first]]
        self._failures = 0
        self._lock = threading.Lock()
        # Connections with an open request.
        self.lines: Dict["_Line", str] = {}

    @property
    def is_only(self) -> bool:
        return len(self._urls) == 1

    @property
    def current(self) -> str:
        return self._urls[0]

    def answered(self, url: str) -> None:
        if url == self._urls[0]:
            self._failures = 0

    def failed(self, url: str, error: JobsError) -> None:
        """Notes an error. Ends the other requests to a server that is left."""
        is_broken = error.status is None or error.status >= 500 or error.code == "invalid_reply"
        cause = error.__cause__
        is_late = isinstance(getattr(cause, "reason", cause), (TimeoutError, socket.timeout))
        with self._lock:
            # Another request may have left it.
            if not is_broken or len(self._urls) == 1 or url != self._urls[0]:
                return
            self._failures += 1
            if self._failures < _MAX_FAILURES and not is_late:
                return
            self._urls.append(self._urls.pop(0))
            self._failures = 0
        for line, server in list(self.lines.items()):
            if server == url:
                line.interrupt()


# The user and the password of an address.
_USER_INFO = re.compile(r"^([^/?#]*//)?[^/?#]*@")
# Requests have a token: they go to the address itself, whatever proxy the environment has for other programs.
_NO_PROXY = urllib.request.ProxyHandler({})


class JobsClient:
    """Pushes jobs over HTTP.

    url: the dashboard's address, such as "https://jobs.example.com". Of a list, one by chance is used, and the next ones
    when it fails.
    token: one of the role push or operator.
    timeout: how long one request may take, in seconds, from connecting to the
    end of its reply.
    retries: how many times a request is sent again.
    """

    def __init__(
        self,
        url: Union[str, Iterable[str]],
        token: Optional[str] = None,
        timeout: float = 10,
        retries: int = 4,
        **unknown: Any,
    ):
        _refuse_unknown(unknown, "JobsClient", ("url", "token", "timeout", "retries"))
        self._servers = _Servers(url)
        self._token = _token_of(token)
        self._timeout = timeout
        self._retries = retries
        self._opener = urllib.request.build_opener(_NO_PROXY, _HTTPHandler, _HTTPSHandler, _NoRedirect)

    def push(self, class_: str, args: Iterable[Any] = (), **options: Any) -> Dict[str, Any]:
        """Pushes one job, and returns {"jid": …, "existed": …, "replaced": …}.

        Raises JobsError with the code "conflict" if its unique lock, throttle or batch refuses it, and TypeError for a value that JSON
        can't hold, with its path.

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
        notify: the webhooks that receive its end
        batch: the ID of the batch that counts it
        jid, id, within, created_at: its ID; with id, a later push returns the first jid
        fields: additional fields, which the payload keeps
        """
        job = _request_of({**options, "class": class_, "args": args})
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
        for i, job in enumerate(jobs):
            batch.append(_request_of(job, f"jobs[{i}]"))
            if len(batch) == _BATCH:
                yield from self._push_batch(batch)
                batch = []
        if batch:
            yield from self._push_batch(batch)

    @contextlib.contextmanager
    def batch(self, **options: Any) -> Iterator["OpenBatch"]:
        """Opens a batch that the block fills, and closes it: its callbacks follow when its jobs have ended.

            with jobs.batch(name="import 42", success={"class": "Notify", "args": [42]}) as batch:
                for row in rows:
                    batch.add("ImportRow", [row])

        If the block raises an error, the batch is abandoned. Needs a token of the role push, work or operator without limits.

        Options: name, tags, notify, close_within, keep_for, parent; the callbacks success, complete, death and abandoned.
        """
        request = {
            name: _request_of(value, name) if isinstance(value, dict) and "class" in value else value
            for name, value in _spelled(options, "batch").items()
        }
        answer = self._send("POST", "/batches", _checked(request, ""), str(uuid.uuid4()), _is_opened)
        _warn(answer, 4)
        path = f"/batches/{urllib.parse.quote(answer['id'], safe='')}/close"
        batch = OpenBatch(answer["id"], self.push_many)
        try:
            yield batch
            batch._close()
        except BaseException:
            try:
                self._send("POST", path, {"abandon": True}, None, _any_reply)
            except JobsError:
                pass  # The server abandons it after close_within.
            raise
        self._send("POST", path, {}, None, _any_reply)

    def cancel(self, jid: str) -> bool:
        """Cancels a job: removes a waiting one, and has a running one aborted. Needs a token of the role operator.

        Returns False if it has ended otherwise, is dead, or there is none.
        """
        try:
            self._send("POST", f"/jobs/{urllib.parse.quote(jid, safe='')}/cancel", {}, None, _any_reply)
            return True
        except JobsError as error:
            if error.status != 404:
                raise
            # The reply to an earlier attempt may have been lost.
            finished = self.result(jid, timeout=0)
            return finished is not None and finished["state"] == "cancelled"

    def signal(self, key: str, data: Any = True, **options: Any) -> Optional[str]:
        """Sends a signal to the job that has waited longest for its key; without one, it is kept for the first that does.

        Returns the jid of the job; None if the signal is kept. Needs a token of the role signal or operator. Isn't repeated after a
        lost reply, since it might arrive twice.

        Options: keep=False refuses a key that no job waits for; keep_for: how long it is kept.
        """
        path = f"/signals/{urllib.parse.quote(key, safe='')}"
        body = _checked({**_spelled(options, "signal"), "data": data}, "")
        return self._send("POST", path, body, None, _any_reply, retries=0).get("reached")

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

    def events(self, after: Optional[int] = None, **filters: Union[str, Iterable[str]]) -> Iterator[Dict[str, Any]]:
        """Yields the events of the log, without end. Continues after a lost connection.

        after: the "id" of the last event that the program has used; 0: the oldest that is kept. Default: from now on.
        filters: type, class_, queue, batch, tag, each a text or several.
        """
        named = {name.rstrip("_"): [value] if isinstance(value, str) else list(value) for name, value in filters.items()}
        query = f"/events?{urllib.parse.urlencode(named, doseq=True)}"
        failures = 0
        is_reached = False
        while True:
            try:
                # A page has the errors of the API, and where to begin.
                start = "" if after is None else f"&after={after}"
                page = self._send("GET", query + start, None, None, _is_page)
                is_reached = True
                for event in page["events"]:
                    yield event
                    after = event["id"]
                after = page["next"]
                for id_, event in self._stream(query, after):
                    failures = 0
                    if event is not None:
                        yield event
                    after = id_
            except JobsError as error:
                if not is_reached or not error.is_transient:
                    raise
            time.sleep(_pause(0.1, failures))
            failures += 1

    def _stream(self, query: str, after: Optional[int]) -> Iterator[Any]:
        """Yields the messages of a stream of events, each an ID and an event or None, until it is cut."""
        headers = {"accept": "text/event-stream", "last-event-id": str(after)}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(self._servers.current + query, headers=headers)
        id_, data = b"", b""
        try:
            # Its timeout begins again with each line.
            with urllib.request.build_opener(_NO_PROXY, _NoRedirect).open(request, timeout=_MAX_SILENCE) as response:
                if "event-stream" not in (response.headers.get("content-type") or ""):
                    return
                for line in response:
                    # A message ends with an empty line: one that was cut off isn't read.
                    name, _, value = line.rstrip(b"\n").partition(b": ")
                    if name == b"id":
                        id_ = value
                    elif name == b"data":
                        data = value
                    elif line == b"\n" and id_:
                        yield int(id_), json.loads(data) if data else None
                        id_, data = b"", b""
        except (OSError, EOFError, http.client.HTTPException):
            return  # The next page has the error, if there is one.

    def _push_batch(self, batch: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
        def is_complete(reply: Dict[str, Any]) -> bool:
            results = reply.get("results")
            return isinstance(results, list) and len(results) == len(batch) and all(map(_is_result, results))

        return self._push_once(batch, str(uuid.uuid4()), is_complete)["results"]

    def _push_once(self, body: Any, key: Optional[str], is_expected: _Check) -> Dict[str, Any]:
        answer = self._send("POST", "/jobs", body, key, is_expected)
        _warn(answer, 4)
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
        retries: Optional[int] = None,
    ) -> Dict[str, Any]:
        """Sends a request, and repeats it after a temporary failure. No attempt begins after the deadline."""
        limit = self._retries if retries is None else retries
        attempt = 0
        while True:
            url = self._servers.current
            try:
                answer = self._send_once(url, method, path, body, key, is_expected, extra)
                self._servers.answered(url)
                return answer
            except JobsError as error:
                self._servers.failed(url, error)
                delay = error.retry_after or _pause(0.1, attempt)
                if not error.is_transient or attempt >= limit or time.monotonic() + delay >= deadline:
                    raise
            time.sleep(delay)
            attempt += 1

    def _send_once(
        self, url: str, method: str, path: str, body: Any, key: Optional[str], is_expected: _Check, extra: float
    ) -> Dict[str, Any]:
        headers = {"content-type": "application/json"}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        if key is not None:
            headers["idempotency-key"] = key
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        request = urllib.request.Request(url + path, data=data, headers=headers, method=method)
        try:
            with self._opener.open(request, timeout=self._timeout + extra) as response:
                status, type_ = response.status, response.headers.get("content-type") or "no content type"
                text = response.read()
        except urllib.error.HTTPError as error:
            with error:
                if 300 <= error.code < 400:
                    raise _redirected(url, path, error.code, error.headers.get("location")) from None
                raise _error_of(url, error) from None
        except (OSError, ValueError, EOFError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise JobsError(f"Can't reach {url}: {reason or type(error).__name__}", "unreachable") from error
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
        invalid = JobsError(f"{url} answered {status} {reason}", "invalid_reply", status)
        # A reply that was cut off may be complete the next time.
        invalid.is_transient = is_cut
        raise invalid


class OpenBatch:
    """A batch that is being filled: add pushes a job into it, together with others.

    added: how many jobs are stored.
    duplicates: how many aren't, because another job has their unique lock or the place of their throttle.
    """

    def __init__(self, id: str, push: Callable[[Iterable[Dict[str, Any]]], Iterator[Dict[str, Any]]]):
        self.id = id
        self.added = 0
        self.duplicates = 0
        self._push = push
        self._jobs: List[Dict[str, Any]] = []
        self._is_closed = False

    def add(self, class_: str, args: Iterable[Any] = (), **options: Any) -> None:
        """Adds a job. Options are those of JobsClient.push."""
        if self._is_closed:
            raise RuntimeError(f'Cannot add to batch "{self.id}": it is closed; open another one')
        self._jobs.append(_request_of({**options, "class": class_, "args": args, "batch": self.id}))
        if len(self._jobs) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        jobs, self._jobs = self._jobs, []
        for result in self._push(jobs):
            if "jid" in result:
                self.added += 1
            elif "duplicateOf" in result or "throttledBy" in result:
                self.duplicates += 1
            else:
                raise JobsError(f'Job not added to batch "{self.id}": {result["refused"]}', "invalid")

    def _close(self) -> None:
        self._flush()
        self._is_closed = True


def _warn(answer: Dict[str, Any], depth: int) -> None:
    found = answer.get("warnings")
    for warning in found if isinstance(found, list) else ():
        warnings.warn(str(warning), JobsWarning, stacklevel=depth)


def _pause(first: float, failures: int) -> float:
    """Returns how many seconds to wait after a number of failures in a row."""
    # No float holds 2**1024, which an outage of an hour reaches.
    return min(5.0, first * 2 ** min(failures, 10)) * random.uniform(0.5, 1)


def _any_reply(reply: Dict[str, Any]) -> bool:
    return True


def _is_opened(reply: Dict[str, Any]) -> bool:
    return isinstance(reply.get("id"), str) and reply["id"] != ""


def _is_pushed(reply: Dict[str, Any]) -> bool:
    return isinstance(reply.get("jid"), str) and reply["jid"] != ""


def _is_result(value: Any) -> bool:
    return isinstance(value, dict) and (_is_pushed(value) or isinstance(value.get("refused"), str))


def _is_page(reply: Dict[str, Any]) -> bool:
    return isinstance(reply.get("events"), list) and isinstance(reply.get("next"), int)


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


class _EarlyReply:
    """Reads the reply of a server that refuses a request before it has read all of it, and then closes the connection."""

    def send(self, data: Any) -> None:
        try:
            super().send(data)  # type: ignore[misc]
        except (BrokenPipeError, ConnectionResetError):
            pass  # Without a reply, reading it fails.


class _HTTPConnection(_EarlyReply, http.client.HTTPConnection):
    def connect(self) -> None:
        deadline = time.monotonic() + self.timeout
        super().connect()
        self.sock = _TimedSocket(self.sock, deadline)


class _HTTPSConnection(_EarlyReply, http.client.HTTPSConnection):
    def connect(self) -> None:
        deadline = time.monotonic() + self.timeout
        super().connect()
        self.sock = _TimedSocket(self.sock, deadline)


class _KeptConnection(_EarlyReply, http.client.HTTPConnection):
    pass


class _KeptSecureConnection(_EarlyReply, http.client.HTTPSConnection):
    pass


class _HTTPHandler(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> Any:
        return self.do_open(_HTTPConnection, request)


class _HTTPSHandler(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> Any:
        return self.do_open(_HTTPSConnection, request)


def _request_of(job: Dict[str, Any], path: str = "") -> Dict[str, Any]:
    """Returns a job as the API takes it: Python's keyword is "in_", and times become text.

    path: that of the job, for errors. Raises TypeError for arguments that aren't a list, and for a value that JSON can't hold.
    """
    if not isinstance(job, collections.abc.Mapping):
        raise TypeError(f'{path} is {_shown(job)}; expected a job, such as {{"class": "Mail", "args": [1]}}')
    request = {("in" if name == "in_" else name): value for name, value in job.items()}
    at = request.get("at")
    if isinstance(at, datetime.datetime):
        request["at"] = at.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if "args" in request:
        request["args"] = _list_of(request["args"], _member(path, "args"))
    return _checked(request, path)


# Options whose names in the API aren't spelled as Python's.
_SPELLED = {"close_within": "closeWithin", "keep_for": "keepFor", "give_up_after": "giveUpAfter"}


def _spelled(options: Dict[str, Any], where: str) -> Dict[str, Any]:
    """Returns options under their names in the API."""
    for name, spelled in _SPELLED.items():
        if spelled in options:
            raise TypeError(f'Unknown option "{spelled}" of {where}: did you mean "{name}"?')
    return {_SPELLED.get(name, name): value for name, value in options.items()}


def _spelled_back(text: str) -> str:
    """Returns a text of the server with the names of options as Python has them."""
    for name, spelled in _SPELLED.items():
        text = text.replace(spelled, name)
    return text.replace("{ each: id }", "each=id")


# JSON. Python's encoder changes keys that aren't texts, and its errors name no path.

# The deepest value that a worker performs.
_MAX_LEVELS = 100
_HALF = re.compile("[\ud800-\udfff]")
_NAME = re.compile(r"[A-Za-z_$][\w$]*\Z")
_LIST = 'expected a list of the handler\'s arguments, such as ["ada@example.com"]'


def _list_of(args: Any, path: str) -> List[Any]:
    """Returns arguments as a list. Raises TypeError for a text, whose letters would be the arguments, and what has no order."""
    if isinstance(args, (list, tuple)):
        return list(args)
    is_one = isinstance(args, (str, bytes, bytearray, collections.abc.Mapping, collections.abc.Set))
    if is_one or not isinstance(args, collections.abc.Iterable):
        raise TypeError(f"{path} is {_shown(args)}; {_LIST}")
    return list(args)


def _checked(value: Any, path: str) -> Any:
    """Returns a value that JSON can hold. Raises TypeError for another one."""
    problem = _problem(value, path)
    if problem is not None:
        raise TypeError(problem)
    return value


def _problem(value: Any, path: str) -> Optional[str]:
    """Returns what JSON can't hold in a value, in one line with its path; None if it holds all of it."""
    found = _unfit(value, ())
    if found is None:
        return None
    steps, what, expected = found
    for step in steps:
        path = f"{path}[{step}]" if isinstance(step, int) else _member(path, step)
    return f"{path} {what}; expected {expected}"


def _member(path: str, name: str) -> str:
    if not _NAME.match(name):
        return f"{path}[{json.dumps(name)}]"
    return f"{path}.{name}" if path else name


def _unfit(value: Any, around: Any) -> Any:
    """Returns the steps to what JSON can't hold, what that is, and what is expected; None without any."""
    if value is None or isinstance(value, int):
        return None
    if isinstance(value, str):
        if value.isascii() or not _HALF.search(value):
            return None
        return [], f"is {_shown(value)}", "text without half characters"
    if isinstance(value, float):
        return None if math.isfinite(value) else ([], f"is {value!r}", "a finite number, or None")
    if not isinstance(value, (dict, list, tuple)):
        return [], f"is {_shown(value)}", _json_value(value)
    if any(one is value for one in around):
        return [], f"is the {type(value).__name__} around it", "a value that does not contain itself"
    if len(around) >= _MAX_LEVELS:
        return [], f"is {_shown(value)}", f"at most {_MAX_LEVELS} levels of lists and dictionaries"
    inner = (*around, value)
    is_dict = isinstance(value, dict)
    for step, item in value.items() if is_dict else enumerate(value):
        if is_dict and not isinstance(step, str):
            return [], f"has the key {_shown(step)}", "keys that are texts"
        found = _unfit(item, inner)
        if found is not None:
            return [step, *found[0]], found[1], found[2]
    return None


def _shown(value: Any) -> str:
    """Returns a value in one line."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # Of the value's class.
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _json_value(value: Any) -> str:
    """Returns what is expected in place of a value."""
    if inspect.isawaitable(value):
        return "a JSON value: await it"
    for types, instead in (
        ((datetime.date, datetime.time), "value.isoformat()"),
        (datetime.timedelta, "value.total_seconds()"),
        ((bytes, bytearray, memoryview), "its bytes in base64"),
        ((set, frozenset, collections.abc.Iterator), "list(value)"),
        (uuid.UUID, "str(value)"),
    ):
        if isinstance(value, types):
            return f"a JSON value, such as {instead}"
    if type(value).__name__ == "Decimal":
        return "a JSON value, such as str(value)"
    if callable(value):
        return "a JSON value: text, number, True, False, None, list or dict"
    return "a JSON value: a dict with its data, or a key to find it by"


def _token_of(token: Optional[str]) -> str:
    """Returns a token as a header takes it. No error shows it."""
    text = str(token or "").strip()
    if all("!" <= character <= "~" for character in text):
        return text
    raise ValueError("Invalid token: expected visible ASCII characters, as jobs web --new-token prints them")


def _redirected(url: str, path: str, status: int, location: Optional[str]) -> JobsError:
    """Returns the error of a redirect, with the URL to use instead if the redirect is to the same path."""
    cure = ": expected the API of jobs, check the URL"
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
    return JobsError(f"{url} answered {status}, a redirect{cure}", "redirected", status)


def _foreign(url: str, status: int, reason: str, type_: Optional[str]) -> JobsError:
    """Returns the error of a reply that isn't the API's."""
    cure = "expected an error of the API of jobs, check the URL"
    answer = f"{url} answered {status} {reason} ({type_ or 'no content type'})"
    return JobsError(f"{answer}: {cure}", "unavailable", status)


def _error_of(url: str, error: urllib.error.HTTPError) -> JobsError:
    try:
        value = json.loads(error.read())
    except (ValueError, RecursionError, OSError, http.client.HTTPException):
        value = None  # A proxy's page.
    return _refusal(url, error.code, str(error.reason), error.headers, value)


def _refusal(url: str, status: int, reason: str, headers: Any, value: Any) -> JobsError:
    """Returns the error of a reply: the API's, or that of a server in its place."""
    details = value.get("error") if isinstance(value, dict) else None
    if isinstance(details, dict) and isinstance(details.get("message"), str) and isinstance(details.get("code"), str):
        field = details.get("field")
        shown = _spelled_back(field) if isinstance(field, str) else None
        result = JobsError(_spelled_back(details["message"]), details["code"], status, shown)
    else:
        result = _foreign(url, status, reason, headers.get("content-type"))
    retry_after = headers.get("retry-after") or ""
    if retry_after.isascii() and retry_after.isdigit():
        result.retry_after = min(60.0, float(retry_after))
    return result


# Workers

_PROTOCOL = 1
_CLIENT = "jobs-client 0.1"
_MAX_TAKEN = 100
_MAX_SETTLED = 1_000
# Outcomes share a request up to this size, which the server bounds. A larger result isn't sent: the server keeps smaller ones only.
_MAX_REQUEST = 1_000_000
_MAX_RESULT = 500_000
_MAX_TEXT = 20_000
_MAX_LINE = 1_000
# Lines of a job that are kept until the next heartbeat.
_MAX_LINES = 200
_MAX_FIELDS = 50
# A larger whole number has digits that other languages lose.
_MAX_INTEGER = 2**53
_MAX_CAUSES = 10
_MAX_CAUSE = 500
# How long a reply may take, without the time that the server waits.
_MIN_REPLY = 5.0
_MAX_REPLY = 10.0
# Statuses of a request that can't succeed as it is: invalid, or larger than the server or a proxy accepts.
_REFUSED = frozenset((400, 413, 422))
# Codes of replies that aren't the API's.
_FOREIGN = frozenset(("redirected", "invalid_reply", "unavailable"))
_TAKE_WAIT = 25.0
_MIN_TAKE_WAIT = 2.0
# After the shutdown timeout: until jobs that don't end are given back, and then until ends that can't be stored are given up.
_GIVE_BACK = 3.0
_GIVE_UP = 1.0
_MAX_DEREGISTER = 5.0
# Between heartbeats while jobs run, and after a job has begun.
_BUSY_BEAT = 1.0
_MIN_BEAT = 0.1
# Chunks of a stream are sent at most this often, and so many in one request. From this size on, the handler sends them itself.
_STREAM_REST = 0.1
_MAX_CHUNKS = 500
_FULL_STREAM = 250_000
# A chunk has at most this many characters of JSON.
_MAX_CHUNK = 65_536


class Discard(Exception):
    """Ends a job for good, without a failure: it is not needed any more."""


class Kill(Exception):
    """Ends a job for good: it is dead at once, without further attempts."""


class Snooze(Exception):
    """Ends an attempt: the job runs again later, without counting as failed.

    delay: seconds, or a duration such as "5m".
    """

    def __init__(self, delay: Any):
        super().__init__(f"Again in {delay}")
        self.delay = _checked(delay, "delay")


class Aborted(Exception):
    """Why a job must end.

    reason: "Cancelled", "Timeout", "Shutdown" or "LeaseLost".
    """

    def __init__(self, reason: str):
        super().__init__(_ABORTS.get(reason, reason))
        self.reason = reason


_ABORTS = {
    "Cancelled": "The job was cancelled",
    "Timeout": "The job's timeout has expired",
    "Shutdown": "The worker's shutdown timeout has expired",
    "LeaseLost": "Another worker has the job now",
}


class StepFailed(Exception):
    """A step of a job, or its child, has failed for good. A job that doesn't catch it is dead: it would fail again.

    kind: "StepFailed" or "ChildFailed".
    """

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


class StepError(Exception):
    """A step is used wrongly: a name twice, an unknown option, a value that isn't JSON.

    kind: the class of the server's error.
    """

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


@contextlib.contextmanager
def _in_step() -> Iterator[None]:
    """Makes a value that JSON can't hold the error of a step."""
    try:
        yield
    except TypeError as error:
        raise StepError("StepError", str(error)) from None


class AttemptEnded(BaseException):
    """Ends an attempt whose job sleeps, waits, or continues elsewhere. Don't catch it."""


class Step:
    """The argument of a step's function.

    idempotency_key: the same in each attempt, for requests to other systems.
    attempt: the number of the attempt of the step, from 1.
    """

    def __init__(self, run: Dict[str, Any]):
        self.idempotency_key: str = run["idempotencyKey"]
        self.attempt: int = run["attempt"]


class Batch:
    """The batch of a job: add pushes a job into it. In a coroutine, await it."""

    def __init__(self, id: str, use: Callable[..., Any]):
        self.id = id
        self._use = use

    def add(self, class_: str, args: Any = (), **options: Any) -> Any:
        """Returns the jid; None if another job holds the unique lock."""
        request = {"kind": "member", "class": class_, "args": _list_of(args, "args"), "options": _request_of(options)}
        return self._use(_checked(request, ""))


class Flow:
    """The flow that a job is a node of: results has the values of earlier nodes. In a coroutine, await it."""

    def __init__(self, id: str, node: str, use: Callable[..., Any]):
        self.id = id
        self.node = node
        self._use = use

    def results(self, nodes: Optional[List[str]] = None) -> Any:
        """Returns a dict by name; default: the nodes directly before this one."""
        return self._use({"kind": "results", **({} if nodes is None else {"nodes": list(nodes)})})


_Send = Callable[..., Dict[str, Any]]


def _field(value: Any) -> Any:
    """Returns the value of a field as JSON can hold it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and abs(value) < _MAX_INTEGER:
        return value
    return str(value)[:_MAX_LINE]


class _Lines:
    """The log of a job: its lines are kept with the job, and shown by the server."""

    def __init__(self) -> None:
        self._lines: List[Dict[str, Any]] = []
        self._lock = threading.Lock()
        # Prints a line, too.
        self._print: Callable[[str, str, Dict[str, Any]], None] = lambda level, message, fields: None

    def _add(self, level: str, message: Any, fields: Dict[str, Any]) -> None:
        line: Dict[str, Any] = {"level": level, "message": str(message)[:_MAX_LINE]}
        if fields:
            line["fields"] = {name[:_SHOWN]: _field(value) for name, value in list(fields.items())[:_MAX_FIELDS]}
        self._print(level, line["message"], line.get("fields", {}))
        with self._lock:
            self._lines.append(line)
            del self._lines[:-_MAX_LINES]

    def _take(self) -> List[Dict[str, Any]]:
        with self._lock:
            lines, self._lines = self._lines, []
            return lines

    def debug(self, message: Any, **fields: Any) -> None:
        self._add("debug", message, fields)

    def info(self, message: Any, **fields: Any) -> None:
        self._add("info", message, fields)

    def warn(self, message: Any, **fields: Any) -> None:
        self._add("warn", message, fields)

    def error(self, message: Any, **fields: Any) -> None:
        self._add("error", message, fields)


class JobContext:
    """The first argument of a handler.

    jid, class_, queue, attempt, payload: the job.
    raw: its payload as text.
    log: debug, info, warn and error add a line to the job's log: ctx.log.info("imported", rows=12).
    client: pushes further jobs.
    batch, flow: those of the job; None if it has none.

    A coroutine awaits step, sleep, wait_for, run and each; a function calls them.
    """

    def __init__(self, job: Dict[str, Any], payload: Dict[str, Any], client: JobsClient, send: _Send):
        self.raw: str = job["payload"]
        self.payload = payload
        self.jid: str = job["jid"]
        self.class_: str = job["class"]
        self.queue: str = job["queue"]
        self.attempt: int = job["attempt"]
        self.client = client
        self.log = _Lines()
        self._token: str = job["token"]
        self._given = {name: job[name] for name in ("token", "payload", "queue", "receipt")}
        self._since = time.monotonic()
        self._progress: Optional[Dict[str, Any]] = None
        self._reason: Optional[str] = None
        self._aborted = threading.Event()
        self._on_abort: Callable[[], None] = lambda: None
        self._send = send
        self._calls = 0
        self._stream = _Stream(self._token, send, self.log)
        batch, node = job.get("batch"), job.get("node")
        self.batch = None if batch is None else Batch(batch, self._use)
        self.flow = None if node is None else Flow(str(batch), node, self._use)

    def step(self, name: str, run: Callable[[Step], Any], **options: Any) -> Any:
        """Runs a part of the job once, and returns its result. Every later attempt returns the stored result.

        options: each, retry, backoff, timeout.
        """
        if not callable(run):
            raise StepError("StepError", f"Step {name!r} has no function to run: expected a function, got {run!r}"[:_MAX_LINE])
        return self._use_step({"kind": "step", "name": name, "options": options}, run)

    def sleep(self, name: str, duration: Any) -> Any:
        """Continues the job after a time: seconds, or a text such as "2h". Ends the attempt."""
        return self._use_step({"kind": "sleep", "name": name, "duration": duration})

    def wait_for(self, name: str, key: str, timeout: Any, **options: Any) -> Any:
        """Continues the job with the data of a signal, or with None after the timeout. Ends the attempt."""
        return self._use_step({"kind": "wait", "name": name, "options": {"key": key, "timeout": timeout, **options}})

    def run(self, name: str, class_: str, args: Any = (), **options: Any) -> Any:
        """Runs another job, and continues with its result. Ends the attempt.

        options: those of a push, and give_up_after.
        """
        with _in_step():
            child = {"class": class_, "args": _list_of(args, "args")}
            child["options"] = _request_of(_spelled(options, f'step "{name}"'))
        return self._use_step({"kind": "child", "name": name, **child})

    def each(self, name: str, source: Callable[[Any], Any], run: Callable[[Any], Any], cursor: Any = None) -> Any:
        """Calls a function for each item. A later attempt continues after the last item that was done.

        source: returns the items after a cursor; None for all.
        cursor: returns the cursor after an item. Default: the number of items done.
        Returns the number of items of this attempt.
        """
        loop = _Loop(name, self._use_step, cursor)
        loop.begin(self._use_step({"kind": "cursor", "name": name}))
        try:
            for item in source(loop.after):
                run(item)
                if loop.done(item):
                    loop.store()
                self.throw_if_aborted()
        except Exception:
            loop.store()
            raise
        loop.store()
        return loop.count

    def _use_step(self, request: Dict[str, Any], part: Optional[Callable[[Step], Any]] = None) -> Any:
        with _in_step():
            _checked(request, "")
        return self._use(request, part)

    def _use(self, request: Dict[str, Any], part: Optional[Callable[[Step], Any]] = None) -> Any:
        """Sends a request. If the server asks for the program's part of a step, runs it, and sends its result."""
        body = self._numbered(request)
        answer = self._send(body)
        error: Optional[BaseException] = None
        if "run" in answer and part is not None:
            try:
                result = _succeeded(request["name"], part(Step(answer["run"])))
            except Exception as thrown:
                result, error = _outcome_of(thrown), thrown
            answer = self._send({**body, "result": result})
        return _value_of(answer, error)

    def _numbered(self, request: Dict[str, Any]) -> Dict[str, Any]:
        self._calls += 1
        return {**self._report(), "call": self._calls, **request}

    def progress(self, done: float, note: Optional[str] = None) -> None:
        """Reports the progress of the job: any number, and a note."""
        if isinstance(done, bool) or not isinstance(done, (int, float)) or not math.isfinite(done):
            raise TypeError(f"Invalid progress {done!r}: expected a number")
        exact = done if isinstance(done, float) or abs(done) < _MAX_INTEGER else float(done)
        self._progress = {"done": exact, **({} if note is None else {"note": str(note)[:_MAX_LINE]})}

    def stream(self, chunk: Any) -> None:
        """Adds a chunk to the stream of the job: a text, or another value that is JSON.

        Chunks are sent together, ten times a second. `jobs stream` and GET /api/v1/jobs/JID/stream read them while the job runs.
        """
        self._stream.write(chunk)

    @property
    def aborted(self) -> bool:
        """Whether the job must end. A function on a thread looks at it now and then; a coroutine is cancelled."""
        return self._aborted.is_set()

    def wait(self, seconds: float) -> None:
        """Sleeps. Raises Aborted as soon as the job must end."""
        if self._aborted.wait(seconds):
            self.throw_if_aborted()

    def throw_if_aborted(self) -> None:
        """Raises Aborted if the job must end."""
        if self._reason is not None:
            raise Aborted(self._reason)

    def _report(self) -> Dict[str, Any]:
        """Returns what the job has reported since the last request."""
        report: Dict[str, Any] = {"token": self._token}
        if self._progress:
            report["progress"] = self._progress
        lines = self.log._take()
        if lines:
            report["log"] = lines
        return report

    def _abort(self, reason: str) -> None:
        if self._reason is None:
            self._reason = reason
            self._aborted.set()
            self._on_abort()


class _Stream:
    """The stream of one attempt. A timer sends the chunks that have gathered."""

    def __init__(self, token: str, send: _Send, log: "_Lines"):
        self._token = token
        self._send = send
        self._log = log
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._texts: List[str] = []
        self._size = 0
        self._from = 0
        self._timer: Optional[threading.Timer] = None
        self._is_closed = False

    def write(self, chunk: Any) -> None:
        text = json.dumps(_checked(chunk, "The chunk"))
        if len(text) > _MAX_CHUNK:
            raise TypeError(f"Chunk too large: expected at most {_MAX_CHUNK} characters of JSON")
        with self._lock:
            if self._is_closed:
                raise TypeError("A chunk comes after its handler has ended")
            self._texts.append(text)
            self._size += len(text)
            is_full = self._size >= _FULL_STREAM
            if self._timer is None:
                self._timer = threading.Timer(_STREAM_REST, self.flush)
                self._timer.daemon = True
                self._timer.start()
        if is_full:
            self.flush()

    def finish(self) -> None:
        """Sends the rest."""
        with self._lock:
            self._is_closed = True
            timer = self._timer
        if timer is not None:
            timer.cancel()
            self.flush()

    def flush(self) -> None:
        with self._sending:
            while True:
                with self._lock:
                    texts, self._texts = self._texts[:_MAX_CHUNKS], self._texts[_MAX_CHUNKS:]
                    self._size -= sum(map(len, texts))
                    self._timer = self._timer if texts else None
                if not texts:
                    return
                body = {"token": self._token, "from": self._from, "chunks": [json.loads(text) for text in texts]}
                self._from += len(texts)
                try:
                    self._send(body, "/work/stream")
                except JobsError as error:
                    self._log.warn(f"Chunks not streamed: {error}")


class _AsyncContext(JobContext):
    """The context of a coroutine: requests are sent on a thread."""

    async def _use(self, request: Dict[str, Any], part: Optional[Callable[[Step], Any]] = None) -> Any:
        body = self._numbered(request)
        ask = asyncio.get_running_loop().run_in_executor
        answer = await ask(None, self._send, body)
        error: Optional[BaseException] = None
        if "run" in answer and part is not None:
            try:
                value = part(Step(answer["run"]))
                limit = answer["run"].get("timeoutMs")
                if inspect.isawaitable(value):
                    value = await asyncio.wait_for(value, None if limit is None else limit / 1000)
                result = _succeeded(request["name"], value)
            except (Exception, asyncio.CancelledError) as thrown:
                if self._reason is not None and isinstance(thrown, asyncio.CancelledError):
                    raise
                result, error = _outcome_of(thrown), thrown
            answer = await ask(None, self._send, {**body, "result": result})
        return _value_of(answer, error)

    async def each(self, name: str, source: Callable[[Any], Any], run: Callable[[Any], Any], cursor: Any = None) -> Any:
        loop = _Loop(name, self._use_step, cursor)
        loop.begin(await self._use_step({"kind": "cursor", "name": name}))
        try:
            items = source(loop.after)
            async for item in items if hasattr(items, "__aiter__") else _async_items(items):
                value = run(item)
                if inspect.isawaitable(value):
                    await value
                if loop.done(item):
                    await loop.store()
        except Exception:
            stored = loop.store()
            if stored is not None:
                await stored
            raise
        stored = loop.store()
        if stored is not None:
            await stored
        return loop.count


async def _async_items(items: Iterable[Any]) -> AsyncIterator[Any]:
    for item in items:
        yield item


class _Loop:
    """The cursor of a loop over items, which is stored at most once a second."""

    def __init__(self, name: str, use: Callable[..., Any], cursor: Any):
        self.count = 0
        self.after: Any = None
        self._name = name
        self._use = use
        self._cursor = cursor
        self._stored = 0
        self._at = time.monotonic()

    def begin(self, after: Any) -> None:
        self.after = after

    def done(self, item: Any) -> bool:
        """Notes that an item is done. Returns whether to store the cursor now."""
        self.count += 1
        self.after = self._cursor(item) if self._cursor is not None else (self.after or 0) + 1
        return time.monotonic() - self._at >= 1

    def store(self) -> Any:
        """Stores the cursor, unless it is stored."""
        if self.count == self._stored:
            return None
        self._stored = self.count
        self._at = time.monotonic()
        return self._use({"kind": "cursor", "name": self._name, "cursor": self.after})


def _succeeded(step: str, value: Any) -> Dict[str, Any]:
    with _in_step():
        _checked(value, f'The result of step "{step}"')
    return {"end": "succeeded", **({} if value is None else {"result": value})}


def _value_of(answer: Dict[str, Any], error: Optional[BaseException]) -> Any:
    """Returns the value of a step that is done. Otherwise raises: the part's own error if it has failed the attempt."""
    if "done" in answer:
        return answer["done"].get("value")
    if "failed" not in answer:
        raise AttemptEnded()
    failed = answer["failed"]
    if failed.get("final"):
        raise StepFailed(failed["class"], failed["message"]) from error
    if error is not None:
        raise error
    raise StepError(failed["class"], _spelled_back(failed["message"]))


def job(name: Optional[str] = None, **options: Any) -> Callable[[Any], Any]:
    """Names the class that a function performs, and its options: queue, retry, timeout, …

    Default name: that of the function. See docs/reference/job-options.md.
    """

    def mark(function: Any) -> Any:
        function.jobs_class = name or function.__name__
        function.jobs_options = options
        return function

    return mark


_WORKER_OPTIONS = ("url", "handlers", "token", "concurrency", "queues", "labels", "shutdown_timeout", "log_level")
# Of what the worker prints, in order.
_LEVELS = ("debug", "info", "warn", "error", "off")


def _refuse_unknown(unknown: Dict[str, Any], where: str, known: Iterable[str]) -> None:
    """Refuses an option that would have no effect."""
    for name in unknown:
        close = difflib.get_close_matches(name.lower(), known, 1)
        cure = f'did you mean "{close[0]}"?' if close else f"expected {', '.join(known)}"
        raise TypeError(f'Unknown option "{name[:_SHOWN]}" of {where}: {cure}')


class Worker:
    """Performs jobs in this process.

        @job(queue="reports", retry=5)
        def Report(ctx, month):
            return f"report of {month}"

        Worker("http://127.0.0.1:7433", handlers=[Report], token=os.environ.get("JOBS_TOKEN")).run()

    Functions run on threads, coroutine functions on one asyncio loop. TERM and INT take no more jobs, wait for the running ones
    for shutdown_timeout seconds, and give the others back. TTIN prints the running jobs.

    url: the dashboard's address, or those of several gateways on one store: when one fails, the worker continues at the next.
    handlers: functions, by the name of their class or as a list.
    concurrency: how many jobs run at once.
    queues: the queues to take from; default: those of the handlers.
    log_level: what is printed on stderr, as JSON lines: "debug", "info", "warn", "error" or "off". Failures are warnings, with their
        traceback; what a handler logs has the level of the line. The option log_level of a class or a job drops more.
    """

    def __init__(
        self,
        url: Union[str, Iterable[str]],
        handlers: Any = (),
        token: Optional[str] = None,
        concurrency: int = 10,
        queues: Optional[List[str]] = None,
        labels: Optional[List[str]] = None,
        shutdown_timeout: float = 25,
        log_level: str = "info",
        **unknown: Any,
    ):
        _refuse_unknown(unknown, "Worker", _WORKER_OPTIONS)
        if log_level not in _LEVELS:
            raise ValueError(f"Invalid log_level {log_level!r}: expected {', '.join(_LEVELS)}")
        self._log_level = log_level
        self._handlers = _named(handlers)
        self._classes = {name: _request_of(getattr(one, "jobs_options", {}), name) for name, one in self._handlers.items()}
        if isinstance(concurrency, bool) or not isinstance(concurrency, int) or not 1 <= concurrency <= 1000:
            raise ValueError(f"Invalid concurrency {concurrency!r}: expected a whole number from 1 to 1000")
        for name, value in (("queues", queues), ("labels", labels)):
            if isinstance(value, (str, bytes)):
                raise TypeError(f"Invalid {name} {value!r}: expected a list, such as {name}=[{value!r}]")
        token = _token_of(token)
        urls = [url] if isinstance(url, str) else list(url)
        self._servers = _Servers(urls)
        self._client = JobsClient(urls, token)
        self._concurrency = concurrency
        self._queues = queues
        self._labels = labels
        self._shutdown_timeout = shutdown_timeout
        self._token = token
        self._take_line = _Line(self._servers, token)
        self._beat_line = _Line(self._servers, token)
        self._settle_line = _Line(self._servers, token)
        self._lock = threading.Condition()
        self._registering = threading.Lock()
        # Numbers the registrations; the other counts those that were answered.
        self._registration = 0
        self._registrations = 0
        self._id = ""
        # The process that performs jobs: threads don't survive a fork.
        self._pid = 0
        self._nonce = os.urandom(6).hex()
        self._heartbeat = 5.0
        self._timeout = 20.0
        # With several servers, a reply may take less: there is time to continue at the next one.
        self._reply = _MAX_REPLY
        # When it began to register last.
        self._registered_at = 0.0
        self._running: Dict[str, JobContext] = {}
        # Each with the job as it was given.
        self._ended: List[Any] = []
        # Connections for steps that no thread uses.
        self._lines: List[_Line] = []
        self._take = 0
        self._take_wait = _TAKE_WAIT
        # The last request for jobs whose answer it doesn't wait for any more: those jobs run, or have ended.
        self._taken = 0
        self._is_quiet = False
        self._is_stopping = False
        self._is_done = False
        self._failure: Optional[BaseException] = None
        # It has stopped although the ends of jobs aren't stored.
        self._has_given_up = False
        self._loop: Any = None

    def run(self) -> None:
        """Performs jobs until the worker is stopped.

        Raises JobsError if the server refuses the worker, or doesn't store the ends of jobs before the stop must end.
        """
        if self._pid:
            raise RuntimeError(f"This worker was started before, in process {self._pid}: create another one, after a fork")
        _refuse_green_threads()
        self._pid = os.getpid()
        old = self._listen()
        try:
            self._register(_Line(self._servers, self._token))
            if not self._id:
                return self._say("info", "Stopped")
            threads = [
                threading.Thread(target=self._guarded, args=(part,), name=part.__name__, daemon=True)
                for part in (self._take_loop, self._settle_loop, self._beat_loop)
            ]
            for thread in threads:
                thread.start()
            with self._lock:
                while not self._is_done:
                    # A timeout lets Python handle signals.
                    self._lock.wait(0.5)
            # A heartbeat that was sent while jobs ran waits for seconds. If a part has failed, a request for jobs is open.
            self._beat_line.end()
            self._take_line.end()
            if self._has_given_up:
                self._settle_line.end()
            for thread in threads[1:]:
                thread.join(_GIVE_UP if self._has_given_up else 30)
            if self._failure is not None:
                raise self._failure
            self._deregister()
            self._say("info", "Stopped")
        finally:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._loop.stop)
            for number, handler in old.items():
                signal.signal(number, handler)

    def _deregister(self) -> None:
        line = _Line(self._servers, self._token)
        deadline = time.monotonic() + _MAX_DEREGISTER
        for pause in (0.2, 0.4, None):
            try:
                line.send("/work/deregister", {"worker": self._id}, max(0.1, deadline - time.monotonic()), {})
                return
            except JobsError as error:
                # Its heartbeat expires.
                if pause is None or error.field == "worker" or time.monotonic() >= deadline:
                    return
                time.sleep(pause)

    def stop(self, by: str = "the program") -> None:
        """Takes no more jobs, and ends run() when the running ones have ended."""
        with self._lock:
            if self._is_stopping:
                return
            self._is_stopping = True
            running = len(self._running)
            self._lock.notify_all()
        # A closed request takes no more jobs.
        self._take_line.interrupt()
        self._say("info", "Stopping", by=by, running=running)
        timer = threading.Timer(self._shutdown_timeout, self._end_late)
        timer.daemon = True
        timer.start()
        self._check_done()

    def dump(self) -> str:
        """Describes each running job, one line each."""
        now = time.monotonic()
        jobs = list(self._running.values())
        lines = [f"{self._id}: {len(jobs)} of {self._concurrency} running"]
        for one in jobs:
            args = json.dumps(one.payload.get("args"))[:100]
            reason = f" ({one._reason})" if one._reason else ""
            lines.append(f"{one.class_} {one.jid} {args} for {(now - one._since) * 1000:.0f} ms{reason}")
        return "\n".join(lines)

    def _listen(self) -> Dict[int, Any]:
        if threading.current_thread() is not threading.main_thread():
            return {}
        actions = {signal.SIGTERM: lambda: self.stop("SIGTERM"), signal.SIGINT: lambda: self.stop("SIGINT")}
        if hasattr(signal, "SIGTTIN"):
            actions[signal.SIGTTIN] = lambda: print(self.dump(), file=sys.stderr, flush=True)

        # A handler of a signal runs between two instructions of the main thread, which may hold a lock: it only notes the signal.
        heard: Any = queue.SimpleQueue()

        def act() -> None:
            while True:
                actions[signal.Signals(heard.get())]()

        threading.Thread(target=act, name="signals", daemon=True).start()

        def handle(number: int, _: Any) -> None:
            if os.getpid() != self._pid:
                # A handler has forked this process, such as one of multiprocessing: the signal has its usual effect.
                signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)
                return
            heard.put(number)

        return {number: signal.signal(number, handle) for number in actions}

    def _guarded(self, part: Callable[[], None]) -> None:
        try:
            part()
        except BaseException as error:  # The whole worker ends with a part of it.
            with self._lock:
                self._failure = self._failure or error
                self._is_stopping = self._is_done = True
                self._lock.notify_all()

    def _register(self, line: "_Line") -> None:
        body: Dict[str, Any] = {
            "protocol": _PROTOCOL,
            "runtime": f"python {platform.python_version()}",
            "client": _CLIENT,
            "hostname": "".join("-" if c in ": \t" else c for c in socket.gethostname()) or "unknown",
            "pid": os.getpid(),
            "nonce": self._nonce,
            "concurrency": self._concurrency,
            "classes": self._classes,
        }
        if self._queues:
            body["queues"] = list(self._queues)
        if self._labels:
            body["labels"] = list(self._labels)
        with self._lock:
            self._registration += 1
            body.update(registration=self._registration, taken=self._taken)
            if self._id:
                ended = [given for given, _ in self._ended]
                body["running"] = [context._given for context in self._running.values()] + ended
        answer = self._repeat(line, lambda: line.send("/work/register", body, 10, {"worker": str, "running": list}))
        if not answer:
            return  # Stopped before the server was reached.
        self._id = answer["worker"]
        self._registrations += 1
        self._heartbeat = answer["heartbeatMs"] / 1000
        self._timeout = answer["timeoutMs"] / 1000
        if not self._servers.is_only:
            self._reply = max(_MIN_REPLY, min(_MAX_REPLY, self._timeout / 4))
        left = set(answer["running"])
        for token in [token for token in self._running if token not in left]:
            self._abort(token, "LeaseLost")
            self._running.pop(token, None)
        self._say("info", "Started", worker=self._id, classes=" ".join(self._classes))

    def _take_loop(self) -> None:
        line = self._take_line
        while True:
            with self._lock:
                while not self._is_stopping and (self._is_quiet or len(self._running) >= self._concurrency):
                    self._lock.wait()
                if self._is_stopping:
                    return
            _let_others_run()
            with self._lock:
                limit = min(_MAX_TAKEN, self._concurrency - len(self._running))
            self._take += 1
            since = time.monotonic()
            body = {"take": self._take, "limit": limit, "rss": _rss()}
            answer = self._request(line, "/work/take", body, _TAKE_WAIT, {"jobs": list})
            for one in self._confirmed(line, answer.get("jobs", []), since):
                self._begin(one)
            with self._lock:
                self._taken = self._take
            self._follow(answer)

    def _confirmed(self, line: "_Line", jobs: List[Dict[str, Any]], since: float) -> List[Dict[str, Any]]:
        """Returns those jobs that are still this worker's: while a reply was on its way for long, others may have got them.

        The server is told before a job begins that may have killed another worker: it is blamed if this one dies then, too.
        """
        limit = min(self._heartbeat, self._timeout / 2)
        is_told = not any(one.get("suspect") for one in jobs)
        while jobs and (not is_told or time.monotonic() - since >= limit or self._registered_at > since):
            is_told = True
            since = time.monotonic()
            with self._lock:
                held = [*self._running, *(given["token"] for given, _ in self._ended), *(one["token"] for one in jobs)]
            body = {"running": [{"token": token} for token in held]}
            answer = self._request(line, "/work/heartbeat", body, 0, {"aborted": list, "lost": list})
            lost = {*answer.get("lost", held), *(one["token"] for one in answer.get("aborted", ()))}
            jobs = [one for one in jobs if one["token"] not in lost]
        return jobs

    def _begin(self, given: Dict[str, Any]) -> None:
        payload = json.loads(given["payload"])
        handler = self._handlers.get(given["class"])
        is_coroutine = handler is not None and inspect.iscoroutinefunction(handler)
        context = (_AsyncContext if is_coroutine else JobContext)(given, payload, self._client, self._use)
        context.log._print = lambda level, message, fields: self._say_of(context, level, message, fields)
        with self._lock:
            self._running[context._token] = context
            self._lock.notify_all()
        if is_coroutine:
            self._begin_coroutine(context, handler)
        else:
            # Of a thread that belongs to no pool, the end of the program doesn't wait for the end.
            threading.Thread(target=self._perform, args=(context, handler), daemon=True).start()

    def _use(self, body: Dict[str, Any], path: str = "/work/step") -> Dict[str, Any]:
        """Sends a request for a step or a stream, on a connection that no other thread uses."""
        with self._lock:
            line = self._lines.pop() if self._lines else _Line(self._servers, self._token)
        try:
            return self._request(line, path, body, 0, {})
        except JobsError as error:
            if error.status == 409 and error.field == "token":
                return {"ends": True}  # The job is no longer this worker's.
            raise
        finally:
            with self._lock:
                self._lines.append(line)

    def _stood_still(self, context: JobContext) -> bool:
        """Whether this process stood still, as a suspended machine does, between the reply and the begin of the job."""
        return time.monotonic() - context._since >= min(self._heartbeat, self._timeout / 2)

    def _is_held(self, context: JobContext) -> bool:
        """Asks whether a job is still this worker's."""
        with self._lock:
            held = [*self._running, *(given["token"] for given, _ in self._ended)]
        answer = self._use({"running": [{"token": token} for token in held]}, "/work/heartbeat")
        with self._lock:
            if context._token in answer.get("lost", ()):
                self._running.pop(context._token, None)
                self._lock.notify_all()
            is_held = context._token in self._running
        self._check_done()
        return is_held

    def _perform(self, context: JobContext, handler: Any) -> None:
        try:
            if self._stood_still(context) and not self._is_held(context):
                return
            if handler is None:
                raise LookupError(f"No handler for class {context.class_!r}")
            result = handler(context, *context.payload.get("args", ()))
            self._succeeded(context, result)
        except BaseException as error:
            self._failed(context, error)

    def _begin_coroutine(self, context: JobContext, handler: Any) -> None:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._run_loop, args=(self._loop,), name="asyncio", daemon=True).start()

        async def perform() -> None:
            # An abort before this line finds no task.
            loop, task = asyncio.get_running_loop(), asyncio.current_task()
            context._on_abort = lambda: loop.call_soon_threadsafe(task.cancel) and None
            try:
                if context._reason is not None:
                    raise asyncio.CancelledError
                if self._stood_still(context) and not await asyncio.to_thread(self._is_held, context):
                    return
                self._succeeded(context, await handler(context, *context.payload.get("args", ())))
            except BaseException as error:
                # Only an abort of the server cancels a job. A subtask or a client library raises the same error.
                is_aborted = isinstance(error, asyncio.CancelledError) and context._reason is not None
                self._failed(context, Aborted(context._reason) if is_aborted else error)

        asyncio.run_coroutine_threadsafe(perform(), self._loop)

    def _run_loop(self, loop: Any) -> None:
        while True:
            try:
                return loop.run_forever()
            except (SystemExit, KeyboardInterrupt) as error:
                # Raised in a task that a handler has started. It ends neither the loop of the other jobs, nor the worker.
                self._say("error", "Unhandled error", error=f"{type(error).__name__}: {_message_of(error)}")

    def _succeeded(self, context: JobContext, result: Any) -> None:
        outcome: Dict[str, Any] = {"end": "succeeded"}
        if result is not None:
            # The job has done its work: it isn't repeated for the sake of a result that can't be sent.
            try:
                size = len(json.dumps(_checked(result, "The result")))
                if size <= _MAX_RESULT:
                    outcome["result"] = result
                else:
                    context.log.warn(f"The result wasn't kept: {size} characters")
            except Exception as error:
                context.log.warn(f"The result wasn't kept: {_message_of(error)}")
        self._end(context, outcome)

    def _failed(self, context: JobContext, error: BaseException) -> None:
        outcome = _outcome_of(error)
        if not isinstance(error, AttemptEnded):
            level, message = _ENDS[outcome["end"]] if context._reason is None else ("info", "Aborted")
            described = f"{type(error).__name__}: {_message_of(error)}"
            fields: Dict[str, Any] = {"attempt": context.attempt, "error": described[:_MAX_TEXT]}
            if level != "info":
                fields["traceback"] = _traceback_of(error)
            self._say_of(context, level, message, fields)
        self._end(context, outcome)

    def _end(self, context: JobContext, outcome: Dict[str, Any]) -> None:
        context._stream.finish()
        # An error after the shutdown timeout isn't a failure of the job. A decision of the handler counts.
        if context._reason == "Shutdown" and outcome["end"] == "failed":
            outcome = {"end": "release"}
        with self._lock:
            if self._running.pop(context._token, None) is not None:
                self._ended.append((context._given, {**context._report(), **outcome}))
            self._lock.notify_all()

    def _settle_loop(self) -> None:
        line = self._settle_line
        limit = _MAX_SETTLED
        refused = ""
        while True:
            with self._lock:
                while not self._ended and not self._is_done:
                    self._lock.wait()
                if self._is_done:
                    return
            _let_others_run()
            with self._lock:
                outcomes = _fitting([outcome for _, outcome in self._ended[:limit]])
            try:
                answer = self._request(line, "/work/settle", {"outcomes": outcomes}, 0, {"lost": list})
            except JobsError as error:
                # One end that the server refuses fails its own job, and holds back no other.
                token = outcomes[0]["token"]
                if error.status not in _REFUSED or token == refused:
                    raise
                if len(outcomes) > 1:
                    limit = (len(outcomes) + 1) // 2
                    continue
                refused = token
                message = f"The server refused its end: {error}"
                failure = {"token": token, "end": "failed", "error": {"class": "JobsError", "message": message}}
                with self._lock:
                    self._ended[0] = (self._ended[0][0], failure)
                continue
            if self._has_given_up:
                return
            limit = _MAX_SETTLED
            with self._lock:
                del self._ended[: len(outcomes)]
            if answer.get("lost"):
                self._say("warn", "Leases lost: these jobs run again", count=len(answer["lost"]))
            self._check_done()

    def _beat_loop(self) -> None:
        """Tells the server that this worker lives. While jobs run, the answer waits until the server has something to say."""
        line = self._beat_line
        while not self._is_done:
            with self._lock:
                # Without jobs, the open request for jobs shows that this worker lives.
                needed = lambda: self._running or self._ended or self._is_quiet or self._is_stopping  # noqa: E731
                while not needed() and not self._is_done:
                    self._lock.wait(self._heartbeat)
                contexts, taken = list(self._running.values()), self._taken
                # Also those whose ends aren't stored yet: the server would take them for forgotten.
                ended = [{"token": given["token"]} for given, _ in self._ended]
            running = _reports_of(contexts) + ended
            wait = self._heartbeat if running and not self._is_stopping else 0
            began = time.monotonic()
            body = {"running": running, "taken": taken, "rss": _rss(), **({"wait": wait} if wait else {})}
            orders = self._beat(line, body, wait)
            for one in orders.get("aborted", ()):
                self._abort(one["token"], one["reason"])
            for token in orders.get("lost", ()):
                self._abort(token, "LeaseLost")
                with self._lock:
                    self._running.pop(token, None)
            self._follow(orders)
            self._check_done()
            has_waited = wait > 0 and time.monotonic() - began >= wait
            rest = _MIN_BEAT if has_waited else _BUSY_BEAT if wait else self._heartbeat
            with self._lock:
                if not self._is_done:
                    self._lock.wait_for(lambda: self._is_done or bool(self._running) and not running, rest)
            time.sleep(_MIN_BEAT if not self._is_done else 0)

    def _beat(self, line: "_Line", body: Dict[str, Any], wait: float) -> Dict[str, Any]:
        """Sends a heartbeat. A server that refuses what jobs report still learns that they run."""
        expected = {"aborted": list, "lost": list}
        try:
            return self._request(line, "/work/heartbeat", body, wait, expected)
        except JobsError as error:
            if error.status not in _REFUSED or all(len(one) == 1 for one in body["running"]):
                raise
            self._say("warn", "Dropped the progress and log lines that the server refused", error=str(error))
        bare = [{"token": one["token"]} for one in body["running"]]
        return self._request(line, "/work/heartbeat", {**body, "running": bare}, wait, expected)

    def _follow(self, state: Dict[str, Any]) -> None:
        with self._lock:
            self._is_quiet = state.get("quiet", self._is_quiet)
            self._lock.notify_all()
        if state.get("stopping"):
            self.stop("jobs")

    def _abort(self, token: str, reason: str) -> None:
        context = self._running.get(token)
        if context is not None:
            context._abort(reason)

    def _end_late(self) -> None:
        """Ends the jobs that run after the shutdown timeout, and gives back those that don't end. Then the worker stops."""
        for token in list(self._running):
            self._abort(token, "Shutdown")
        time.sleep(_GIVE_BACK)
        for context in list(self._running.values()):
            self._say("warn", "Unfinished job returned", jid=context.jid)
            self._end(context, {"end": "release"})
        time.sleep(_GIVE_UP)
        with self._lock:
            if self._is_done:
                return
            count = len(self._ended)
            message = f"Stopped before the server stored the ends of {count} jobs: they run again"
            self._failure = JobsError(message, "unreachable")
            self._has_given_up = self._is_done = True
            self._lock.notify_all()

    def _check_done(self) -> None:
        with self._lock:
            if self._is_stopping and not self._running and not self._ended:
                self._is_done = True
                self._lock.notify_all()

    def _request(
        self, line: "_Line", path: str, body: Dict[str, Any], wait: float, expected: Dict[str, type]
    ) -> Dict[str, Any]:
        """Sends a request of this worker until it is answered. Registers again if the worker is unknown."""

        def send() -> Dict[str, Any]:
            since = self._registrations
            more = {"wait": self._take_wait} if path == "/work/take" else {}
            try:
                return line.send(path, {"worker": self._id, **body, **more}, self._reply + wait, expected)
            except JobsError as error:
                if more and error.status == 504:
                    # A proxy waits for less long.
                    self._take_wait = max(_MIN_TAKE_WAIT, self._take_wait / 2)
                if error.status != 404 or error.field != "worker":
                    raise
                if line is self._take_line and self._is_stopping:
                    return {}
                self._again(line, since)
                return line.send(path, {"worker": self._id, **body, **more}, self._reply + wait, expected)

        return self._repeat(line, send)

    def _again(self, line: "_Line", since: int) -> None:
        """The server doesn't know this worker any more, or is another one: it is shown the running jobs."""
        with self._registering:
            if self._registrations == since:
                self._say("warn", "Unknown to the server: registering again", running=len(self._running))
                self._registered_at = time.monotonic()
                self._register(line)

    def _repeat(self, line: "_Line", run: Callable[[], Dict[str, Any]]) -> Dict[str, Any]:
        failures = 0
        again = ""
        while True:
            try:
                answer = run()
                if failures:
                    self._say("info", again)
                return answer
            except JobsError as error:
                # Once this worker has registered, a reply that isn't the API's is a proxy's in between, which passes.
                is_foreign = bool(self._id) and error.status not in _REFUSED and error.code in _FOREIGN
                # The server may have been replaced again since this worker has registered.
                is_unknown = error.status == 404 and error.field == "worker"
                if not error.is_transient and not is_foreign and not is_unknown:
                    raise
                if self._is_done or line is self._take_line and self._is_stopping:
                    return {}
                if failures == 0 and error.status is None:
                    again = "Server reached again"
                    self._say("warn", "Server not reached, retrying", error=str(error))
                elif failures == 0:
                    again = "Server accepts requests again"
                    self._say("warn", "Server refused a request, retrying", status=error.status, error=str(error))
                delay = error.retry_after or _pause(0.2, failures)
            failures += 1
            with self._lock:
                self._lock.wait_for(lambda: self._is_done or line is self._take_line and self._is_stopping, delay)

    def _say_of(self, context: JobContext, level: str, message: str, fields: Dict[str, Any]) -> None:
        """Prints a line about a job, unless the job or its class drops those of this level."""
        options = getattr(self._handlers.get(context.class_), "jobs_options", {})
        least = context.payload.get("log_level", options.get("log_level"))
        if least not in _LEVELS or _LEVELS.index(level) >= _LEVELS.index(least):
            own = {"class": context.class_, "jid": context.jid, "queue": context.queue}
            self._print(level, message, {**fields, **own})

    def _say(self, level: str, message: str, **fields: Any) -> None:
        self._print(level, message, fields)

    def _print(self, level: str, message: str, fields: Dict[str, Any]) -> None:
        if _LEVELS.index(level) < _LEVELS.index(self._log_level):
            return
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        own = {"ts": now, "level": level, "name": "worker", "msg": message}
        print(json.dumps({**own, **fields, **own}), file=sys.stderr, flush=True)


class _Line:
    """A connection that is kept, for the requests of one thread."""

    def __init__(self, servers: _Servers, token: Optional[str]):
        self._servers = servers
        self._url = urllib.parse.urlsplit(servers.current)
        self._headers = {"content-type": "application/json"}
        if token:
            self._headers["authorization"] = f"Bearer {token}"
        self._connection: Any = None
        self._is_interrupted = False
        self._is_ended = False

    def send(self, path: str, body: Any, timeout: float, expected: Dict[str, type]) -> Dict[str, Any]:
        """Sends a request to the current server. `expected` has the fields of its reply."""
        self._is_interrupted = False
        where = self._servers.current
        if where != self._url.geturl():
            self.close()
            self._url = urllib.parse.urlsplit(where)
        self._servers.lines[self] = where
        try:
            fields = self._exchange(where, path, body, timeout, expected)
            self._servers.answered(where)
            return fields
        except JobsError as error:
            # A request that this client has ended says nothing about the server.
            if not self._is_interrupted:
                self._servers.failed(where, error)
            raise
        finally:
            self._servers.lines.pop(self, None)

    def _exchange(
        self, where: str, path: str, body: Any, timeout: float, expected: Dict[str, type]
    ) -> Dict[str, Any]:
        data = json.dumps(body, allow_nan=False).encode()
        try:
            if self._connection is not None and _is_closed(self._connection.sock):
                self.close()
            if self._connection is None:
                kind = _KeptSecureConnection if self._url.scheme == "https" else _KeptConnection
                self._connection = kind(self._url.hostname, self._url.port, timeout=timeout)
                self._connection.connect()
            self._connection.sock.settimeout(timeout)
            if self._is_ended:
                raise OSError("the worker has ended")
            self._connection.request("POST", self._url.path + path, data, self._headers)
            response = self._connection.getresponse()
            text = response.read()
        except (OSError, ValueError, EOFError, AttributeError, http.client.HTTPException) as error:
            self.close()
            raise JobsError(f"Can't reach {where}: {error or type(error).__name__}", "unreachable") from error
        if response.will_close:
            self.close()
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        fields = value if isinstance(value, dict) else {}
        if response.status == 200 and value == fields:
            if all(isinstance(fields.get(name), type_) for name, type_ in expected.items()):
                return fields
        if 300 <= response.status < 400:
            raise _redirected(where, path, response.status, response.headers.get("location"))
        if response.status >= 300:
            raise _refusal(where, response.status, response.reason, response.headers, value)
        shown = json.dumps(text[:_SHOWN].decode("utf-8", "replace"), ensure_ascii=False)
        reason = f"with {shown}: expected a reply of the API of jobs, check the URL"
        raise JobsError(f"{where} answered {response.status} {reason}", "invalid_reply", response.status)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def end(self) -> None:
        """Ends the request of another thread, also one that it is about to send."""
        self._is_ended = True
        self.interrupt()

    def interrupt(self) -> None:
        """Ends the request of another thread."""
        self._is_interrupted = True
        try:
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        except (AttributeError, OSError):
            pass  # No request is open.


_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)


def _is_closed(sock: Any) -> bool:
    """Whether the server, or a proxy, has closed a connection on which no request is open: nothing else arrives on it."""
    try:
        with _Selector() as selector:
            selector.register(sock, selectors.EVENT_READ)
            return bool(selector.select(0))
    except (OSError, ValueError):
        return True


def _refuse_green_threads() -> None:
    """Refuses to start where threads are greenlets: a handler that computes would hold up the heartbeat, and lose its job."""
    for name, module, part, cure in (
        ("gevent", "gevent.monkey", "threading", "monkey.patch_all(thread=False)"),
        ("eventlet", "eventlet.patcher", "thread", "eventlet.monkey_patch(thread=False)"),
    ):
        found = sys.modules.get(module)
        is_patched = getattr(found, "is_module_patched", None) or getattr(found, "is_monkey_patched", None)
        if is_patched is not None and is_patched(part):
            why = "a handler that computes would hold up the heartbeat, and its jobs would run twice"
            raise RuntimeError(f"{name} has patched threads: {why}. Run the worker in a process without it, or with {cure}")


def _let_others_run() -> None:
    """Jobs that end together share a request for the next ones, and one with their outcomes."""
    time.sleep(0)


def _named(handlers: Any) -> Dict[str, Any]:
    """Returns functions by the name of their class."""
    if callable(handlers) or not hasattr(handlers, "__iter__"):
        raise ValueError(f"Invalid handlers {handlers!r}: expected a list of functions, such as handlers=[Report]")
    is_mapping = hasattr(handlers, "items")
    named: Dict[str, Any] = {}
    for key in handlers:
        handler = handlers[key] if is_mapping else key
        if not callable(handler):
            where = f"{key!r}: {handler!r}" if is_mapping else repr(handler)
            raise ValueError(f"Invalid handler {where[:_SHOWN]}: expected a function, def Report(ctx, …)")
        name = key if is_mapping else getattr(handler, "jobs_class", getattr(handler, "__name__", ""))
        if not name or name == "<lambda>":
            raise ValueError(f"Handler {handler!r} has no name: expected handlers={{'Report': …}}, or @job('Report')")
        if name in named:
            raise ValueError(f"Class {name!r} has two handlers: {named[name]!r} and {handler!r}")
        named[name] = handler
    if not named:
        raise ValueError("Missing handlers: expected functions, such as handlers=[Report]")
    return named


def _reports_of(contexts: Iterable[JobContext]) -> List[Dict[str, Any]]:
    """Returns the reports of jobs. Lines that are too many for one request wait for the next heartbeat."""
    size = 0
    reports = []
    for context in contexts:
        report = context._report() if size <= _MAX_REQUEST / 2 else {"token": context._token}
        size += len(json.dumps(report)) if "log" in report else 0
        reports.append(report)
    return reports


def _fitting(outcomes: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Returns the first outcomes that fit into one request; at least one."""
    size = 0
    for count, outcome in enumerate(outcomes):
        size += len(json.dumps(outcome))
        if size > _MAX_REQUEST:
            return outcomes[: max(1, count)]
    return outcomes


def _outcome_of(error: BaseException) -> Dict[str, Any]:
    if isinstance(error, Snooze):
        return {"end": "snooze", "in": error.delay}
    end = "discard" if isinstance(error, Discard) else "kill" if isinstance(error, (Kill, StepFailed)) else "failed"
    frames = traceback.extract_tb(error.__traceback__)[-50:]
    stack = [f"at {frame.name} ({frame.filename}:{frame.lineno})" for frame in reversed(frames)]
    known = (Aborted, "reason"), (StepFailed, "kind")
    name = next((getattr(error, field) for kind, field in known if isinstance(error, kind)), type(error).__name__)
    described: Dict[str, Any] = {"class": name, "message": _message_of(error)[:_MAX_TEXT], "stack": stack}
    causes = _causes_of(error)
    if causes:
        described["causes"] = causes
    return {"end": end, "error": described}


# What is printed when an attempt ends in this way.
_ENDS = {
    "failed": ("warn", "Failed"),
    "kill": ("error", "Failed for good"),
    "discard": ("info", "Discarded"),
    "snooze": ("info", "Snoozed"),
}


def _traceback_of(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(type(error), error, error.__traceback__))[-_MAX_TEXT:]
    except Exception:  # Of the error's class.
        return "".join(traceback.format_tb(error.__traceback__))[-_MAX_TEXT:]


def _causes_of(error: BaseException) -> List[str]:
    """Returns the causes of an error, one line each: as a traceback shows them."""
    lines: List[str] = []
    while len(lines) < _MAX_CAUSES:
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if cause is None:
            break
        lines.append(f"caused by {type(cause).__name__}: {_message_of(cause)}"[:_MAX_CAUSE])
        error = cause
    return lines


def _message_of(error: BaseException) -> str:
    """Returns the message of an error. That of another class may be a method that fails."""
    try:
        return str(error)
    except Exception:
        return "(its message cannot be read)"


def _rss() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
