/**
 * Tests handlers without a server: performs jobs in memory by the code of a real worker, and collects what they push.
 *
 * ```js
 * import { FakeJobs } from "jobs-client/testing";
 *
 * const jobs = new FakeJobs({ Report, Mail });
 * const { state, result } = await jobs.perform("Report", ["2026-01"]);
 * assert.deepEqual(jobs.pushed.map((job) => job.class), ["Mail"]);
 * await jobs.drain(); // performs what was pushed
 * ```
 */
import { JobsClient, work } from "./jobs_client.mjs";

const URL = "http://jobs.invalid";
const STATES = { succeeded: "succeeded", failed: "failed", discard: "discarded", kill: "dead", snooze: "snoozed" };
/** A worker here sends no second heartbeat. */
const NEVER_MS = 1e9;

/** Handlers under test. */
export class FakeJobs {
  /** The jobs that were pushed and not performed, oldest first. */
  pushed = [];
  /** Pushes into `pushed`, as a JobsClient: for the code under test. */
  client;
  #handlers;
  #signals = new Map();
  #jids = 0;

  /** @param {Record<string, Function>} handlers functions by class, as those of work() */
  constructor(handlers = {}) {
    this.#handlers = handlers;
    this.client = new JobsClient({ url: URL, fetch: (...request) => this.#answer(...request) });
  }

  /** Lets a later `ctx.waitFor` with this key return the data. Without a signal it returns undefined, as after its timeout. */
  signal(key, data = null) {
    this.#signals.set(key, data);
  }

  /** Performs one job once. Returns how it has ended; never rejects for an error of the handler. */
  async perform(className, args = [], { attempt = 1, ...options } = {}) {
    const jid = options.jid ?? this.#nextJid();
    const payload = { class: className, args, queue: "default", ...options, jid };
    const raw = JSON.stringify(payload);
    const performed = { jid, class: payload.wrapped ?? className };
    const job = { token: jid, payload: raw, queue: payload.queue, attempt, receipt: "", ...performed };
    const stop = new AbortController();
    const steps = new Map();
    const lines = [];
    const streamed = [];
    let [progress, outcome] = [undefined, undefined];
    const report = (reports = []) => {
      for (const one of reports) {
        lines.push(...(one.log ?? []).map(({ message }) => message));
        progress = one.progress ?? progress;
      }
    };
    const gateway = {
      register: () => ({ worker: "test", heartbeatMs: NEVER_MS, timeoutMs: NEVER_MS, running: [] }),
      take: ({ take }) => ({ jobs: take === 1 ? [job] : [] }),
      step: (request) => {
        report([request]);
        return this.#step(request, steps);
      },
      stream: ({ chunks }) => (streamed.push(...chunks), {}),
      settle: ({ outcomes }) => {
        report(outcomes);
        outcome = outcomes[0];
        stop.abort();
        return { lost: [] };
      },
      heartbeat: ({ running }) => {
        report(running);
        return { aborted: [], lost: [], quiet: false, stopping: false };
      },
      deregister: () => ({}),
    };
    const fetch = (url, request) => {
      const name = /\/work\/(\w+)$/.exec(url)?.[1];
      return name ? reply(() => gateway[name](JSON.parse(request.body)), request) : this.#answer(url, request);
    };
    const handlers = { ...this.#handlers };
    await work({
      ...{ url: URL, handlers: { [className]: missing(className), ...handlers }, concurrency: 1, fetch },
      ...{ signal: stop.signal, signals: false, log: () => {} },
    });
    const { end, result, error, in: delay } = outcome;
    return {
      ...{ jid, state: STATES[end], log: lines, progress, streamed },
      ...(result !== undefined && { result }),
      ...(error !== undefined && { error }),
      ...(delay !== undefined && { delay }),
    };
  }

  /** Performs the pushed jobs, and those that they push. Throws at the first that fails, or after `max` jobs. */
  async drain({ max = 1_000 } = {}) {
    const ended = [];
    while (this.pushed.length > 0) {
      if (ended.length === max) throw new Error(`More than ${max} jobs: do they push each other? Expected an end`);
      const { class: name, args, ...options } = this.pushed.shift();
      const one = await this.perform(name, args, options);
      if (one.state === "failed" || one.state === "dead") {
        throw new Error(`Job of class "${name}" ended as ${one.state}: ${one.error.class}: ${one.error.message}`);
      }
      ended.push(one);
    }
    return ended;
  }

  async #step({ kind, name, each, call, options = {}, result, class: child, args, duration, cursor }, steps) {
    const key = JSON.stringify([kind, name, options.each ?? each]);
    const done = (value) => ({ done: value === undefined ? {} : { value } });
    if (kind === "cursor") {
      if (cursor === undefined) return done(steps.get(key));
      steps.set(key, cursor);
      return done();
    }
    if (kind === "step" && result === undefined) return { run: { attempt: 1, idempotencyKey: `test-${call}` } };
    if (kind === "step") {
      return result.end === "succeeded"
        ? done(result.result)
        : { failed: result.error ?? { class: "Error", message: "" } };
    }
    if (kind === "wait") return done(this.#signals.get(options.key));
    if (kind === "child") {
      const ended = await this.perform(child, args, options);
      if (ended.state === "succeeded") return done(ended.result);
      return { failed: { class: "ChildFailed", message: ended.error?.message ?? `Its child ended as ${ended.state}` } };
    }
    if (kind === "sleep") return done(void duration);
    throw new TypeError(`${kind} isn't part of tests in memory`);
  }

  #nextJid() {
    return `test-${++this.#jids}`;
  }

  #store(job) {
    const jid = job.jid ?? this.#nextJid();
    this.pushed.push({ args: [], ...job, jid });
    return { jid };
  }

  #answer(url, request) {
    return reply(() => {
      if (!url.endsWith("/jobs")) return { finished: null };
      const body = JSON.parse(request.body);
      return Array.isArray(body) ? { results: body.map((job) => this.#store(job)) } : this.#store(body);
    }, request);
  }
}

function missing(className) {
  return () => {
    throw new TypeError(`No handler for class "${className}": expected it in new FakeJobs({ ${className} })`);
  };
}

/** Answers a request in memory. One without an answer waits until it is aborted. */
async function reply(answer, { signal }) {
  const value = await answer();
  if (value.jobs?.length === 0) {
    signal.throwIfAborted();
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  }
  return Response.json(value);
}
