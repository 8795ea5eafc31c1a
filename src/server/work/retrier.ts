/**
 * The retrier: a failure → one outcome. It asks `job/backoff.ts` what happens next, writes the failure into the payload,
 * says so in the log, and calls the hooks. It runs before the outcome is stored: if the process dies meanwhile, the job
 * runs again.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Settings } from "../../config/settings.ts";
import { type JobContext, traceFields } from "../../handlers/context.ts";
import type { HandlerOptions } from "../../handlers/handler.ts";
import type { Registry } from "../../handlers/registry.ts";
import { decide, type Decision } from "../../job/backoff.ts";
import { Cancelled, describeError, verdictOf } from "../../job/errors.ts";
import { failedPayload } from "../../job/failure.ts";
import { type Job, lockOf } from "../../job/job.ts";
import { setFields } from "../../job/raw.ts";
import type { Log, LogFields, LogLevel } from "../../log/log.ts";
import type { Lease, Outcome } from "../../store/port/jobs.ts";
import { callHook, type Hooks } from "../hooks.ts";
import { logJob } from "./job_log.ts";

/** What a try can come to by itself; only a server that stops releases it. */
export type TryOutcome = Exclude<Outcome, { readonly kind: "release" }>;

/** Turns failures into outcomes. */
export class Retrier {
  readonly #clock: Clock;
  readonly #settings: Settings;
  readonly #registry: Registry;
  readonly #hooks: Hooks;
  readonly #log: Log;

  constructor(options: { clock: Clock; settings: Settings; registry: Registry; hooks: Hooks; log: Log }) {
    this.#clock = options.clock;
    this.#settings = options.settings;
    this.#registry = options.registry;
    this.#hooks = options.hooks;
    this.#log = options.log;
  }

  /** What becomes of a job that threw. Never rejects. */
  async outcome(lease: Lease, job: Job, context: JobContext, error: unknown): Promise<TryOutcome> {
    if (error instanceof Cancelled) return this.cancelled(lease, job, context);
    const options: HandlerOptions = this.#registry.get(job.class)?.options ?? {};
    const decision = decide({
      payload: job.payload,
      error,
      options,
      maxRetries: this.#settings.maxRetries,
      now: this.#clock.now(),
      random: Math.random,
      onOptionError: (optionError) =>
        this.#log.error("retryIn failed, default backoff used", {
          class: job.class,
          error: describeError(optionError),
        }),
    });
    this.#say(context, error, decision);
    if (decision.kind !== "snooze") await this.#callHooks(job, context, error, decision);
    return this.#settle(lease, job, error, options, decision);
  }

  /** Somebody's wish is no failure. */
  cancelled(lease: Lease, job: Job, context: JobContext): TryOutcome {
    logJob(context, this.#log, "info", "Cancelled", () => fieldsOf(context));
    return { kind: "ack", token: lease.token, ...lockOf(job) };
  }

  #settle(lease: Lease, job: Job, error: unknown, options: HandlerOptions, decision: Decision): TryOutcome {
    const { token } = lease;
    if (decision.kind === "snooze") {
      return {
        kind: "snooze",
        token,
        delayMs: decision.delayMs,
        payload: setFields(job.raw, { enqueued_at: undefined, suspected: undefined }),
      };
    }
    if (decision.kind === "discard" || (decision.kind === "dead" && !decision.keep)) {
      return { kind: "discard", token, ...lockOf(job) };
    }
    const payload = failedPayload(job, {
      error: describeError(error),
      queue: lease.queue,
      now: this.#clock.now(),
      wire: this.#settings.sidekiqWire,
      retryQueue: options.retry_queue,
      backtrace: job.payload.backtrace ?? options.backtrace,
    });
    return decision.kind === "retry"
      ? { kind: "retry", token, delayMs: decision.delayMs, payload }
      : { kind: "bury", token, payload, ...lockOf(job) };
  }

  #say(context: JobContext, error: unknown, decision: Decision): void {
    const say = (level: LogLevel, message: string, fields: () => LogFields) =>
      logJob(context, this.#log, level, message, () => ({ ...fieldsOf(context), ...fields() }));
    if (decision.kind === "snooze") {
      const { delayMs: againInMs, problem } = decision;
      if (problem === undefined) return say("info", "Snoozed", () => ({ againInMs }));
      return say("warn", "Snoozed without saying for how long", () => ({ againInMs, problem }));
    }
    const what = () => {
      const { class: errorClass, message, stack } = describeError(error);
      return { error: `${errorClass}: ${message}`, at: stack[0] };
    };
    if (decision.kind === "retry") return say("warn", "Failed", () => ({ ...what(), retryInMs: decision.delayMs }));
    // A handler's own decision is nobody's alarm.
    if (verdictOf(error)?.kind === "discard") {
      return say("info", "Discarded", () => ({ reason: describeError(error).message }));
    }
    const isKept = decision.kind === "dead" && decision.keep;
    say("error", isKept ? "Failed for good, moved to dead" : "Failed, dropped", what);
  }

  async #callHooks(job: Job, context: JobContext, error: unknown, decision: Decision): Promise<void> {
    const { error: onError, death } = this.#hooks;
    if (onError) await callHook(this.#log, "error", () => onError(error, context));
    if (death && decision.kind !== "retry") await callHook(this.#log, "death", () => death(job.payload, error));
  }
}

function fieldsOf(context: JobContext): LogFields {
  const { class: name, jid, queue, attempt } = context;
  return { class: name, jid, queue, attempt, ...traceFields(context) };
}
