/**
 * Records: what is kept of jobs that have ended, and for how long. A job that returns nothing leaves nothing, unless it
 * or its class says `result_ttl`, or finished jobs are kept anyway (`retention.done`).
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { Settings } from "../config.ts";
import type { JobContext } from "../handlers/context.ts";
import type { Registry } from "../handlers/registry.ts";
import { parseDuration } from "../job/duration.ts";
import { endedText, type EndState } from "../job/ended.ts";
import { describeError } from "../job/errors.ts";
import type { Job } from "../job/job.ts";
import { stringifyLossless } from "../job/json.ts";
import type { NewRecord } from "../store/results.ts";
import type { Outcome } from "../store/store.ts";

/** A larger payload is not kept with the record. */
const LARGEST_PAYLOAD = 16 * 1024;
/** Lines of a failure's stack that are kept. */
const STACK_LINES = 20;

/** Makes records. */
export class Records {
  readonly #clock: Clock;
  readonly #settings: Settings;
  readonly #registry: Registry;
  readonly #owner: string;

  constructor(options: { clock: Clock; settings: Settings; registry: Registry; owner: string }) {
    this.#clock = options.clock;
    this.#settings = options.settings;
    this.#registry = options.registry;
    this.#owner = options.owner;
  }

  /** Of a job that is done; undefined when nothing is kept. */
  done(context: JobContext, result: unknown, since: number): { readonly record: NewRecord } | undefined {
    const asked = this.#asked(context.payload.result_ttl, context.class, "result_ttl");
    const { doneTtlMs, resultTtlMs } = this.#settings;
    const ttlMs = Math.max(doneTtlMs, asked ?? (result === undefined ? 0 : resultTtlMs));
    if (!(ttlMs > 0)) return undefined;
    return this.#record(context, ttlMs, { state: "done", since, ...this.#shown(result) });
  }

  /** Adds the record to what a job's failure, or its cancellation, came to; a job that goes on has none. */
  failed(outcome: Outcome, context: JobContext, error: unknown, since: number): Outcome {
    const state = STATES[outcome.kind];
    if (state === undefined) return outcome;
    const { class: name, message, stack } = describeError(error);
    const shown = { class: name, message, stack: stack.slice(0, STACK_LINES) };
    const ttlMs = this.#failureTtl(context.payload.failure_ttl, context.class);
    if (!(ttlMs > 0)) return outcome;
    return {
      ...outcome,
      ...this.#record(context, ttlMs, { state, since, ...(state !== "cancelled" && { error: shown }) }),
    };
  }

  /** Of a job that never started: cancelled while it waited here, or too late. */
  unstarted(job: Job, queue: string, state: "cancelled" | "expired"): { readonly record: NewRecord } | undefined {
    const ttlMs = this.#failureTtl(job.payload.failure_ttl, job.class);
    if (!(ttlMs > 0)) return undefined;
    const { jid } = job;
    const ended_at = this.#clock.now();
    const body = endedText({ jid, class: job.class, queue, state, ended_at, ...payloadOf(job.raw, job.payload) });
    return { record: { jid, ttlMs, body } };
  }

  #record(
    context: JobContext,
    ttlMs: number,
    { state, since, ...more }: {
      state: EndState;
      since: number;
      result?: unknown;
      error?: { class: string; message: string };
    },
  ): { readonly record: NewRecord } {
    const { jid, queue, attempt, lastProgress: progress, lastLine, lastLines } = context;
    const elapsed = this.#clock.monotonic() - since;
    const ended_at = this.#clock.now();
    const body = endedText({
      jid,
      class: context.class,
      queue,
      state,
      ...more,
      attempt,
      started_at: Math.round(ended_at - elapsed),
      ended_at,
      elapsed_ms: Math.round(elapsed),
      process: this.#owner,
      ...(progress && { progress: `${progress.done}${progress.note ? ` ${progress.note}` : ""}` }),
      ...(lastLine !== undefined && { last_line: lastLine }),
      ...(lastLines !== undefined && { log: lastLines }),
      ...payloadOf(context.raw, context.payload),
    });
    return { record: { jid, ttlMs, body } };
  }

  /** The result as it can be kept. */
  #shown(result: unknown): { result?: unknown; result_dropped?: string } {
    if (result === undefined) return {};
    const { maxResultBytes } = this.#settings;
    try {
      const text = stringifyLossless(result);
      if (text === undefined) return { result_dropped: `a ${typeof result} is no JSON` };
      return text.length <= maxResultBytes
        ? { result }
        : { result_dropped: `${text.length} characters; at most ${maxResultBytes} are kept` };
    } catch (error) {
      return { result_dropped: describeError(error).message };
    }
  }

  #failureTtl(asked: unknown, className: string): number {
    return Math.max(
      this.#settings.doneTtlMs,
      this.#asked(asked, className, "failure_ttl") ?? this.#settings.failureTtlMs,
    );
  }

  /** What the push, else the class, says; in milliseconds, -1 for as long as there is room. */
  #asked(pushed: unknown, className: string, name: "result_ttl" | "failure_ttl"): number | undefined {
    return ttlOf(pushed) ?? ttlOf(this.#registry.get(className)?.options[name]);
  }
}

const STATES: Readonly<Partial<Record<Outcome["kind"], EndState>>> = {
  ack: "cancelled",
  discard: "failed",
  bury: "dead",
};

function ttlOf(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (value === -1 || value === "-1") return Infinity;
  try {
    return parseDuration(String(value));
  } catch {
    return undefined;
  }
}

function payloadOf(raw: string, payload: Readonly<Record<string, unknown>>) {
  return raw.length <= LARGEST_PAYLOAD ? { payload } : {};
}
