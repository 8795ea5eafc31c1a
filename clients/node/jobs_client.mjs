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
     * `invalid`, `conflict` (a unique lock, a throttle or a batch refuses the job), `forbidden`, `rate_limited`, `unavailable`,
     * `unreachable`, `redirected` (the URL is wrong), `invalid_reply` (the server isn't the API of jobs), …
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
/** The part of an unexpected reply that an error shows. */
const MAX_SHOWN_CHARS = 100;
/** Statuses after which a request is repeated: the API is busy, or a proxy in front of it can't reach it. */
const TRANSIENT = new Set([408, 429, 500, 502, 503, 504]);

/** Pushes jobs over HTTP. */
export class JobsClient {
  #url;
  #headers;
  #timeoutMs;
  #retries;
  #fetch;
  /** Warnings that were emitted. */
  #warned = new Set();

  /** @param {{ url: string, token?: string, timeoutMs?: number, retries?: number, fetch?: typeof fetch }} options */
  constructor({ url, token, timeoutMs = 10_000, retries = 4, fetch = globalThis.fetch }) {
    if (!/^https?:\/\//i.test(url)) {
      throw new TypeError(`Invalid url "${url}": expected the dashboard's address, such as https://jobs.example.com`);
    }
    this.#url = `${String(url).replace(/\/+$/, "")}/api/v1`;
    this.#headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
    this.#timeoutMs = timeoutMs;
    this.#retries = retries;
    this.#fetch = fetch;
  }

  /** Pushes one job. Throws a JobsError with the code `conflict` if its unique lock, throttle or batch refuses it. */
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
    for await (const job of jobs) {
      if (batch.push(requestOf(job)) < MAX_BATCH) continue;
      yield* await this.#pushBatch(batch);
      batch = [];
    }
    if (batch.length > 0) yield* await this.#pushBatch(batch);
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

  async #pushBatch(batch) {
    const isComplete = ({ results }) =>
      Array.isArray(results) && results.length === batch.length && results.every(isResult);
    return (await this.#pushOnce(JSON.stringify(batch), crypto.randomUUID(), isComplete)).results;
  }

  /** Sends a push. Emits each warning of its response once, for example that no worker has registered the class. */
  async #pushOnce(body, key, isExpected) {
    const answer = await this.#send("POST", "/jobs", body, key, isExpected);
    for (const warning of Array.isArray(answer.warnings) ? answer.warnings : []) {
      if (typeof warning !== "string" || this.#warned.has(warning)) continue;
      this.#warned.add(warning);
      process.emitWarning(warning, "JobsWarning");
    }
    return answer;
  }

  /** Sends a request, and repeats it after a temporary failure. No attempt begins after the deadline. */
  async #send(method, path, body, key, isExpected, { extraMs = 0, signal, deadline = Infinity } = {}) {
    for (let attempt = 0;; attempt++) {
      let error;
      try {
        return await this.#sendOnce(method, path, body, key, isExpected, extraMs, signal);
      } catch (thrown) {
        signal?.throwIfAborted();
        error = thrown;
      }
      // A reply that was cut off may be complete the next time.
      const isTransient = error.status === undefined || TRANSIENT.has(error.status) || error.isCut;
      const delayMs = error.retryAfterMs ?? Math.min(5_000, 100 * 2 ** attempt) * (0.5 + Math.random() / 2);
      if (!isTransient || attempt >= this.#retries || performance.now() + delayMs >= deadline) throw error;
      await pause(delayMs, signal);
    }
  }

  async #sendOnce(method, path, body, key, isExpected, extraMs, signal) {
    const timeout = AbortSignal.timeout(Math.ceil(this.#timeoutMs + extraMs));
    const headers = { ...this.#headers, ...(key !== undefined && { "idempotency-key": key }) };
    let response;
    let text;
    try {
      const signals = signal ? anySignal([signal, timeout]) : timeout;
      // A followed redirect turns a push into a GET, and may hand the token to another host.
      response = await this.#fetch(this.#url + path, { method, headers, body, signal: signals, redirect: "manual" });
      text = await response.text();
    } catch (cause) {
      throw new JobsError(`Can't reach ${this.#url}: ${cause?.cause?.message ?? cause?.message}`, {
        code: "unreachable",
        cause,
      });
    }
    const isRedirect = response.status >= 300 && response.status < 400;
    if (isRedirect || response.redirected || response.type === "opaqueredirect") {
      throw redirected(this.#url, path, response);
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
          `${this.#url} answered ${response.status} with ${shown}: expected a reply of the API of jobs, check the URL`,
          { code: "invalid_reply", status: response.status },
        ),
        { isCut },
      );
    }
    const { code, message, field } = isObject(value) && isObject(value.error) ? value.error : {};
    const isOurs = typeof code === "string" && typeof message === "string";
    const error = isOurs
      ? new JobsError(message, { code, status: response.status, field })
      : new JobsError(`${response.status} ${response.statusText}`, { code: "unavailable", status: response.status });
    const retryAfter = Number(response.headers.get("retry-after"));
    if (retryAfter > 0) error.retryAfterMs = Math.min(60_000, retryAfter * 1_000);
    throw error;
  }
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

function hasFinished({ finished }) {
  return finished === null || isObject(finished);
}

/** Returns a job as the API takes it: a Date becomes text. */
function requestOf(job) {
  return job?.at instanceof Date ? { ...job, at: job.at.toISOString() } : job;
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
