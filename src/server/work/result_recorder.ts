/**
 * Records: what is kept of jobs that have ended, and for how long.
 *
 * A job that returns nothing is remembered too, while there are not too many of them: somebody who looks after one job
 * finds it, and a server that does tens of thousands a second does not write as many records. One that says `result_ttl`
 * itself, or by its class, is always remembered, and so is every one where `retention.done` is set.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Settings } from "../../config/settings.ts";
import type { JobContext } from "../../handlers/context.ts";
import type { Registry } from "../../handlers/registry.ts";
import { endedText, type EndState } from "../../job/result.ts";
import { describeError } from "../../job/errors.ts";
import type { Job } from "../../job/job.ts";
import { stringifyLossless } from "../../job/json.ts";
import { retentionMs } from "../../job/time.ts";
import type { NewRecord } from "../../store/port/results.ts";
import type { Outcome } from "../../store/port/jobs.ts";
import { TokenBucket } from "./token_bucket.ts";

/** A larger payload is not kept with the record. */
const MAX_PAYLOAD = 16 * 1024;
/** Lines of a failure's stack that are kept. */
const STACK_LINES = 20;
/** Of jobs that return nothing, so many a second are remembered; a thousand at once after a quiet time. */
const NOTHING_PER_SECOND = 100;
const NOTHING_AT_ONCE = 1_000;

/** Makes records. */
export class ResultRecorder {
  readonly #clock: Clock;
  readonly #settings: Settings;
  readonly #registry: Registry;
  readonly #owner: string;
  readonly #nothings: TokenBucket;

  constructor(options: { clock: Clock; settings: Settings; registry: Registry; owner: string }) {
    this.#clock = options.clock;
    this.#settings = options.settings;
    this.#registry = options.registry;
    this.#owner = options.owner;
    const { clock } = options;
    this.#nothings = new TokenBucket({ clock, perSecond: NOTHING_PER_SECOND, most: NOTHING_AT_ONCE });
  }

  /** Of a job that is done; undefined when nothing is kept. */
  done(context: JobContext, result: unknown, since: number): { readonly record: NewRecord } | undefined {
    const asked = this.#asked(context.payload.result_ttl, context.class, "result_ttl");
    const { succeededTtlMs, resultTtlMs } = this.#settings;
    const usual = () => result !== undefined || (resultTtlMs > 0 && this.#nothings.take()) ? resultTtlMs : 0;
    const ttlMs = Math.max(succeededTtlMs, asked ?? (succeededTtlMs >= resultTtlMs ? 0 : usual()));
    if (!(ttlMs > 0)) return undefined;
    return this.#record(context, ttlMs, { state: "done", since, ...this.#shown(result) });
  }

  /** Adds the record to what a job's failure, or its cancellation, came to; a job that goes on has none. */
  failed<Any extends Outcome>(outcome: Any, context: JobContext, error: unknown, since: number): Any {
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

  /** Adds the record to what became of a job whose worker died: when that run began and ended is not known. */
  died<Any extends Outcome>(outcome: Any, context: JobContext, error: Error, worker: string): Any {
    const state = STATES[outcome.kind];
    const ttlMs = this.#failureTtl(context.payload.failure_ttl, context.class);
    if (state === undefined || !(ttlMs > 0)) return outcome;
    const { jid, queue, attempt } = context;
    const { class: name, message } = describeError(error);
    const body = endedText({
      jid,
      class: context.class,
      queue,
      state,
      error: { class: name, message },
      attempt,
      ended_at: this.#clock.now(),
      process: worker,
      ...payloadOf(context.raw, context.payload),
    });
    return { ...outcome, record: { jid, ttlMs, body } };
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
      this.#settings.succeededTtlMs,
      this.#asked(asked, className, "failure_ttl") ?? this.#settings.failureTtlMs,
    );
  }

  /** What the push, else the class, says; in milliseconds, Infinity for as long as there is room. */
  #asked(pushed: unknown, className: string, name: "result_ttl" | "failure_ttl"): number | undefined {
    return retentionMs(pushed) ?? retentionMs(this.#registry.get(className)?.options[name]);
  }
}

const STATES: Readonly<Partial<Record<Outcome["kind"], EndState>>> = {
  ack: "cancelled",
  discard: "failed",
  bury: "dead",
};

function payloadOf(raw: string, payload: Readonly<Record<string, unknown>>) {
  return raw.length <= MAX_PAYLOAD ? { payload } : {};
}
