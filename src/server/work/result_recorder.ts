/**
 * The result recorder: creates the records of ended jobs, and decides how long they are kept.
 *
 * Records of jobs that return nothing are limited per second. A user finds a single job, and tens of thousands of jobs/s don't
 * cost as many records. A job whose push or class has a `result_ttl` always has a record, and so does every job if
 * `retention.succeeded` is set.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Settings } from "../../config/settings.ts";
import { keptLine } from "../../handlers/kept_line.ts";
import type { Registry } from "../../handlers/registry.ts";
import type { RunningJob } from "../../handlers/running_job.ts";
import { describeError } from "../../job/describe_error.ts";
import type { Job } from "../../job/job.ts";
import { isTooDeep } from "../../job/performable.ts";
import { endedText, type EndState } from "../../job/result.ts";
import type { Returned } from "../../job/returned.ts";
import { progressText } from "../../job/progress.ts";
import { setFields } from "../../job/raw.ts";
import { retentionMs } from "../../job/time.ts";
import type { Log } from "../../log/log.ts";
import type { AttemptEnd } from "../../store/ops/outcome.ts";
import type { NewRecord } from "../../store/port/results.ts";

/** Records don't include payloads longer than this, in characters. */
const MAX_PAYLOAD_LENGTH = 16 * 1024;
/** A record has at most this many lines of an error's stack. */
const MAX_STACK_LINES = 20;
/** The limits for records of jobs that return nothing: per second, and at once after a pause. */
const EMPTY_RECORDS_PER_SECOND = 100;
const MAX_EMPTY_RECORDS_AT_ONCE = 1_000;

export interface ResultRecorderOptions {
  readonly clock: Clock;
  readonly settings: Settings;
  readonly registry: Registry;
  readonly log: Log;
  readonly worker: string;
}

export interface Ended {
  /** When the attempt began, on the monotonic clock. */
  readonly since: number;
  /** The steps of the job, as JSON; undefined if it has none. */
  readonly steps: string | undefined;
}

export class ResultRecorder {
  readonly #options: ResultRecorderOptions;
  readonly #emptyRecords: TokenBucket;

  constructor(options: ResultRecorderOptions) {
    this.#options = options;
    this.#emptyRecords = new TokenBucket({
      clock: options.clock,
      perSecond: EMPTY_RECORDS_PER_SECOND,
      capacity: MAX_EMPTY_RECORDS_AT_ONCE,
    });
  }

  /** Returns the record of a job that has succeeded; undefined if none is kept. */
  succeeded(job: RunningJob, returned: Returned, { since, steps }: Ended): NewRecord | undefined {
    const { succeededTtlMs, resultTtlMs } = this.#options.settings;
    const ttl = this.#ttlOption(job.job.payload.result_ttl, job.class, "result_ttl");
    const isEmpty = returned.text === undefined && returned.problem === undefined;
    const defaultTtlMs = () => !isEmpty || (resultTtlMs > 0 && this.#emptyRecords.take()) ? resultTtlMs : 0;
    const ttlMs = Math.max(succeededTtlMs, ttl ?? (succeededTtlMs >= resultTtlMs ? 0 : defaultTtlMs()));
    if (!(ttlMs > 0)) return undefined;
    const { result, resultDropped } = this.#storable(returned);
    return this.#record(job, ttlMs, {
      state: "succeeded",
      since,
      ...(resultDropped !== undefined && { resultDropped }),
    }, { result, steps });
  }

  /** Returns the result that the nodes after this one can read, as JSON; undefined if there is none, or it can't be stored. */
  ofNode(job: RunningJob, returned: Returned): string | undefined {
    const { result, resultDropped } = this.#storable(returned);
    const reason = returned.problem ?? resultDropped;
    if (reason !== undefined) {
      const { jid, class: name } = job;
      this.#options.log.warn("Result not kept: later nodes of the flow can't read it", {
        class: name,
        jid,
        reason,
      });
    }
    return reason === undefined ? result : undefined;
  }

  /** Returns the record of a job that has failed or was cancelled; undefined if it runs again, or none is kept. */
  failed(end: AttemptEnd, job: RunningJob, error: unknown, { since, steps }: Ended): NewRecord | undefined {
    const state = STATES[end.kind];
    const ttlMs = this.#failureTtl(job.job);
    if (state === undefined || !(ttlMs > 0)) return undefined;
    if (state === "cancelled") return this.#record(job, ttlMs, { state, since }, { steps });
    const { class: name, message, causes, stack } = describeError(error);
    const lines = stack.slice(0, MAX_STACK_LINES);
    const shown = { class: name, message, ...(causes.length > 0 && { causes }), stack: lines };
    return this.#record(job, ttlMs, { state, since, error: shown }, { steps });
  }

  /** Returns the record of a job whose worker has died, as `failed` does. The times of that attempt are unknown. */
  died(
    end: AttemptEnd,
    job: RunningJob,
    error: Error,
    { worker, steps }: { readonly worker: string; readonly steps: string | undefined },
  ): NewRecord | undefined {
    const state = STATES[end.kind];
    const ttlMs = this.#failureTtl(job.job);
    if (state === undefined || !(ttlMs > 0)) return undefined;
    const { jid, queue, attempt } = job;
    const { class: name, message } = describeError(error);
    const body = endedText({
      jid,
      class: job.class,
      queue,
      state,
      error: { class: name, message },
      attempt,
      endedAt: this.#options.clock.now(),
      worker,
    }, { steps, ...payloadOf(job.job) });
    return { jid, ttlMs, body };
  }

  /** Returns the record of a job that has never started; undefined if none is kept. */
  unstarted(
    job: Job,
    queue: string,
    state: "cancelled" | "expired",
    steps: string | undefined,
  ): NewRecord | undefined {
    const ttlMs = this.#failureTtl(job);
    if (!(ttlMs > 0)) return undefined;
    const { jid } = job;
    const endedAt = this.#options.clock.now();
    const body = endedText({ jid, class: job.class, queue, state, endedAt }, { steps, ...payloadOf(job) });
    return { jid, ttlMs, body };
  }

  #record(
    job: RunningJob,
    ttlMs: number,
    { state, since, ...more }: {
      state: EndState;
      since: number;
      resultDropped?: string;
      error?: { class: string; message: string };
    },
    parts: { readonly result?: string | undefined; readonly steps: string | undefined },
  ): NewRecord {
    const { clock, worker } = this.#options;
    const { jid, queue, attempt, progress, lastLine, output } = job;
    const log = ownLines(job.lastLines, output);
    const elapsed = clock.monotonic() - since;
    const endedAt = clock.now();
    const body = endedText({
      jid,
      class: job.class,
      queue,
      state,
      ...more,
      attempt,
      startedAt: Math.round(endedAt - elapsed),
      endedAt,
      elapsedMs: Math.round(elapsed),
      worker,
      ...(progress && { progress: progressText(progress) }),
      ...(lastLine !== undefined && { lastLine }),
      ...(log !== undefined && { log }),
      ...(output !== undefined && { output }),
    }, { ...parts, ...payloadOf(job.job) });
    return { jid, ttlMs, body };
  }

  /** Returns the result if it can be stored; otherwise the reason why not. */
  #storable({ text, problem }: Returned): { result?: string; resultDropped?: string } {
    const { maxResultBytes } = this.#options.settings;
    if (text === undefined) return problem === undefined ? {} : { resultDropped: problem };
    return text.length <= maxResultBytes
      ? { result: text }
      : { resultDropped: `${text.length} characters; at most ${maxResultBytes} are kept` };
  }

  #failureTtl({ class: name, payload }: Job): number {
    const { succeededTtlMs, failureTtlMs } = this.#options.settings;
    return Math.max(succeededTtlMs, this.#ttlOption(payload.failure_ttl, name, "failure_ttl") ?? failureTtlMs);
  }

  /** Returns the option of the push, or else of the class, in milliseconds; Infinity to keep while there is room. */
  #ttlOption(pushed: unknown, className: string, name: "result_ttl" | "failure_ttl"): number | undefined {
    return retentionMs(pushed) ?? retentionMs(this.#options.registry.get(className)?.options[name]);
  }
}

const STATES: Readonly<Partial<Record<AttemptEnd["kind"], EndState>>> = {
  ack: "cancelled",
  discard: "failed",
  bury: "dead",
};

/** Returns the log lines that aren't in the output: what a program prints on stderr is in both. */
function ownLines(
  lines: readonly string[] | undefined,
  output: readonly string[] | undefined,
): readonly string[] | undefined {
  if (lines === undefined || output === undefined) return lines;
  const printed = new Set(output.map((line) => keptLine("info", line, {}, undefined)));
  const own = lines.filter((line) => !printed.has(line));
  return own.length === 0 ? undefined : own;
}

function payloadOf({ raw }: Job): { readonly payload?: string } {
  // The output of an earlier attempt is long, and the record has that of the last one.
  const payload = raw.includes('"error_output"') ? setFields(raw, { error_output: undefined }) : raw;
  // As text: writing a payload that is nested too deeply throws.
  return payload.length <= MAX_PAYLOAD_LENGTH && !isTooDeep(payload) ? { payload } : {};
}

interface TokenBucketOptions {
  readonly clock: Clock;
  /** Tokens added per second. */
  readonly perSecond: number;
  /** Tokens in a full bucket. It is full at first. */
  readonly capacity: number;
}

/** A token bucket: limits a rate, and allows bursts. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  #tokens: number;
  #filledAt: number;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#tokens = options.capacity;
    this.#filledAt = options.clock.monotonic();
  }

  /** Takes a token. Returns false if the bucket is empty. */
  take(): boolean {
    const { clock, perSecond, capacity } = this.#options;
    const now = clock.monotonic();
    this.#tokens = Math.min(capacity, this.#tokens + (now - this.#filledAt) / 1_000 * perSecond);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}
