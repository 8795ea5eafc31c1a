/**
 * The retrier: decides how an attempt ends that has failed. `job/backoff.ts` decides what happens next; the retrier writes the failure
 * into the payload, logs it, and calls the hooks. It runs before the end is stored: if the process dies here, the job
 * runs again.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Settings } from "../../config/settings.ts";
import type { HandlerOptions } from "../../handlers/handler.ts";
import type { Hooks } from "../../handlers/hooks.ts";
import type { Registry } from "../../handlers/registry.ts";
import { type RunningJob, traceFields } from "../../handlers/running_job.ts";
import { MAX_ASIDE_CLASS_CHARS } from "../../job/aside.ts";
import { decide, type Decision, diedBy, type Failure } from "../../job/backoff.ts";
import { describeError } from "../../job/describe_error.ts";
import { failedPayload } from "../../job/failure.ts";
import { markOf } from "../../job/mark.ts";
import { readWireTime, setFields, wireTime } from "../../job/raw.ts";
import { BEGUN_FIELD } from "../../job/time.ts";
import { verdictOf } from "../../job/verdict.ts";
import type { Log, LogFields, LogLevel } from "../../log/log.ts";
import type { AttemptEnd } from "../../store/ops/outcome.ts";
import { callHook } from "../hooks.ts";
import { isCancelled } from "./attempt.ts";
import { logJob } from "./job_log.ts";

/** A retrying job keeps this much of the stack of its last error, unless `backtrace` says otherwise. */
const DEFAULT_STACK_LINES = 10;
/** An async `retryIn` has this long to resolve. */
const MAX_CHOICE_MS = 10_000;
/** Maximum number of classes that are remembered as lacking. */
const MAX_LACKED = 1_000;

export interface RetrierOptions {
  readonly clock: Clock;
  readonly settings: Settings;
  readonly registry: Registry;
  readonly hooks: Hooks;
  readonly log: Log;
  readonly worker: string;
  /** Returns a number from 0 to 1, for the jitter of delays. Default: `Math.random`. */
  readonly random?: () => number;
}

/** The circumstances of a failed attempt. */
export interface FailedAttempt {
  /** When the attempt began, on the monotonic clock. Absent if it ran in another worker. */
  readonly since?: number;
  /** The worker that performed it. Default: this one. */
  readonly worker?: string;
}

export class Retrier {
  readonly #options: RetrierOptions;
  /** Classes of jobs that were put aside. The first one of each is a warning. */
  readonly #lacked = new Set<string>();
  /** The classes whose `retryIn` has returned an invalid value. Logged once for each. */
  readonly #invalidChoices = new Set<string>();

  constructor(options: RetrierOptions) {
    this.#options = options;
  }

  /** Returns how the attempt of a job ends whose handler has thrown. Never rejects. */
  async end(job: RunningJob, error: unknown, attempt: FailedAttempt = {}): Promise<AttemptEnd> {
    if (isCancelled(job)) return this.cancelled(job);
    const { clock, settings, registry, random = Math.random } = this.#options;
    const missing = { error, now: clock.now(), wire: settings.sidekiqWire, random };
    const waiting = waitForHandler(job, missing);
    if (waiting !== undefined) return this.#waits(job, waiting, error);
    const options: HandlerOptions = registry.get(job.class)?.options ?? {};
    const failure: Failure = {
      payload: job.job.payload,
      error,
      options,
      maxRetries: settings.maxRetries,
      now: clock.now(),
      random,
      onOptionError: (optionError) => {
        const { class: errorClass, message } = describeError(optionError);
        this.#reportRetryIn(job.class, `${errorClass}: ${message}`);
      },
      onInvalidChoice: (problem) => {
        if (this.#invalidChoices.has(job.class)) return;
        this.#invalidChoices.add(job.class);
        this.#reportRetryIn(job.class, `It returned ${problem}`);
      },
    };
    const decision = await this.#decide(failure);
    this.#report(job, error, decision);
    if (decision.kind !== "snooze") await this.#callHooks(job, error, decision);
    return this.#endOf(job, failure, { options, decision, attempt });
  }

  /** Returns how the attempt of a job ends that waits for a worker with its class. */
  #waits(job: RunningJob, waiting: WaitEnd, error: unknown): AttemptEnd {
    const { registry, log } = this.#options;
    const fields = () => ({ ...fieldsOf(job), problem: describeError(error).message });
    // An isolated process that lacks the class: this worker takes such jobs.
    if (registry.get(job.class) !== undefined || job.class.length > MAX_ASIDE_CLASS_CHARS) {
      logJob(job, log, "warn", "Waits for a worker with its class", () => ({ ...fields(), delayMs: waiting.delayMs }));
      return waiting;
    }
    const isFirst = !this.#lacked.has(job.class);
    if (this.#lacked.size < MAX_LACKED) this.#lacked.add(job.class);
    logJob(job, log, isFirst ? "warn" : "debug", "Set aside for a worker with its class", fields);
    return { ...waiting, kind: "aside", class: job.class };
  }

  /** Decides, without `retryIn` if it takes too long: its job has ended, so that no timeout would end it. */
  async #decide(failure: Failure): Promise<Decision> {
    const decided = decide(failure);
    if (!(decided instanceof Promise)) return decided;
    const { clock } = this.#options;
    const ended = new AbortController();
    const late = clock.sleep(MAX_CHOICE_MS, ended.signal).then(() => undefined);
    const decision = await Promise.race([decided, late]);
    ended.abort("ended");
    if (decision !== undefined) return decision;
    failure.onOptionError(new Error(`It has not resolved within ${MAX_CHOICE_MS / 1_000} s`));
    return decide({ ...failure, options: { ...failure.options, retryIn: () => undefined } });
  }

  #reportRetryIn(className: string, error: string): void {
    this.#options.log.error("retryIn failed, default backoff used", { class: className, error });
  }

  /** Returns how a cancelled job ends: cancelling isn't a failure. */
  cancelled(job: RunningJob): AttemptEnd {
    logJob(job, this.#options.log, "info", "Cancelled", () => fieldsOf(job));
    return { kind: "ack", as: "cancelled" };
  }

  #endOf(
    { job, queue, output, lastLines }: RunningJob,
    failure: Failure,
    { options, decision, attempt: { since, worker = this.#options.worker } }: {
      readonly options: HandlerOptions;
      readonly decision: Decision;
      readonly attempt: FailedAttempt;
    },
  ): AttemptEnd {
    if (decision.kind === "snooze") {
      const payload = setFields(job.raw, {
        ...{ enqueued_at: undefined, suspected: undefined, no_handler_since: undefined },
        // It has begun: it doesn't expire while it waits for its next run, and a migration gives it no lock that ended at its start.
        ...((typeof job.payload.expires_in === "number" || job.payload["unique_until"] === "start") &&
          { [BEGUN_FIELD]: "true" }),
      });
      return { kind: "snooze", delayMs: decision.delayMs, payload };
    }
    if (decision.kind === "discard" || (decision.kind === "dead" && !decision.keep)) {
      return { kind: "discard" };
    }
    const { error } = failure;
    const failed = failedPayload(job, {
      error: describeError(error),
      diedBy: decision.kind === "dead" ? diedBy(failure) : undefined,
      queue,
      now: this.#options.clock.now(),
      wire: this.#options.settings.sidekiqWire,
      retryQueue: options.retry_queue,
      backtrace: job.payload.backtrace ?? options.backtrace ?? DEFAULT_STACK_LINES,
      // A job that ends keeps its log in its record.
      output: output ?? (decision.kind === "retry" ? lastLines : undefined),
      attempt: { worker, ...(since !== undefined && { ms: this.#options.clock.monotonic() - since }) },
    });
    // The field stays with a job that has waited too long: from then on each of its attempts counts.
    const hasWaited = job.payload.no_handler_since !== undefined && !isHandlerMissing(error);
    const payload = hasWaited ? setFields(failed, { no_handler_since: undefined }) : failed;
    return decision.kind === "retry"
      ? { kind: "retry", delayMs: decision.delayMs, payload }
      : { kind: "bury", payload };
  }

  #report(job: RunningJob, error: unknown, decision: Decision): void {
    const log = (level: LogLevel, message: string, fields: () => LogFields) =>
      logJob(job, this.#options.log, level, message, () => ({ ...fieldsOf(job), ...fields() }));
    if (decision.kind === "snooze") {
      const { delayMs, problem } = decision;
      if (problem === undefined) {
        return log("info", "Snoozed", () => ({ delayMs, reason: describeError(error).message }));
      }
      return log(
        "warn",
        "Snoozed for the default time: the handler's delay is invalid",
        () => ({ delayMs, problem }),
      );
    }
    const failure = () => {
      const { class: errorClass, message, causes, stack } = describeError(error);
      return { error: `${errorClass}: ${message}`, ...(causes.length > 0 && { causes }), at: stack[0] };
    };
    if (decision.kind === "retry") return log("warn", "Failed", () => ({ ...failure(), retryInMs: decision.delayMs }));
    // The handler discarded the job itself, which isn't a problem.
    if (verdictOf(error)?.kind === "discard") {
      return log("info", "Discarded", () => ({ reason: describeError(error).message }));
    }
    const isKept = decision.kind === "dead" && decision.keep;
    log("error", isKept ? "Failed for good, moved to dead" : "Failed for good, discarded", failure);
  }

  async #callHooks(job: RunningJob, error: unknown, decision: Decision): Promise<void> {
    const { hooks: { error: onError, death } } = this.#options;
    if (onError) await callHook(this.#options, "error", () => onError(error, job.context));
    if (death && decision.kind !== "retry") await callHook(this.#options, "death", () => death(job.job.payload, error));
  }
}

function fieldsOf(job: RunningJob): LogFields {
  const { class: name, jid, queue, attempt } = job;
  return { class: name, jid, queue, attempt, ...traceFields(job) };
}

/** A job waits for a handler for this long before its attempts count. */
export const MAX_HANDLER_WAIT_MS = 7 * 86_400_000;
const MIN_DELAY_MS = 5_000;
const MAX_DELAY_MS = 600_000;

/** Returns whether a class had no handler. */
function isHandlerMissing(error: unknown): boolean {
  return markOf(error) === "no handler";
}

/** The circumstances of an attempt that may have found no handler. */
interface MissingHandler {
  readonly error: unknown;
  readonly now: number;
  readonly wire: 7 | 8;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
}

/** The end of an attempt of a job that is offered to the workers of its queue again later. */
type WaitEnd = Extract<AttemptEnd, { readonly kind: "snooze" }>;

/**
 * Jobs whose class this worker lacks: during a rolling deploy, old workers take jobs of new classes. Such a job is put aside for
 * the workers that have its class, without using an attempt (`job/aside.ts`).
 *
 * Where it isn't known which workers have the class, it waits in `scheduled` instead, and is offered to the workers of its queue
 * repeatedly: an isolated process lacks it, or Sidekiq takes from the queue, too. After a week it then fails as any other job.
 *
 * Returns that end of an attempt; undefined for another failure, or after {@linkcode MAX_HANDLER_WAIT_MS}. The delay grows with the
 * time that the job has waited, from 5 s to 10 min.
 */
export function waitForHandler(
  { job }: RunningJob,
  { error, now, wire, random }: MissingHandler,
): WaitEnd | undefined {
  if (!isHandlerMissing(error)) return undefined;
  const since = readWireTime(job.payload.no_handler_since) ?? now;
  const waitedMs = Math.max(0, now - since);
  if (waitedMs >= MAX_HANDLER_WAIT_MS) return undefined;
  // Jitter spreads out jobs that found no handler at the same time.
  const delayMs = Math.min(Math.max(waitedMs / 2, MIN_DELAY_MS), MAX_DELAY_MS) * (0.75 + random() / 2);
  const payload = setFields(job.raw, {
    no_handler_since: wireTime(since, wire),
    enqueued_at: undefined,
    suspected: undefined,
  });
  return { kind: "snooze", delayMs: Math.round(delayMs), payload };
}
