/**
 * Client of the HTTP API of `jobs`: pushes jobs, and waits for their results. One file without dependencies, for Node 18
 * and later, Bun and Deno. Types: jobs_client.d.mts.
 *
 * Every push carries an idempotency key, so that a request which is repeated after a lost reply stores its jobs once.
 *
 * ```js
 * import { JobsClient } from "./jobs_client.mjs";
 *
 * const jobs = new JobsClient({ url: "http://127.0.0.1:7433", token: process.env.JOBS_TOKEN });
 * const { jid } = await jobs.push("Mail", ["ada@example.com"], { in: "5m", id: "order-7-mail" });
 * const ended = await jobs.result(jid, { timeoutMs: 60_000 });
 * ```
 */

import process from "node:process";

/** The API rejected a request, or is unreachable. */
export class JobsError extends Error {
  /**
   * @param {string} message what happened
   * @param {{ code: string, status?: number, field?: string, cause?: unknown }} details
   */
  constructor(message, { code, status, field, cause }) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "JobsError";
    /**
     * `invalid`, `conflict` (a unique lock, a throttle or a batch refuses the job), `unauthenticated` (the token is wrong), `forbidden`,
     * `rate_limited`, `unavailable`, `unreachable`, `redirected` (the URL is wrong), `invalid_reply` (the server isn't the API of jobs), …
     */
    this.code = code;
    /** HTTP status code; undefined without a response. */
    this.status = status;
    /** The invalid field. */
    this.field = field;
  }
}

/** Maximum number of jobs in one request. */
const MAX_BATCH = 1_000;
/** Maximum wait in one request. */
const MAX_WAIT_MS = 30_000;
/** A stream of events on which nothing has come for this long is read again: the server writes each 15 s. */
const MAX_SILENCE_MS = 45_000;
/** A timer with a longer time, such as Infinity, ends at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** The part of an unexpected reply that an error shows. */
const MAX_SHOWN_CHARS = 100;
/** Statuses after which a request is repeated: the API is busy, or a proxy in front of it can't reach it. */
const TRANSIENT = new Set([408, 429, 500, 502, 503, 504]);

/** Whether an error may be gone when a request is repeated. A wrong token stays wrong: after many, a further one is status 429. */
function isTransient({ status, code }) {
  return status === undefined || TRANSIENT.has(status) && code !== "unauthenticated";
}

/** Sends a request; for workers, which are in this file. */
const SEND = Symbol("send");
const ADDRESS = Symbol("address");
/** A server that has failed this often in a row is left for the next one. */
const MAX_FAILURES = 2;

/** Pushes jobs over HTTP. */
export class JobsClient {
  #servers;
  /** The requests that each server hasn't answered yet. */
  #open = new Map();
  #failures = 0;
  #headers;
  #timeoutMs;
  #retries;
  #fetch;
  /** Warnings that were emitted. */
  #warned = new Set();

  /**
   * @param {{ url: string | string[], token?: string, timeoutMs?: number, retries?: number, fetch?: typeof fetch }} options
   * `url`: of several servers on one store, one by chance is used, and the next ones when it fails
   */
  constructor({ url, token, timeoutMs = 10_000, retries = 4, fetch = globalThis.fetch, ...unknown }) {
    refuseUnknown(unknown, "new JobsClient", ["url", "token", "timeoutMs", "retries", "fetch"]);
    this.#servers = serversOf(url);
    const bearer = tokenOf(token);
    this.#headers = { "content-type": "application/json", ...(bearer && { authorization: `Bearer ${bearer}` }) };
    this.#timeoutMs = timeoutMs;
    this.#retries = retries;
    this.#fetch = fetch;
    this[ADDRESS] = () => ({ url: this.#servers[0], headers: this.#headers, isOnly: this.#servers.length === 1 });
    this[SEND] = (...args) => this.#send(...args);
  }

  /**
   * Pushes one job. Throws a JobsError with the code `conflict` if its unique lock, throttle or batch refuses it, and a TypeError for a
   * value that JSON can't hold, with its path.
   */
  async push(className, args = [], options = {}) {
    const body = JSON.stringify(requestOf({ ...options, class: className, args }));
    // The job's own id has the same effect as the header, and may contain characters that a header can't.
    const key = options.id === undefined ? crypto.randomUUID() : undefined;
    const { jid, existed = false, replaced = false } = await this.#pushOnce(body, key, isPushed);
    return { jid, existed, replaced };
  }

  /** Pushes jobs from any iterable, in batches. Yields a result for each, in order, once its batch is stored. */
  async *pushMany(jobs) {
    let batch = [];
    let i = 0;
    for await (const job of jobs) {
      if (batch.push(requestOf(job, `jobs[${i++}]`)) < MAX_BATCH) continue;
      yield* await this.#pushBatch(batch);
      batch = [];
    }
    if (batch.length > 0) yield* await this.#pushBatch(batch);
  }

  /**
   * Opens a batch, lets a function fill it, and closes it: its callbacks follow when its jobs have ended. If the function throws, the batch
   * is abandoned. Needs a token of the role push, work or operator without limits.
   *
   * @param options `name`, `tags`, the callbacks `success`, `complete`, `death` and `abandoned`, `closeWithin`, `keepFor`, `parent`, `notify`
   * @param fill receives `add(className, args, options)`, which resolves when there is room for more, and the batch
   */
  async batch(options, fill) {
    if (typeof fill !== "function") {
      throw new TypeError(
        "Missing function: expected client.batch(options, async (add) => await add(className, args))",
      );
    }
    const { id } = await this.#opened(options);
    const members = new Members(id, (jobs) => this.pushMany(jobs));
    try {
      await fill((...job) => members.add(...job), members);
      await members.close();
    } catch (error) {
      // If this fails, too, the server abandons the batch after `closeWithin`.
      await this.#closeBatch(id, { abandon: true }).catch(() => {});
      throw error;
    }
    await this.#closeBatch(id, {});
    return members;
  }

  /**
   * Cancels a job: removes a waiting one, and has a running one aborted. Needs a token of the role operator. Returns false if it has ended
   * otherwise, is dead, or there is none.
   */
  async cancel(jid) {
    try {
      await this.#send("POST", `/jobs/${encodeURIComponent(jid)}/cancel`, "{}");
      return true;
    } catch (error) {
      if (error.status !== 404) throw error;
      // The reply to an earlier attempt may have been lost.
      const finished = await this.result(jid, { timeoutMs: 0 });
      return finished?.state === "cancelled";
    }
  }

  /**
   * Sends a signal to the job that has waited longest for its key; without one, it is kept for the first that does. Needs a token of the
   * role signal or operator. Returns `reached`, the jid of the job. Isn't repeated after a lost reply, since it might arrive twice.
   *
   * @param options `keep`: false refuses a key that no job waits for; `keepFor`: how long it is kept
   */
  async signal(key, data = true, options = {}) {
    const text = JSON.stringify(checked({ ...defined(options), data }, ""));
    // Deno's fetch sends a text again if its connection breaks before the reply, but no stream.
    const body = globalThis.Deno ? new Blob([text]).stream() : text;
    const { reached } = await this.#send("POST", `/signals/${encodeURIComponent(key)}`, body, undefined, undefined, {
      retries: 0,
    });
    return { reached };
  }

  /** Waits until a job has ended, and returns its record; undefined if it hasn't ended in time. */
  async result(jid, { timeoutMs = 60_000, signal } = {}) {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const leftMs = Math.max(0, deadline - performance.now());
      const waitMs = Math.min(MAX_WAIT_MS, leftMs);
      const query = waitMs > 0 ? `?wait=${Math.ceil(waitMs)}ms` : "";
      const path = `/jobs/${encodeURIComponent(jid)}/result${query}`;
      const { finished } = await this.#send("GET", path, undefined, undefined, hasFinished, {
        extraMs: waitMs,
        signal,
        deadline,
      });
      if (finished !== null) return finished;
      if (leftMs <= MAX_WAIT_MS) return undefined;
    }
  }

  /**
   * Yields the events of the log, without limit. `after` is the `id` of the last event that the program has used, 0 the oldest that is kept; default:
   * from now on. Other options are filters: `type`, `class`, `queue`, `batch`, `tag`, each a text or a list. Continues after a lost connection.
   */
  async *events({ after, signal, ...filter } = {}) {
    const pairs = Object.entries(filter).flatMap(([name, values]) =>
      [values ?? []].flat().map((value) => [name, value])
    );
    const query = `/events?${new URLSearchParams(pairs)}`;
    let failures = 0;
    let isReached = false;
    for (;;) {
      try {
        // A page has the errors of the API, and where to begin.
        const from = after === undefined ? "" : `&after=${after}`;
        const page = await this.#send("GET", query + from, undefined, undefined, isPage, { signal });
        isReached = true;
        for (const event of page.events) {
          yield event;
          after = event.id;
        }
        after = page.next;
        for await (const { id, event } of this.#stream(query, after, signal)) {
          failures = 0;
          if (event) yield event;
          after = id;
        }
      } catch (error) {
        signal?.throwIfAborted();
        if (!isReached || !(error instanceof JobsError) || !isTransient(error)) throw error;
      }
      await pause(Math.min(5_000, 100 * 2 ** failures++) * (0.5 + Math.random() / 2), signal);
    }
  }

  /** Yields the messages of a stream of events until it is cut. */
  async *#stream(query, after, signal) {
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), MAX_SILENCE_MS);
    const headers = { ...this.#headers, accept: "text/event-stream", "last-event-id": String(after) };
    try {
      const response = await this.#fetch(this.#servers[0] + query, {
        headers,
        redirect: "manual",
        signal: signal ? anySignal([signal, silence.signal]) : silence.signal,
      });
      if (!response.headers.get("content-type")?.includes("event-stream")) return void await response.body?.cancel();
      const decoder = new TextDecoder();
      let text = "";
      for await (const chunk of response.body) {
        timer.refresh?.();
        const messages = (text + decoder.decode(chunk, { stream: true })).split("\n\n");
        text = messages.pop();
        for (const message of messages) {
          const id = /^id: (\d+)$/m.exec(message)?.[1];
          const data = /^data: (.*)$/m.exec(message)?.[1];
          if (id !== undefined) yield { id: Number(id), event: data && JSON.parse(data) };
        }
      }
    } catch (error) {
      if (error instanceof SyntaxError) throw error;
      // It was cut: the next page has the error, if there is one.
    } finally {
      clearTimeout(timer);
    }
  }

  /** Opens a batch, once for all attempts. */
  async #opened(options) {
    const isOpened = ({ id }) => typeof id === "string" && id !== "";
    const entries = Object.entries(defined(options ?? {}))
      .map(([name, value]) => [name, isObject(value) && "class" in value ? requestOf(value, name) : value]);
    const body = JSON.stringify(checked(Object.fromEntries(entries), ""));
    const answer = await this.#send("POST", "/batches", body, crypto.randomUUID(), isOpened);
    this.#warn(answer);
    return answer;
  }

  async #closeBatch(id, body) {
    await this.#send("POST", `/batches/${encodeURIComponent(id)}/close`, JSON.stringify(body));
  }

  async #pushBatch(batch) {
    const isComplete = ({ results }) =>
      Array.isArray(results) && results.length === batch.length && results.every(isResult);
    return (await this.#pushOnce(JSON.stringify(batch), crypto.randomUUID(), isComplete)).results;
  }

  async #pushOnce(body, key, isExpected) {
    const answer = await this.#send("POST", "/jobs", body, key, isExpected);
    this.#warn(answer);
    return answer;
  }

  /** Emits each warning of a response once, for example that no worker has registered the class. */
  #warn(answer) {
    for (const warning of Array.isArray(answer.warnings) ? answer.warnings : []) {
      if (typeof warning !== "string" || this.#warned.has(warning)) continue;
      this.#warned.add(warning);
      process.emitWarning(warning, "JobsWarning");
    }
  }

  /** Sends a request, and repeats it after a temporary failure. No attempt begins after the deadline. */
  async #send(
    method,
    path,
    body,
    key,
    isExpected = () => true,
    { timeoutMs = this.#timeoutMs, extraMs = 0, signal, deadline = Infinity, retries = this.#retries } = {},
  ) {
    for (let attempt = 0;; attempt++) {
      let error;
      try {
        return await this.#sendOnce(method, path, body, key, isExpected, timeoutMs + extraMs, signal);
      } catch (thrown) {
        signal?.throwIfAborted();
        error = thrown;
      }
      // A reply that was cut off may be complete the next time.
      const isPassing = isTransient(error) || error.isCut;
      const delayMs = error.retryAfterMs ?? Math.min(5_000, 100 * 2 ** attempt) * (0.5 + Math.random() / 2);
      if (!isPassing || attempt >= retries || performance.now() + delayMs >= deadline) throw error;
      await pause(delayMs, signal);
    }
  }

  /** Sends a request to the current server, and leaves it for the next one if it fails again, or doesn't reply in time. */
  async #sendOnce(method, path, ...rest) {
    const [url] = this.#servers;
    try {
      const answer = await this.#sendTo(url, method, path, ...rest);
      if (this.#servers[0] === url) this.#failures = 0;
      return answer;
    } catch (error) {
      const hasFailed = error.status === undefined || error.status >= 500 || error.code === "invalid_reply";
      const isLate = error.cause?.name === "TimeoutError";
      const isAborted = rest.at(-1)?.aborted;
      // Another request may have left it.
      if (hasFailed && !isAborted && this.#servers.length > 1 && this.#servers[0] === url) {
        if (++this.#failures >= MAX_FAILURES || isLate) this.#leave(url);
      }
      throw error;
    }
  }

  #leave(url) {
    this.#servers.push(this.#servers.shift());
    this.#failures = 0;
    for (const [request, server] of this.#open) {
      if (server === url) request.abort(new Error(`Left for ${this.#servers[0]}`));
    }
  }

  async #sendTo(url, method, path, body, key, isExpected, timeoutMs, signal) {
    // The timer of AbortSignal.timeout doesn't keep the process: Node ended it while a request on a closed connection was pending.
    const limit = new AbortController();
    const late = () => limit.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
    const timer = setTimeout(late, Math.min(MAX_TIMER_MS, Math.ceil(timeoutMs)));
    const timeout = limit.signal;
    const headers = { ...this.#headers, ...(key !== undefined && { "idempotency-key": key }) };
    let response;
    let text;
    this.#open.set(limit, url);
    try {
      const signals = signal ? anySignal([signal, timeout]) : timeout;
      // A followed redirect turns a push into a GET, and may hand the token to another host.
      response = await this.#fetch(url + path, { method, headers, body, signal: signals, redirect: "manual" });
      text = await response.text();
    } catch (cause) {
      throw new JobsError(`Can't reach ${url}: ${cause?.cause?.message ?? cause?.message}`, {
        code: "unreachable",
        cause,
      });
    } finally {
      clearTimeout(timer);
      this.#open.delete(limit);
    }
    const isRedirect = response.status >= 300 && response.status < 400;
    if (isRedirect || response.redirected || response.type === "opaqueredirect") {
      throw redirected(url, path, response);
    }
    let value;
    try {
      value = JSON.parse(text);
    } catch {
      // A proxy's page, or a reply that was cut.
    }
    const type = response.headers.get("content-type") ?? "no content type";
    if (response.ok) {
      const isPage = type.includes("html");
      if (!isPage && isObject(value) && isExpected(value)) return value;
      const isCut = !isPage && value === undefined;
      const shown = `${JSON.stringify(text.slice(0, MAX_SHOWN_CHARS))} (${type})`;
      throw Object.assign(
        new JobsError(
          `${url} answered ${response.status} with ${shown}: expected a reply of the API of jobs, check the URL`,
          { code: "invalid_reply", status: response.status },
        ),
        { isCut },
      );
    }
    const { code, message, field } = isObject(value) && isObject(value.error) ? value.error : {};
    const isOurs = typeof code === "string" && typeof message === "string";
    const error = isOurs ? new JobsError(message, { code, status: response.status, field }) : new JobsError(
      `${url} answered ${response.status} ${response.statusText} (${type}): expected an error of the API of jobs, check the URL`,
      { code: "unavailable", status: response.status },
    );
    const retryAfter = Number(response.headers.get("retry-after"));
    if (retryAfter > 0) error.retryAfterMs = Math.min(60_000, retryAfter * 1_000);
    throw error;
  }
}

/** The jobs that are added to a batch. They are pushed by the thousand. */
class Members {
  /** How many jobs it has stored, and how many it hasn't, because another job has their unique lock or the place of their throttle. */
  added = 0;
  duplicates = 0;
  #push;
  #jobs = [];
  #sending = Promise.resolve();
  #isClosed = false;

  constructor(id, push) {
    this.id = id;
    this.#push = push;
  }

  async add(className, args = [], options = {}) {
    if (this.#isClosed) throw new TypeError(`Can't add to batch "${this.id}": it is closed; await what adds to it`);
    this.#jobs.push(requestOf({ ...options, class: className, args, batch: this.id }));
    if (this.#jobs.length >= MAX_BATCH) await this.#flush();
  }

  async close() {
    // An addition that comes from now on fails: no request would store it.
    this.#isClosed = true;
    await this.#flush();
  }

  #flush() {
    const jobs = this.#jobs;
    this.#jobs = [];
    this.#sending = this.#sending.then(() => this.#send(jobs));
    // An addition that isn't awaited: the next one fails, too.
    this.#sending.catch(() => {});
    return this.#sending;
  }

  async #send(jobs) {
    for await (const { jid, refused, duplicateOf, throttledBy } of this.#push(jobs)) {
      if (jid !== undefined) this.added++;
      else if (duplicateOf !== undefined || throttledBy !== undefined) this.duplicates++;
      else throw new JobsError(`Job not added to batch "${this.id}": ${refused}`, { code: "invalid" });
    }
  }
}

/** Returns the servers' addresses of the API, beginning with one by chance, so that many clients spread over all. */
function serversOf(url) {
  const urls = [url].flat();
  const wrong = urls.length === 0 ? 0 : urls.findIndex((one) => !/^https?:\/\//i.test(one) || hasPassword(one));
  if (wrong >= 0) {
    const one = urls[wrong];
    const expected = hasPassword(one)
      ? "an address without a user or a password: pass a token"
      : "the dashboard's address, such as https://jobs.example.com, or a list of them";
    throw new TypeError(
      `Invalid url ${show(typeof one === "string" ? withoutPassword(one) : one)}: expected ${expected}`,
    );
  }
  const first = Math.floor(Math.random() * urls.length);
  return [...urls.slice(first), ...urls.slice(0, first)].map((one) => `${one.replace(/\/+$/, "")}/api/v1`);
}

/** The user and the password of an address. */
const USER_INFO = /^([^/?#]*\/\/)?[^/?#]*@/;

/** Returns whether an address has a user or a password. No client sends them. */
function hasPassword(url) {
  return typeof url === "string" && USER_INFO.test(url);
}

function withoutPassword(url) {
  return url.replace(USER_INFO, "$1…@");
}

/** Returns a token as a header takes it. No error shows it. */
function tokenOf(token) {
  const text = token ? String(token).trim() : "";
  if (/^[!-~]*$/.test(text)) return text;
  throw new TypeError("Invalid token: expected visible ASCII characters, as jobs web --new-token prints them");
}

/** Returns the error of a redirect, with the URL to use instead if the redirect is to the same path. */
function redirected(url, path, response) {
  const location = response.headers.get("location") ?? (response.redirected ? response.url : undefined);
  let cure = ": expected the API of jobs, check the URL";
  try {
    const { origin, pathname } = new URL(location ?? "", location === undefined ? undefined : url);
    const end = `/api/v1${path.split("?")[0]}`;
    const isSamePath = pathname.endsWith(end);
    cure = isSamePath ? `: use ${origin}${pathname.slice(0, -end.length)}` : ` to ${origin}${pathname}${cure}`;
  } catch {
    // No valid location.
  }
  const text = `${url} answered ${response.status}, a redirect${cure}`;
  return new JobsError(text, { code: "redirected", status: response.status });
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isPushed({ jid }) {
  return typeof jid === "string" && jid !== "";
}

function isResult(value) {
  return isObject(value) && (isPushed(value) || typeof value.refused === "string");
}

function isPage({ events, next }) {
  return Array.isArray(events) && Number.isSafeInteger(next);
}

function hasFinished({ finished }) {
  return finished === null || isObject(finished);
}

/**
 * Returns a job as the API takes it: `at` becomes text, and options that are undefined count as absent.
 *
 * @param path that of the job, for errors
 * @throws {TypeError} for arguments that aren't an array, and for a value that JSON can't hold
 */
function requestOf(job, path = "") {
  if (!isObject(job)) {
    throw new TypeError(`${path} is ${show(job)}; expected a job, such as { class: "Mail", args: [1] }`);
  }
  const request = defined(job);
  if (request.at instanceof Date && Number.isFinite(request.at.getTime())) request.at = request.at.toISOString();
  if ("args" in request) checkArgs(request.args, memberPath(path, "args"));
  return checked(request, path);
}

/** Returns the options of a step, or of a job that a handler pushes. */
function optionsOf(options) {
  if (isObject(options)) return requestOf(options);
  throw new TypeError(`options is ${show(options)}; expected an object, such as { retry: 3 }`);
}

/** Runs a check whose error is misuse of a step. */
function asStep(check) {
  try {
    return check();
  } catch (error) {
    throw new StepError(error.message);
  }
}

/** Returns the options that aren't undefined. */
function defined(options) {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

// JSON. JSON.stringify changes some values without an error: NaN becomes null, a Map {}.

/** The deepest value that a worker performs. */
const MAX_LEVELS = 100;

/** A text would be passed letter by letter. */
function checkArgs(args, path) {
  if (Array.isArray(args)) return;
  const expected = `an array of the handler's arguments, such as ["ada@example.com"]`;
  throw new TypeError(`${path} is ${show(args)}; expected ${expected}`);
}

/** Returns a value that JSON can hold. */
function checked(value, path) {
  const problem = problemOf(value, path);
  if (problem !== undefined) throw new TypeError(problem);
  return value;
}

/** Returns what JSON can't hold in a value, in one line with its path; undefined if it holds all of it. */
function problemOf(value, path) {
  const found = unfit(value, []);
  if (found === undefined) return undefined;
  const at = found.steps.reduce(
    (before, step) => typeof step === "number" ? `${before}[${step}]` : memberPath(before, step),
    path,
  );
  return `${at} ${found.what}; expected ${found.expected}`;
}

function memberPath(path, name) {
  if (!/^[A-Za-z_$][\w$]*$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}

/** Returns the steps to what JSON can't hold, what that is, and what is expected; undefined without any. */
function unfit(value, around) {
  switch (typeof value) {
    case "boolean":
      return undefined;
    case "string":
      return /\p{Surrogate}/u.test(value) ? bad(value, "text without half characters") : undefined;
    case "number":
      return Number.isFinite(value) ? undefined : bad(value, "a finite number, or null");
    case "undefined":
      return bad(value, "a JSON value; use null for no value");
    case "bigint":
      return bad(value, "a number, or a text such as String(value)");
    case "object":
      return value === null ? undefined : unfitObject(value, around);
    default:
      return bad(value, "a JSON value: text, number, true, false, null, array or plain object");
  }
}

function unfitObject(value, around) {
  const isArray = Array.isArray(value);
  if (!isArray && !isPlain(value)) return bad(value, jsonValue(value));
  if (around.includes(value)) {
    return {
      steps: [],
      what: `is the ${isArray ? "array" : "object"} around it`,
      expected: "a value that does not contain itself",
    };
  }
  if (around.length >= MAX_LEVELS) return bad(value, `at most ${MAX_LEVELS} levels of arrays and objects`);
  const inner = [...around, value];
  for (const step of isArray ? value.keys() : Object.keys(value)) {
    const found = unfit(value[step], inner);
    if (found !== undefined) return { ...found, steps: [step, ...found.steps] };
  }
}

function bad(value, expected) {
  return { steps: [], what: `is ${show(value)}`, expected };
}

/** Whether an object has no class, also in another realm. */
function isPlain(value) {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Returns a value in one line. */
function show(value) {
  try {
    const text = textOf(value).replace(/\s+/g, " ");
    return text.length <= MAX_SHOWN_CHARS ? text : `${text.slice(0, MAX_SHOWN_CHARS)}…`;
  } catch {
    return "an object";
  }
}

function textOf(value) {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return value.name === "" ? "a function" : `the function ${value.name}`;
  if (typeof value === "string" || Array.isArray(value)) return JSON.stringify(value);
  if (typeof value !== "object" || value === null) return String(value);
  if (isPlain(value)) return JSON.stringify(value);
  const name = value.constructor?.name || "object";
  const text = value instanceof Date
    ? ` "${value.toISOString()}"`
    : value instanceof Error
    ? ` "${value.message}"`
    : "";
  return `${/^[AEIOU]/i.test(name) ? "an" : "a"} ${name}${text}`;
}

/** Returns what is expected in place of an object of a class. */
function jsonValue(value) {
  if (value instanceof Date) return "a JSON value, such as date.toISOString()";
  if (value instanceof Map) return "a JSON value, such as Object.fromEntries(map)";
  if (value instanceof Set) return "a JSON value, such as [...set]";
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return "a JSON value, such as its bytes in base64";
  if (typeof value.then === "function") return "a JSON value: await it";
  return "a JSON value: a plain object with its data, or a key to find it by";
}

/** Waits, until the signal aborts: then it throws the signal's reason. */
async function pause(ms, signal) {
  let timer;
  let end;
  await new Promise((resolve) => {
    end = resolve;
    timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
  clearTimeout(timer);
  signal?.removeEventListener("abort", end);
  signal?.throwIfAborted();
}

/** Node 18 has no `AbortSignal.any`. */
function anySignal(signals) {
  if (AbortSignal.any) return AbortSignal.any(signals);
  const controller = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) controller.abort(signal.reason);
    else signal.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
  }
  return controller.signal;
}

/** The version of the protocol between a worker and the gateway. */
const PROTOCOL = 1;
const CLIENT = "jobs-client 0.1";
/** Maximum number of jobs in one request of a worker, and of outcomes. */
const MAX_TAKEN = 100;
const MAX_SETTLED = 1_000;
/** Outcomes share a request up to this size, which the server bounds. A larger result isn't sent: the server keeps smaller ones only. */
const MAX_REQUEST_CHARS = 1_000_000;
const MAX_RESULT_CHARS = 500_000;
const MAX_TEXT_CHARS = 20_000;
const MAX_LINE_CHARS = 1_000;
const MAX_CAUSES = 10;
const MAX_CAUSE_CHARS = 500;
/** Lines of a job that are kept until the next heartbeat. */
const MAX_LINES = 200;
/** Fields of a line. */
const MAX_FIELDS = 50;
/** How long an idle worker waits for jobs; less after a proxy has given up earlier. */
const TAKE_WAIT_MS = 25_000;
const MIN_TAKE_WAIT_MS = 2_000;
/** Between heartbeats while jobs run, and after a job has begun. */
const BUSY_BEAT_MS = 1_000;
const MIN_BEAT_MS = 100;
/** How long a reply may take, without the time that the server waits. */
const MIN_REPLY_MS = 5_000;
const MAX_REPLY_MS = 10_000;
/** After the shutdown timeout: until jobs that don't end are given back, and then until ends that can't be stored are given up. */
const GIVE_BACK_MS = 3_000;
const GIVE_UP_MS = 1_000;
const MAX_DEREGISTER_MS = 5_000;
/** Statuses of a request that can't succeed as it is: invalid, or larger than the server or a proxy accepts. */
const REFUSED = new Set([400, 413, 422]);
/** Pause before a request of a worker is repeated, doubled up to the second value. */
const FIRST_PAUSE_MS = 200;
const LAST_PAUSE_MS = 5_000;

/** Marks the errors of this module that decide about a job. Names don't: another library may have a `Kill`, too. */
const VERDICT = Symbol.for("jobs.verdict");

/** Ends a job for good, without a failure: it is not needed any more. */
export class Discard extends Error {
  name = "Discard";

  get [VERDICT]() {
    return "discard";
  }
}

/** Ends a job for good: it is dead at once, without further attempts. */
export class Kill extends Error {
  name = "Kill";

  get [VERDICT]() {
    return "kill";
  }
}

/** Ends an attempt: the job runs again later, without counting as failed. */
export class Snooze extends Error {
  name = "Snooze";

  /** @param {number | string} delay seconds, or a duration such as "5m" */
  constructor(delay) {
    super(`Again in ${delay}`);
    this.delay = checked(delay, "delay");
  }

  get [VERDICT]() {
    return "snooze";
  }
}

/** A step of a job, or its child, has failed for good. A job that doesn't catch it is dead: it would fail again. */
export class StepFailed extends Error {
  name = "StepFailed";

  get [VERDICT]() {
    return "kill";
  }
}

/** A step is used wrongly: a name twice, an unknown option, a value that isn't JSON. */
export class StepError extends Error {
  name = "StepError";

  /**
   * @param {string} message what is wrong, and what to do
   * @param {{ kind?: string, cause?: unknown }} details `kind`: the class of the server's error
   */
  constructor(message, { kind = "StepError", cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** Ends an attempt whose job sleeps, waits, or continues elsewhere. A handler that catches all errors throws it again. */
export class AttemptEnded extends Error {
  name = "AttemptEnded";

  constructor() {
    super("The attempt ends here: the job sleeps or waits, or continues elsewhere");
  }
}

/** Why the signal of a job has aborted: `Cancelled`, `Timeout`, `Shutdown` or `LeaseLost`. */
export class Aborted extends Error {
  /** @param {string} reason */
  constructor(reason) {
    super(ABORTS[reason] ?? reason);
    this.name = reason;
  }
}

const ABORTS = {
  Cancelled: "The job was cancelled",
  Timeout: "The job's timeout has expired",
  Shutdown: "The worker's shutdown timeout has expired",
  LeaseLost: "Another worker has the job now",
};

/**
 * Performs jobs in this process until it is stopped: by TERM or INT, by `jobs stop`, or by the signal. Resolves when it has stopped.
 *
 * ```js
 * import { work } from "./jobs_client.mjs";
 *
 * await work({
 *   url: "http://127.0.0.1:7433",
 *   token: process.env.JOBS_TOKEN,
 *   concurrency: 10,
 *   handlers: { Report: async (ctx, month) => `report of ${month}` },
 * });
 * ```
 */
export async function work(options) {
  const worker = new Worker(options);
  return await worker.run();
}

/**
 * The program of a thread: sends heartbeats while the main thread doesn't count, because a handler holds the event loop. Otherwise the
 * server would give its jobs to others. They have no list of jobs: the main thread may have begun one since. It sends none while only the
 * server is late: a server that is left must not hear of this worker again.
 */
const PULSE = `
const { parentPort, workerData: { headers, beats, everyMs } } = require("node:worker_threads");
let worker, url;
let seen = 0, ticks = 0;
parentPort.on("message", (message) => { ({ worker, url } = message); });
setInterval(() => {
  const now = Atomics.load(beats, 0);
  if (now === 0) return;
  if (now !== seen) return void (seen = now, ticks = 0);
  // After half a heartbeat, then once in each.
  if (++ticks % 4 !== 2) return;
  const body = JSON.stringify({ worker });
  if (worker) fetch(url + "/work/heartbeat", { method: "POST", headers, body, redirect: "manual" }).then((r) => r.text()).catch(() => {});
}, everyMs / 4);
`;

class Worker {
  #client;
  #send;
  #handlers;
  #options;
  #id;
  #times = { heartbeatMs: 5_000, timeoutMs: 20_000 };
  /** How long a reply may take. With several servers, less: there is time to continue at the next one. */
  #replyMs = MAX_REPLY_MS;
  /** Running jobs by the token of their attempt. */
  #running = new Map();
  #ended = [];
  #wakeSettler = () => {};
  #wakeTaker = () => {};
  #wakeBeat = () => {};
  #nonce = [...crypto.getRandomValues(new Uint8Array(6))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  #take = 0;
  #takeWaitMs = TAKE_WAIT_MS;
  /** The last request for jobs whose answer it doesn't wait for any more: those jobs are in `#running` or `#ended`, or have ended. */
  #taken = 0;
  #registration = 0;
  #isQuiet = false;
  #listenAgain = () => {};
  #rss = 0;
  #rssUntil = 0;
  /** When it began to register last. */
  #registeredAt = 0;
  /** Whether handlers run whose jobs were given back. */
  #isLeaving = false;
  /** It has stopped although the ends of jobs aren't stored. */
  #failure;
  #stop = new AbortController();
  /** Aborts when nothing is left to do. */
  #done = new AbortController();
  #log;

  constructor(
    {
      url,
      token,
      handlers,
      concurrency = 10,
      queues,
      labels,
      shutdownTimeoutMs = 25_000,
      log = logLine,
      logLevel = "info",
      fetch,
      signal,
      signals = true,
      ...unknown
    } = {},
  ) {
    refuseUnknown(unknown, "work", WORK_OPTIONS);
    if (!isObject(handlers) || Object.keys(handlers).length === 0) {
      throw new TypeError("Missing handlers: expected functions by class, { Report: async (ctx, month) => … }");
    }
    for (const [name, handler] of Object.entries(handlers)) {
      if (typeof handler !== "function") {
        throw new TypeError(`Handler "${name}" isn't a function but ${show(handler)}: expected (ctx, …args) => …`);
      }
      const [code] = Object.entries(handler.options ?? {})
        .find(([option, value]) => option !== "schema" && typeof value === "function") ?? [];
      if (code !== undefined) {
        throw new TypeError(`Option "${code}" of class "${name}" is a function: expected JSON, because it is sent`);
      }
    }
    if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 1_000) {
      throw new TypeError(`Invalid concurrency ${show(concurrency)}: expected a whole number from 1 to 1000`);
    }
    this.#client = new JobsClient({ url, token, fetch, retries: 0 });
    this.#send = this.#client[SEND];
    this.#handlers = handlers;
    this.#options = { concurrency, queues, labels, shutdownTimeoutMs, signals };
    if (!LEVELS.includes(logLevel)) {
      throw new TypeError(`Invalid logLevel ${show(logLevel)}: expected ${LEVELS.join(", ")}`);
    }
    this.#log = (level, message, fields) => isLogged(level, logLevel) && log(level, message, fields);
    signal?.addEventListener("abort", () => this.stop("the signal"), { once: true });
    if (signal?.aborted) this.stop("the signal");
  }

  async run() {
    const unlisten = this.#options.signals ? this.#listen() : () => {};
    try {
      await this.#register().catch((error) => {
        if (!this.#stop.signal.aborted) throw error;
      });
      // Stopped before the server was reached.
      if (this.#id === undefined) return this.#log("info", "Stopped");
      await this.#startPulse();
      this.#aim();
      try {
        await Promise.all([this.#takeLoop(), this.#settleLoop(), this.#beatLoop()]);
      } catch (error) {
        // The whole worker ends with a part of it.
        this.#stop.abort();
        this.#done.abort();
        this.#wakeTaker();
        this.#wakeSettler();
        throw this.#failure ?? error;
      }
      if (this.#failure !== undefined) throw this.#failure;
      const signal = AbortSignal.timeout(MAX_DEREGISTER_MS);
      await this.#request("/work/deregister", {}, { tries: 3, signal }).catch(() => {});
      this.#log("info", "Stopped");
      // A handler that ignores its signal would keep the process, or continue while its job runs elsewhere.
      if (this.#isLeaving) process.exit(0);
    } finally {
      unlisten();
      clearInterval(this.#counter);
      void this.#pulse?.terminate();
    }
  }

  /** Takes no more jobs, waits for the running ones until the timeout, then aborts them. */
  stop(by) {
    if (this.#stop.signal.aborted) return;
    this.#log("info", "Stopping", { by, running: this.#running.size });
    this.#stop.abort();
    this.#wakeTaker();
    this.#wakeBeat();
    const timer = setTimeout(() => {
      for (const job of this.#running.values()) job.abort("Shutdown");
      setTimeout(() => this.#giveBack(), GIVE_BACK_MS).unref?.();
    }, Math.min(MAX_TIMER_MS, this.#options.shutdownTimeoutMs));
    timer.unref?.();
    this.#checkDone();
  }

  /** Describes each running job, one line each. */
  dump() {
    const now = performance.now();
    const lines = [...this.#running.values()].map(({ payload, context, since, aborted }) =>
      `${context.class} ${context.jid} ${JSON.stringify(payload.args).slice(0, 100)} for ${Math.round(now - since)} ms${
        aborted ? ` (${aborted})` : ""
      }`
    );
    return [`${this.#id}: ${this.#running.size} of ${this.#options.concurrency} running`, ...lines];
  }

  #listen() {
    const on = {
      SIGTERM: () => this.stop("SIGTERM"),
      SIGINT: () => this.stop("SIGINT"),
      SIGTTIN: () => console.error(this.dump().join("\n")),
    };
    // Again with each heartbeat: a handler may have removed them.
    this.#listenAgain = () => {
      for (const [name, listener] of Object.entries(on)) {
        if (!process.listeners(name).includes(listener)) process.on(name, listener);
      }
    };
    this.#listenAgain();
    return () => {
      this.#listenAgain = () => {};
      for (const [name, listener] of Object.entries(on)) process.off(name, listener);
    };
  }

  async #register() {
    const nonce = this.#nonce;
    const { concurrency, queues, labels } = this.#options;
    const classes = Object.fromEntries(
      Object.entries(this.#handlers).map(([name, { options = {} }]) => [name, declared(name, options)]),
    );
    const { hostname } = await import("node:os");
    const body = {
      ...{ protocol: PROTOCOL, runtime: runtimeName(), client: CLIENT, nonce, concurrency, classes },
      ...{ hostname: hostname().replace(/[\s:]/g, "-") || "unknown", pid: process.pid },
      ...{ registration: ++this.#registration, taken: this.#taken },
      ...(queues && { queues }),
      ...(labels && { labels }),
      ...(this.#id && { running: [...this.#running.values(), ...this.#ended].map(({ given }) => given) }),
    };
    const answer = await this.#repeat(
      () => this.#send("POST", "/work/register", JSON.stringify(body), undefined, EXPECTED["/work/register"]),
      this.#id ? this.#done.signal : this.#stop.signal,
    );
    this.#id = answer.worker;
    this.#times = answer;
    if (!this.#client[ADDRESS]().isOnly) {
      this.#replyMs = Math.max(MIN_REPLY_MS, Math.min(MAX_REPLY_MS, answer.timeoutMs / 4));
    }
    const left = new Set(answer.running);
    for (const [token, job] of this.#running) {
      if (left.has(token)) continue;
      job.abort("LeaseLost");
      this.#running.delete(token);
    }
    this.#aim();
    this.#log("info", "Started", { worker: this.#id, classes: Object.keys(classes).join(" ") });
  }

  async #takeLoop() {
    for (; !this.#stop.signal.aborted; await restOfTurn()) {
      const limit = Math.min(MAX_TAKEN, this.#options.concurrency - this.#running.size);
      if (limit <= 0 || this.#isQuiet) {
        await new Promise((resolve) => this.#wakeTaker = resolve);
        continue;
      }
      const take = ++this.#take;
      const since = performance.now();
      const rss = this.#memory();
      const { jobs, ...state } = await this.#request("/work/take", { take, limit, rss }, {
        signal: this.#stop.signal,
        extraMs: TAKE_WAIT_MS,
      })
        .catch((error) => {
          if (!this.#stop.signal.aborted) throw error;
          return { jobs: [] };
        });
      for (const job of await this.#confirmed(jobs, since)) this.#begin(job);
      this.#taken = take;
      this.#follow(state);
    }
  }

  /**
   * Returns those jobs that are still this worker's: while a reply was on its way for long, others may have got them. The server is told
   * before a job begins that may have killed another worker: it is blamed if this one dies then, too.
   */
  async #confirmed(jobs, since) {
    const { heartbeatMs, timeoutMs } = this.#times;
    const isLate = () =>
      performance.now() - since >= Math.min(heartbeatMs, timeoutMs / 2) || this.#registeredAt > since;
    let left = jobs;
    let isTold = !jobs.some(({ suspect }) => suspect);
    while (left.length > 0 && (!isTold || isLate())) {
      isTold = true;
      since = performance.now();
      const held = [...[...this.#running.values(), ...this.#ended].map(({ given }) => given), ...left];
      const running = held.map(({ token }) => ({ token }));
      try {
        const { lost, aborted } = await this.#request("/work/heartbeat", { running }, { signal: this.#stop.signal });
        const gone = new Set([...lost, ...aborted.map(({ token }) => token)]);
        left = left.filter(({ token }) => !gone.has(token));
      } catch (error) {
        if (!this.#stop.signal.aborted) throw error;
        return [];
      }
    }
    return left;
  }

  /** Returns the resident memory in bytes, read at most once a second: a reading takes as long as a small job. */
  #memory() {
    const now = performance.now();
    if (now >= this.#rssUntil) [this.#rss, this.#rssUntil] = [process.memoryUsage.rss(), now + 1_000];
    return this.#rss;
  }

  #begin({ token, payload: raw, queue, attempt, jid, class: name, receipt, batch, node }) {
    const payload = JSON.parse(raw);
    const controller = new AbortController();
    const job = {
      ...{
        token,
        payload,
        given: { token, payload: raw, queue, receipt },
        lines: [],
        since: performance.now(),
        progress: undefined,
        aborted: undefined,
      },
      abort: (reason) => {
        job.aborted ??= reason;
        controller.abort(new Aborted(reason));
      },
    };
    const log = (level) => (message, fields) => {
      const line = { level, message: String(message).slice(0, MAX_LINE_CHARS), fields: fieldsOf(fields) };
      if (job.lines.push(line) > MAX_LINES) job.lines.shift();
      this.#logOf(job, level, line.message, line.fields);
    };
    job.context = {
      ...{ jid, class: name, queue, attempt, payload, raw, signal: controller.signal },
      progress: (done, note) => {
        if (!Number.isFinite(done)) throw new TypeError(`Invalid progress ${show(done)}: expected a number`);
        job.progress = { done, ...(note !== undefined && { note: String(note).slice(0, MAX_LINE_CHARS) }) };
      },
      stream: (chunk) => job.stream.write(chunk),
      log: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
      client: this.#client,
    };
    const { signal } = controller;
    job.stream = new Stream((body) => this.#request("/work/stream", { token, ...body }, { signal }), job.context.log);
    const send = (body) => this.#request("/work/step", { ...reportOf(job), ...body }, { signal: controller.signal });
    Object.assign(job.context, new Steps(send, controller.signal).methods({ batch, node }));
    this.#running.set(token, job);
    // Before the first line of its handler, which may hold the event loop.
    this.#count();
    this.#wakeBeat();
    void this.#perform(job, name);
  }

  async #perform(job, name) {
    let outcome;
    try {
      const handler = Object.hasOwn(this.#handlers, name) ? this.#handlers[name] : undefined;
      if (handler === undefined) throw new Error(`No handler for class "${name}"`);
      const result = await handler(job.context, ...job.payload.args);
      outcome = this.#successOf(job, result);
    } catch (error) {
      outcome = outcomeOf(error);
      this.#logEnd(job, error, outcome);
      // An error after the shutdown timeout isn't a failure of the job. A decision of the handler counts.
      if (job.aborted === "Shutdown" && outcome.end === "failed") outcome = { end: "release" };
    }
    await job.stream.finish();
    if (this.#running.get(job.token) !== job) return;
    this.#ended.push({ given: job.given, outcome: { ...reportOf(job), ...outcome } });
    this.#running.delete(job.token);
    this.#wakeSettler();
    this.#wakeTaker();
  }

  /** Returns the end of a job that has done its work. It isn't repeated for the sake of a result that can't be sent. */
  #successOf({ context: { log } }, result) {
    if (result === undefined) return { end: "succeeded" };
    try {
      const outcome = { end: "succeeded", result: checked(result, "The result") };
      const { length } = JSON.stringify(outcome);
      if (length <= MAX_RESULT_CHARS) return outcome;
      log.warn(`The result wasn't kept: ${length} characters`);
    } catch (error) {
      log.warn(`The result wasn't kept: ${messageOf(error)}`);
    }
    return { end: "succeeded" };
  }

  /** Logs how an attempt has ended. */
  #logEnd(job, error, { end, error: described }) {
    if (readSafely(() => error instanceof AttemptEnded)) return;
    const [level, message] = job.aborted ? ["info", "Aborted"] : ENDS[end];
    const { class: name, message: text } = described ?? { class: "Snooze", message: messageOf(error) };
    const stack = level === "info" ? undefined : readSafely(() => error.stack);
    this.#logOf(job, level, message, {
      attempt: job.context.attempt,
      error: `${name}: ${text}`,
      ...(typeof stack === "string" && { stack: stack.slice(0, MAX_TEXT_CHARS) }),
    });
  }

  /** Logs a line about a job, unless the job or its class drops those of this level. */
  #logOf({ context, payload }, level, message, fields) {
    const { class: name, jid, queue } = context;
    const least = payload?.log_level ?? this.#handlers[name]?.options?.log_level;
    if (isLogged(level, least)) this.#log(level, message, { ...fields, class: name, jid, queue });
  }

  async #settleLoop() {
    let limit = MAX_SETTLED;
    while (!this.#done.signal.aborted) {
      if (this.#ended.length === 0) {
        await new Promise((resolve) => {
          this.#wakeSettler = resolve;
          this.#checkDone();
        });
        await restOfTurn();
        continue;
      }
      const outcomes = fitting(this.#ended.slice(0, limit).map(({ outcome }) => outcome));
      let answer;
      try {
        answer = await this.#request("/work/settle", { outcomes }, { signal: this.#done.signal });
      } catch (error) {
        // One end that the server refuses fails that job, and holds back no other.
        if (!REFUSED.has(error.status) || this.#ended[0].isRefused) throw error;
        if (outcomes.length > 1) limit = Math.ceil(outcomes.length / 2);
        else this.#ended[0] = { ...this.#ended[0], isRefused: true, outcome: refusedOutcome(outcomes[0], error) };
        continue;
      }
      const { lost } = answer;
      limit = MAX_SETTLED;
      this.#ended.splice(0, outcomes.length);
      if (lost.length > 0) this.#log("warn", "Leases lost: these jobs run again", { count: lost.length });
    }
  }

  /**
   * Tells the server that this worker lives. While jobs run, the answer waits until the server has something to say, so that a
   * cancellation arrives at once.
   */
  async #beatLoop() {
    const { signal } = this.#done;
    while (!signal.aborted) {
      // Without jobs, the open request for jobs shows that this worker lives.
      if (this.#running.size + this.#ended.length === 0 && !this.#isQuiet && !this.#stop.signal.aborted) {
        Atomics.store(this.#beats, 0, 0);
        await this.#restOfBeat(this.#times.heartbeatMs);
        continue;
      }
      this.#listenAgain();
      // Also those whose ends aren't stored yet: the server would take them for forgotten.
      const running = [...reportsOf(this.#running.values()), ...this.#ended.map(({ given: { token } }) => ({ token }))];
      const waitMs = running.length > 0 && !this.#stop.signal.aborted ? this.#times.heartbeatMs : 0;
      const rss = this.#memory();
      const body = { running, taken: this.#taken, rss, ...(waitMs > 0 && { wait: waitMs / 1_000 }) };
      const began = performance.now();
      let orders;
      try {
        orders = await this.#sendBeat(body, { signal, extraMs: waitMs });
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      this.#obey(orders);
      const hasWaited = performance.now() - began >= waitMs && waitMs > 0;
      await this.#restOfBeat(hasWaited ? MIN_BEAT_MS : waitMs > 0 ? BUSY_BEAT_MS : this.#times.heartbeatMs);
    }
  }

  /** Sends a heartbeat. A server that refuses what jobs report still learns that they run. */
  async #sendBeat(body, options) {
    try {
      return await this.#request("/work/heartbeat", body, options);
    } catch (error) {
      const isBare = body.running.every(({ progress, log }) => progress === undefined && log === undefined);
      if (!REFUSED.has(error.status) || isBare) throw error;
      this.#log("warn", "Dropped the progress and log lines that the server refused", { error: error.message });
    }
    const running = body.running.map(({ token }) => ({ token }));
    return await this.#request("/work/heartbeat", { ...body, running }, options);
  }

  /** Waits until the next heartbeat; less when a job begins. */
  async #restOfBeat(ms) {
    const begun = new AbortController();
    this.#wakeBeat = () => begun.abort();
    await pause(ms, anySignal([this.#done.signal, begun.signal])).catch(() => {});
    this.#wakeBeat = () => {};
    if (begun.signal.aborted) await pause(MIN_BEAT_MS, this.#done.signal).catch(() => {});
  }

  #obey({ aborted, lost, ...state }) {
    for (const { token, reason } of aborted) this.#running.get(token)?.abort(reason);
    for (const token of lost) {
      this.#running.get(token)?.abort("LeaseLost");
      this.#isLeaving ||= this.#running.delete(token) && this.#options.signals;
    }
    this.#follow(state);
    this.#checkDone();
  }

  #follow({ quiet = this.#isQuiet, stopping = false }) {
    if (quiet !== this.#isQuiet) this.#wakeBeat();
    this.#isQuiet = quiet;
    this.#wakeTaker();
    if (stopping) this.stop("jobs");
  }

  /** Sends a request of this worker until it is answered. Registers again if the worker is unknown. */
  async #request(path, body, { signal, extraMs, tries = Infinity } = {}) {
    const send = () => {
      const text = JSON.stringify({
        worker: this.#id,
        ...body,
        ...(path === "/work/take" && { wait: this.#takeWaitMs / 1_000 }),
      });
      return this.#send("POST", path, text, undefined, EXPECTED[path], { timeoutMs: this.#replyMs, extraMs, signal });
    };
    return await this.#repeat(
      async () => {
        try {
          return await send();
        } catch (error) {
          // A proxy waits for less long.
          if (path === "/work/take" && error.status === 504) {
            this.#takeWaitMs = Math.max(MIN_TAKE_WAIT_MS, this.#takeWaitMs / 2);
          }
          if (!isUnknownWorker(error)) throw error;
          if (path === "/work/deregister") return {};
          signal?.throwIfAborted();
          await this.#again();
          return await send();
        }
      },
      signal,
      tries,
    );
  }

  /** The server doesn't know this worker any more, or is another one: it is shown the running jobs. */
  async #again() {
    this.#registering ??= (async () => {
      this.#log("warn", "Unknown to the server: registering again", { running: this.#running.size });
      this.#registeredAt = performance.now();
      await this.#register();
    })().finally(() => this.#registering = undefined);
    await this.#registering;
  }

  #registering;
  #pulse;
  #beat = 0;
  /** Grows while the event loop runs, for the other thread; 0: no heartbeat is needed. */
  #beats = new Int32Array(new SharedArrayBuffer(4));

  #counter;

  #count() {
    Atomics.store(this.#beats, 0, ++this.#beat);
  }

  async #startPulse() {
    try {
      const { Worker: Thread } = await import("node:worker_threads");
      const { headers } = this.#client[ADDRESS]();
      const everyMs = this.#times.heartbeatMs;
      this.#pulse = new Thread(PULSE, { eval: true, workerData: { headers, beats: this.#beats, everyMs } });
      this.#pulse.on(
        "error",
        (error) => this.#log("warn", "No heartbeats while a handler holds the event loop", { error: error.message }),
      );
      this.#pulse.unref();
      this.#counter = setInterval(() => Atomics.load(this.#beats, 0) === 0 || this.#count(), everyMs / 4);
      this.#counter.unref?.();
    } catch (error) {
      this.#log("warn", "No heartbeats while a handler holds the event loop", { error: error.message });
    }
  }

  /** Tells the other thread where this worker is registered. */
  #aim() {
    this.#pulse?.postMessage({ worker: this.#id, url: this.#client[ADDRESS]().url });
  }

  async #repeat(run, signal, tries = Infinity) {
    let again;
    for (let failures = 0;; failures++) {
      try {
        const answer = await run();
        if (failures > 0) this.#log("info", again);
        return answer;
      } catch (error) {
        signal?.throwIfAborted();
        const isPassing = error instanceof JobsError && isTransient(error) || isUnknownWorker(error) ||
          this.#id !== undefined && !REFUSED.has(error.status) && FOREIGN.has(error.code);
        if (!isPassing || failures + 1 >= tries) throw error;
        const { status, message } = error;
        if (failures === 0) {
          again = status === undefined ? "Server reached again" : "Server accepts requests again";
          if (status === undefined) this.#log("warn", "Server not reached, retrying", { error: message });
          else this.#log("warn", "Server refused a request, retrying", { status, error: message });
        }
        await pause(
          error.retryAfterMs ?? Math.min(LAST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures) * (0.5 + Math.random() / 2),
          signal,
        );
      }
    }
  }

  #giveBack() {
    for (const [token, job] of this.#running) {
      this.#ended.push({ given: job.given, outcome: { ...reportOf(job), end: "release" } });
      this.#running.delete(token);
      this.#isLeaving = this.#options.signals;
      this.#log("warn", "Unfinished job returned", { jid: job.context.jid });
    }
    this.#wakeSettler();
    setTimeout(() => this.#giveUp(), GIVE_UP_MS).unref?.();
  }

  /** Ends the worker although the ends of jobs aren't stored. */
  #giveUp() {
    if (this.#done.signal.aborted) return;
    const message = `Stopped before the server stored the ends of ${this.#ended.length} jobs: they run again`;
    if (this.#isLeaving) {
      this.#log("error", message);
      process.exit(1);
    }
    this.#failure = new JobsError(message, { code: "unreachable" });
    this.#done.abort();
  }

  #checkDone() {
    if (!this.#stop.signal.aborted || this.#running.size > 0 || this.#ended.length > 0) return;
    this.#done.abort();
    this.#wakeSettler();
  }
}

const WORK_OPTIONS = ["url", "token", "handlers", "concurrency", "queues", "labels"]
  .concat(["shutdownTimeoutMs", "log", "logLevel", "fetch", "signal", "signals"]);

/** Of what a worker logs, in order. */
const LEVELS = ["debug", "info", "warn", "error", "off"];

/** The line of an attempt that ends in this way. */
const ENDS = {
  failed: ["warn", "Failed"],
  kill: ["error", "Failed for good"],
  discard: ["info", "Discarded"],
  snooze: ["info", "Snoozed"],
};

/** Returns whether lines of a level are logged; also if the least level is unknown. */
function isLogged(level, least) {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(least);
}

/** Resolves after this turn of the event loop: jobs that end in it share a request for the next ones, and one with their outcomes. */
function restOfTurn() {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Refuses an option that would have no effect. */
function refuseUnknown(unknown, where, known) {
  const [name] = Object.keys(unknown);
  if (name === undefined) return;
  const [closest] = known.map((one) => [distance(one, name), one]).sort(([a], [b]) => a - b);
  const cure = closest[0] <= Math.max(1, name.length / 3)
    ? `did you mean "${closest[1]}"?`
    : `expected ${known.join(", ")}`;
  throw new TypeError(`Unknown option "${name.slice(0, MAX_SHOWN_CHARS)}" of ${where}: ${cure}`);
}

/** Returns how many letters differ, without regard to case. */
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (const [i, a] of [...one.toLowerCase()].entries()) {
    const next = [i + 1];
    for (const [j, b] of [...other.toLowerCase()].entries()) {
      next.push(Math.min(row[j] + (a === b ? 0 : 1), row[j + 1] + 1, next[j] + 1));
    }
    row = next;
  }
  return row.at(-1);
}

/** Returns the options of a class as JSON: a schema of a library as its JSON Schema. */
function declared(name, { schema, ...given }) {
  const options = checked(defined(given), name);
  if (schema === undefined) return options;
  return { ...options, schema: Array.isArray(schema) ? schema.map(jsonSchema) : jsonSchema(schema) };

  function jsonSchema(one) {
    if (one?.["~standard"] === undefined) return one;
    const made = one["~standard"].jsonSchema?.input({ target: "draft-2020-12" }) ??
      one.toJSONSchema?.({ io: "input" }) ??
      one.toJsonSchema?.();
    if (made !== undefined) return made;
    throw new TypeError(`The schema of handler "${name}" has no JSON Schema: expected one of a library that makes it`);
  }
}

/** Chunks of a stream are sent at most this often, unless there are many. */
const STREAM_MS = 100;
const MAX_CHUNKS = 500;
/** A stream that has this many characters to send lets its handler wait. */
const FULL_CHARS = 250_000;
/** A chunk has at most this many characters of JSON. */
const MAX_CHUNK_CHARS = 65_536;

/** The stream of one attempt: `ctx.stream`. Chunks gather while a request is on its way. */
class Stream {
  #send;
  #log;
  #texts = [];
  #chars = 0;
  /** How many chunks were sent. */
  #from = 0;
  #sending;
  #isClosed = false;
  #hurry = () => {};

  constructor(send, log) {
    this.#send = send;
    this.#log = log;
  }

  /** Resolves when there is room for the next chunk. */
  async write(chunk) {
    const text = JSON.stringify(checked(chunk, "The chunk"));
    if (text.length > MAX_CHUNK_CHARS) {
      throw new TypeError(`Chunk too large: expected at most ${MAX_CHUNK_CHARS} characters`);
    }
    if (this.#isClosed) throw new TypeError("A chunk comes after its handler has ended; await what writes it");
    this.#texts.push(text);
    this.#chars += text.length;
    this.#sending ??= this.#sendAll().finally(() => this.#sending = undefined);
    if (this.#chars >= FULL_CHARS) await this.#sending;
  }

  /** Sends the rest. */
  async finish() {
    this.#isClosed = true;
    this.#hurry();
    await this.#sending;
  }

  async #sendAll() {
    await undefined;
    while (this.#texts.length > 0) {
      let chars = 0;
      const end = this.#texts.findIndex((text, i) => i === MAX_CHUNKS || (chars += text.length) > FULL_CHARS && i > 0);
      const texts = this.#texts.splice(0, end < 0 ? this.#texts.length : end);
      this.#chars = this.#texts.reduce((sum, { length }) => sum + length, 0);
      try {
        await this.#send({ from: this.#from, chunks: texts.map((text) => JSON.parse(text)) });
      } catch (error) {
        // The job is no longer this worker's, or must end.
        if (error.field !== "token" && error instanceof JobsError) {
          this.#log.warn(`Chunks not streamed: ${error.message}`);
        }
        this.#texts = [];
        return;
      }
      this.#from += texts.length;
      if (this.#isClosed || this.#texts.length >= MAX_CHUNKS) continue;
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, STREAM_MS);
        this.#hurry = () => (clearTimeout(timer), resolve());
      });
    }
  }
}

/** A loop stores its cursor at most this often. */
const CURSOR_MS = 1_000;

/** The durable steps of one attempt, and the other uses of its context. The server decides what runs. */
class Steps {
  #send;
  #signal;
  #calls = 0;

  constructor(send, signal) {
    this.#send = send;
    this.#signal = signal;
  }

  methods({ batch, node }) {
    const member = async (name, args = [], options = {}) => {
      checkArgs(args, "args");
      return await this.#use(checked({ kind: "member", class: name, args, options: optionsOf(options) }, ""));
    };
    return {
      step: (name, run, options) => this.#useStep({ kind: "step", name, options }, run),
      sleep: (name, duration) => this.#useStep({ kind: "sleep", name, duration }),
      waitFor: (name, options) => this.#useStep({ kind: "wait", name, options }),
      run: (name, child, args = [], options = {}) =>
        this.#useStep({ kind: "child", name, class: child, args, options }),
      each: (...args) => this.#each(...args),
      batch: batch === undefined ? undefined : { id: batch, add: member },
      flow: node === undefined
        ? undefined
        : { id: batch, node, results: (nodes) => this.#use({ kind: "results", ...(nodes && { nodes }) }) },
    };
  }

  /** Sends a request for a step. One that JSON can't hold is misuse of the step. */
  async #useStep({ options, ...given }, part) {
    if (given.kind === "step" && typeof part !== "function") {
      throw new StepError(`Step "${given.name}" has no function to run: expected a function, got ${show(part)}`);
    }
    const request = asStep(() => {
      if ("args" in given) checkArgs(given.args, "args");
      return checked({ ...defined(given), ...(options !== undefined && { options: optionsOf(options) }) }, "");
    });
    return await this.#use(request, part);
  }

  /** Sends a request. If the server asks for the program's part of a step, runs it, and sends its result. */
  async #use(request, part) {
    const body = { call: ++this.#calls, ...request };
    let answer = await this.#ask(body);
    let thrown;
    if (answer.run) {
      let result;
      try {
        const value = await this.#runPart(answer.run, part);
        if (value !== undefined) asStep(() => checked(value, `The result of step "${request.name}"`));
        result = { end: "succeeded", ...(value !== undefined && { result: value }) };
      } catch (error) {
        thrown = error;
        result = outcomeOf(error);
      }
      answer = await this.#ask({ ...body, result });
    }
    if (answer.done) return answer.done.value;
    if (!answer.failed) throw new AttemptEnded();
    const { class: name, message, final } = answer.failed;
    if (final) {
      throw Object.assign(new StepFailed(message), { name, cause: thrown });
    }
    if (thrown === undefined) throw new StepError(message, { kind: name });
    throw thrown?.name === name ? thrown : Object.assign(new Error(message), { name, cause: thrown });
  }

  async #ask(body) {
    try {
      return await this.#send(body);
    } catch (error) {
      // The job is no longer this worker's, or must end.
      if (error.field === "token" && error.status === 409) return { ends: true };
      throw error;
    }
  }

  async #runPart({ timeoutMs, attempt, idempotencyKey }, part) {
    const limit = new AbortController();
    const late = Object.assign(new Error(`The step has not ended within ${timeoutMs} ms`), { name: "Timeout" });
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => limit.abort(late), timeoutMs);
    const signal = anySignal([this.#signal, limit.signal]);
    let leave;
    const aborted = new Promise((_, reject) => signal.addEventListener("abort", leave = () => reject(signal.reason)));
    try {
      return await Promise.race([part({ attempt, idempotencyKey, signal }), aborted]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
    }
  }

  async #each(name, source, run, { cursor } = {}) {
    let after = await this.#useStep({ kind: "cursor", name });
    let count = 0;
    let stored = { count, at: performance.now() };
    const store = async () => {
      if (count === stored.count) return;
      stored = { count, at: performance.now() };
      await this.#useStep({ kind: "cursor", name, cursor: after });
    };
    try {
      for await (const item of await source(after)) {
        await run(item);
        count++;
        after = cursor ? cursor(item) : (after ?? 0) + 1;
        if (performance.now() - stored.at >= CURSOR_MS) await store();
        this.#signal.throwIfAborted();
      }
    } catch (error) {
      if (!(error instanceof AttemptEnded)) await store();
      throw error;
    }
    await store();
    return count;
  }
}

/** Codes of replies that aren't the API's. Once a worker has registered, a proxy in between sends them, which passes. */
const FOREIGN = new Set(["redirected", "invalid_reply", "unavailable"]);

/** Whether the server doesn't know the worker, also when it has just registered: the server may have been replaced again. */
function isUnknownWorker({ status, field }) {
  return status === 404 && field === "worker";
}

/** Whether a reply is complete, by the path of its request. */
const EXPECTED = {
  "/work/register": ({ worker, running }) => typeof worker === "string" && Array.isArray(running),
  "/work/take": ({ jobs }) => Array.isArray(jobs),
  "/work/settle": ({ lost }) => Array.isArray(lost),
  "/work/heartbeat": ({ aborted, lost }) => Array.isArray(aborted) && Array.isArray(lost),
};

function refusedOutcome({ token }, { message }) {
  return { token, end: "failed", error: { class: "JobsError", message: `The server refused its end: ${message}` } };
}

/** Returns a value of a log line, or of a cause. */
function fieldText(value) {
  try {
    const text = typeof value === "number" ? undefined : JSON.stringify(value);
    return (text ?? String(value)).slice(0, MAX_SHOWN_CHARS);
  } catch {
    return typeof value;
  }
}

/** Returns the fields of a log line as values that JSON can hold; undefined if there are none. */
function fieldsOf(fields) {
  if (fields === undefined || fields === null) return undefined;
  const given = fields instanceof Error
    ? { error: `${fields}` }
    : typeof fields === "object"
    ? fields
    : { value: fields };
  const entries = Object.entries(given).filter(([, value]) => value !== undefined).slice(0, MAX_FIELDS);
  return Object.fromEntries(entries.map(([name, value]) => [
    name.slice(0, MAX_SHOWN_CHARS),
    typeof value === "boolean" || Number.isFinite(value)
      ? value
      : (typeof value === "string" ? value.slice(0, MAX_LINE_CHARS) : fieldText(value)),
  ]));
}

/** Returns what a job has reported since the last request. */
function reportOf({ token, progress, lines }) {
  return { token, ...(progress && { progress }), ...(lines.length > 0 && { log: lines.splice(0) }) };
}

/** Returns the reports of jobs. Lines that are too many for one request wait for the next heartbeat. */
function reportsOf(jobs) {
  let chars = 0;
  return Array.from(jobs, (job) => {
    if (chars > MAX_REQUEST_CHARS / 2) return { token: job.token };
    const report = reportOf(job);
    if (report.log) chars += JSON.stringify(report).length;
    return report;
  });
}

/** Returns the first outcomes that fit into one request; at least one. */
function fitting(outcomes) {
  let chars = 0;
  const count = outcomes.findIndex((outcome) => (chars += JSON.stringify(outcome).length) > MAX_REQUEST_CHARS);
  return count < 0 ? outcomes : outcomes.slice(0, Math.max(1, count));
}

function outcomeOf(error) {
  const verdict = readSafely(() => error instanceof Error && error[VERDICT]);
  if (verdict === "snooze") return { end: "snooze", in: error.delay };
  const known = readSafely(() => error?.name);
  const name = typeof known === "string" && known !== "" ? known : "Error";
  const message = messageOf(error);
  const causes = causesOf(error);
  return {
    end: verdict === "discard" || verdict === "kill" ? verdict : "failed",
    error: {
      ...{ class: name, message: message.slice(0, MAX_TEXT_CHARS), stack: stackOf(error) },
      ...(causes.length > 0 && { causes }),
    },
  };
}

/** Returns what a function reads of a thrown value, which may be an object whose members throw; undefined if it does. */
function readSafely(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function messageOf(error) {
  return readSafely(() => String(error?.message ?? error)) ?? "(its message cannot be read)";
}

function stackOf(error) {
  const stack = readSafely(() => error?.stack);
  if (typeof stack !== "string") return [];
  return stack.split("\n").slice(1, 50).map((line) => line.trim().slice(0, MAX_LINE_CHARS));
}

/** Returns the causes of an error, one line each. */
function causesOf(error) {
  const lines = [];
  const causeOf = (one) => readSafely(() => one?.cause);
  for (let cause = causeOf(error); (cause ?? null) !== null && lines.length < MAX_CAUSES; cause = causeOf(cause)) {
    const name = readSafely(() => cause.name);
    const message = (readSafely(() => cause.message) ?? null) === null ? fieldText(cause) : messageOf(cause);
    lines.push(`caused by ${typeof name === "string" ? `${name}: ` : ""}${message}`.slice(0, MAX_CAUSE_CHARS));
  }
  return lines;
}

function runtimeName() {
  if (globalThis.Bun) return `bun ${globalThis.Bun.version}`;
  if (globalThis.Deno) return `deno ${globalThis.Deno.version.deno}`;
  return `node ${process.versions.node}`;
}

/** Writes a line of the worker to stderr. */
function logLine(level, message, fields = {}) {
  const line = { ts: new Date().toISOString(), level, name: "worker", msg: message };
  console.error(JSON.stringify(Object.assign({ ts: "", level, name: "", msg: "" }, fields, line)));
}
