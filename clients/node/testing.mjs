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
/** The retries of a job without the option. */
const DEFAULT_RETRIES = 25;
/** A worker here sends no second heartbeat. */
const NEVER_MS = 1e9;

/** Handlers under test. */
export class FakeJobs {
  /** The jobs that were pushed and not performed, oldest first. */
  pushed = [];
  /** The batches that were opened: `{ id, options, state, total, pending, dead }`. */
  batches = [];
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
    const performed = { jid, class: payload.wrapped ?? className, ...(options.batch && { batch: options.batch }) };
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
        return this.#step(request, steps, options.batch);
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

  /**
   * Performs the pushed jobs, those that they push, and the callbacks of their batches. Throws at the first that fails, or after `max` jobs.
   *
   * With `retries`, a job that fails is performed again by its option `retry`, without a delay, and then is dead.
   */
  async drain({ max = 1_000, retries = false } = {}) {
    const ended = [];
    while (this.#callBack()) {
      if (ended.length === max) throw new Error(`More than ${max} jobs: do they push each other? Expected an end`);
      const job = this.pushed.shift();
      const { class: name, args, attempt = 1, ...options } = job;
      let one = await this.perform(name, args, { attempt, ...options });
      const isAgain = retries && one.state === "failed" && attempt <= this.#retriesOf(job);
      if (isAgain) this.pushed.push({ ...job, attempt: attempt + 1 });
      else if (retries && one.state === "failed") one = { ...one, state: "dead" };
      if (!retries && (one.state === "failed" || one.state === "dead")) {
        throw new Error(`Job of class "${name}" ended as ${one.state}: ${one.error.class}: ${one.error.message}`);
      }
      ended.push(one);
      if (!isAgain) this.#count(options.batch, one.state);
    }
    return ended;
  }

  #retriesOf({ class: name, retry = this.#handlers[name]?.options?.retry ?? true }) {
    return retry === true ? DEFAULT_RETRIES : Number(retry);
  }

  #count(id, state) {
    const batch = this.batches.find((one) => one.id === id);
    if (batch === undefined) return;
    batch.pending--;
    if (state === "dead" && batch.dead++ === 0) this.#callBackOf(batch, "death");
  }

  /** Pushes the callbacks that are due. Returns whether there are jobs. */
  #callBack() {
    for (const batch of this.batches) {
      if (batch.state !== "closed" || batch.pending > 0) continue;
      batch.state = "ended";
      this.#callBackOf(batch, "complete");
      if (batch.dead === 0) this.#callBackOf(batch, "success");
    }
    return this.pushed.length > 0;
  }

  #callBackOf({ options }, event) {
    if (options[event]) this.#store(options[event]);
  }

  async #step(request, steps, batch) {
    const { kind, name, each, call, options = {}, result, class: child, args, duration, cursor } = request;
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
      return {
        failed: {
          final: true,
          class: "ChildFailed",
          message: ended.error?.message ?? `Its child ended as ${ended.state}`,
        },
      };
    }
    if (kind === "sleep") return done(void duration);
    if (kind === "member") return done(this.#store({ ...options, class: child, args, batch }).jid);
    throw new TypeError(`${kind} isn't part of tests in memory`);
  }

  #nextJid() {
    return `test-${++this.#jids}`;
  }

  #store(job) {
    const jid = job.jid ?? this.#nextJid();
    this.pushed.push({ args: [], ...job, jid });
    const batch = this.batches.find(({ id }) => id === job.batch);
    if (batch) {
      batch.total++;
      batch.pending++;
    }
    return { jid };
  }

  #answer(url, request) {
    const [part, id, verb] = url.split("/api/v1/")[1].split("/").map(decodeURIComponent);
    return reply(() => {
      if (request.method !== "POST") return { finished: null };
      const body = JSON.parse(request.body);
      if (part === "batches") return verb === "close" ? this.#close(id, body) : this.#open(body);
      if (part === "signals") return (this.signal(id, body.data), {});
      if (verb === "cancel") return this.#cancel(id);
      return Array.isArray(body) ? { results: body.map((job) => this.#store(job)) } : this.#store(body);
    }, request);
  }

  #open(options) {
    const id = `batch-${this.batches.length + 1}`;
    this.batches.push({ id, options, state: "open", total: 0, pending: 0, dead: 0 });
    return { id };
  }

  #close(id, { abandon = false }) {
    const batch = this.batches.find((one) => one.id === id);
    batch.state = abandon ? "abandoned" : "closed";
    if (abandon) this.#callBackOf(batch, "abandoned");
    return { closed: true };
  }

  #cancel(jid) {
    const at = this.pushed.findIndex((job) => job.jid === jid);
    if (at < 0) return { status: 404, error: { code: "not_found", message: `Job "${jid}" not found` } };
    const [{ batch }] = this.pushed.splice(at, 1);
    this.#count(batch, "cancelled");
    return { changed: 1 };
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
  return Response.json(value, { status: value.error?.code === "not_found" ? value.status : 200 });
}
