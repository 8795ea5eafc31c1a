/**
 * Builds jobs: turns a checked push request into the job that a store enqueues, with its ID, its time and its lock.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { InvalidPayload } from "../job/errors.ts";
import { groupOf } from "../job/group.ts";
import { laneOf } from "../job/priority.ts";
import { checkPublicArgs, checkPublicClass } from "../job/internal_class.ts";
import { JidMaker } from "../job/jid.ts";
import {
  argsText,
  type ClassOptions,
  type JobOptions,
  type JobRequest,
  merge,
  payloadText,
  prepare,
  type Prepared,
} from "../job/payload.ts";
import { isLockKey, type KeyField, keyText, type PushKeys } from "../job/push_keys.ts";
import type { NewJob, OnceKey } from "../store/port/jobs.ts";
import { jobKey } from "./unique.ts";

export interface BuilderOptions {
  readonly clock: Clock;
  /** The largest payload, in bytes. */
  readonly maxPayloadBytes: number;
  /** The format of times in payloads: that of Sidekiq 7, or of Sidekiq 8. */
  readonly wire: 7 | 8;
  /** Returns the options of a class that is pushed. */
  readonly classOptions: (className: string) => ClassOptions | undefined;
}

export class JobBuilder {
  readonly #options: BuilderOptions;
  readonly #jids = new JidMaker();

  constructor(options: BuilderOptions) {
    this.#options = options;
  }

  /**
   * Checks a request, except for its arguments.
   *
   * @param options the options of the class. Default: the options that `classOptions` returns
   * @throws {InvalidPayload} if the class or an option is invalid
   */
  prepare(request: JobOptions & { readonly class: string }, options?: ClassOptions): Prepared {
    const prepared = prepare(request, options ?? this.#optionsOf(request));
    checkPublicClass(request);
    return prepared;
  }

  /**
   * Builds one job.
   *
   * @param delayMs added to the time at which the job is to run
   * @param pushed the JSON text of the arguments before middleware, by which pushes with the same `id` are compared
   * @throws {InvalidPayload} if the arguments are invalid, or the payload is too large
   */
  build(prepared: Prepared, args: unknown, delayMs = 0, pushed: string | undefined = undefined): NewJob {
    const { maxPayloadBytes, clock, wire } = this.#options;
    const now = clock.now();
    const text = argsText(args);
    // A wrapper has the class in its arguments.
    checkPublicArgs(prepared.className, args);
    prepared.checkArgs?.(args);
    const jid = prepared.jid ?? this.#jids.next(now);
    const { priority } = prepared;
    const group = prepared.group === undefined ? undefined : groupOf(prepared.group, args);
    const ungrouped = payloadText(prepared, text, jid, now, wire);
    const payload = group === undefined ? ungrouped : `${ungrouped.slice(0, -1)},"group":${JSON.stringify(group)}}`;
    // A UTF-16 code unit takes at most three bytes in UTF-8: only a payload that may be too large is encoded.
    if (payload.length * 3 > maxPayloadBytes) checkSize(payload, maxPayloadBytes);
    const job: NewJob = {
      jid,
      queue: prepared.queue,
      payload,
      ...(group !== undefined && { group }),
      ...(priority !== undefined && { group: laneOf(priority) }),
      ...runAt(prepared, delayMs),
      ...(prepared.once !== undefined && { once: onceKey(prepared, pushed ?? text, now) }),
      ...(prepared.batch && { batch: prepared.batch }),
    };
    const { keys } = prepared;
    if (keys === undefined) return job;
    // An invalid key rejects this job now: later, it would reject those that are pushed with it.
    const textOf = (field: KeyField, key: string | number | undefined) => keyText(field, key, args, text);
    const texts = {
      unique: keys.unique && textOf("unique_key", keys.unique.key),
      debounce: keys.debounce && textOf("debounce_key", keys.debounce.key),
      throttle: keys.throttle && textOf("throttle_key", keys.throttle.key),
    };
    return withKeys(job, prepared.className, { keys, texts, now, delayMs });
  }

  /**
   * Returns the request as middleware receives it: with defaults, the options of its class, and an ID.
   *
   * @throws {InvalidPayload} if the class, an option or an argument is invalid
   */
  complete(request: JobRequest, options = this.#optionsOf(request)): JobRequest {
    const { jid = this.#jids.next(this.#options.clock.now()), queue, checkArgs } = this.prepare(request, options);
    argsText(request.args);
    checkArgs?.(request.args);
    return { retry: true, ...merge(request, options ?? {}), queue, jid };
  }

  #optionsOf(request: unknown): ClassOptions | undefined {
    const name = (request as { class?: unknown } | null | undefined)?.class;
    return typeof name === "string" ? this.#options.classOptions(name) : undefined;
  }
}

function checkSize(payload: string, maxBytes: number): void {
  const bytes = new TextEncoder().encode(payload).length;
  if (bytes <= maxBytes) return;
  throw new InvalidPayload(
    "payload",
    bytes,
    `at most ${maxBytes} bytes; store the data elsewhere and push a reference`,
  );
}

function runAt({ at, delayMs }: Prepared, extraMs: number): Pick<NewJob, "at" | "delayMs"> {
  if (at !== undefined) return { at: at + extraMs };
  const totalMs = (delayMs ?? 0) + extraMs;
  return totalMs > 0 ? { delayMs: totalMs } : {};
}

/** Returns the key of the push. The store keeps the key until the job is due, and then for the requested time. */
function onceKey({ once, className, queue, at, delayMs }: Prepared, text: string, now: number): OnceKey {
  const { key, ttlMs, isId } = once!;
  const waitMs = delayMs ?? Math.max(0, (at ?? now) - now);
  // A job keeps its jid when its arguments are changed.
  const fingerprint = isId ? { fingerprint: jobKey(className, queue, text).slice(0, FINGERPRINT_CHARS) } : {};
  return { key, ttlMs: ttlMs + waitMs, ...fingerprint };
}

/** 96 bits: enough for two pushes with one `id` never to have the same by chance. */
const FINGERPRINT_CHARS = 16;

/** The keys of a job, the texts that they are made of, and its time. */
interface KeyRequest {
  readonly keys: PushKeys;
  readonly texts: { readonly [Kind in keyof PushKeys]: string | undefined };
  readonly now: number;
  /** Delays a debounced job further. */
  readonly delayMs: number;
}

/** Adds the unique lock, which holds until the job is due and then for the requested time, the debounce and the throttle. */
function withKeys(
  job: NewJob,
  className: string,
  { keys: { unique, debounce, throttle }, texts, now, delayMs }: KeyRequest,
): NewJob {
  const digest = (text: string) => jobKey(className, job.queue, text);
  let { payload } = job;
  const changes: { -readonly [Name in "unique" | "debounce" | "throttle"]?: NonNullable<NewJob[Name]> } = {};
  if (unique) {
    const key = isLockKey(unique.key) ? unique.key : digest(texts.unique!);
    const waitMs = job.delayMs ?? Math.max(0, (job.at ?? now) - now);
    payload = `${payload.slice(0, -1)},"unique_key":"${key}"}`;
    changes.unique = { key, ttlMs: unique.ttlMs + waitMs, ...(unique.replace && { replace: true }) };
  }
  if (debounce) {
    const { key: _, waitMs, ...max } = debounce;
    const key = digest(texts.debounce!);
    payload = `${payload.slice(0, -1)},"debounce_key":"${key}"}`;
    changes.debounce = { key, waitMs: waitMs + delayMs, ...max };
  }
  if (throttle) {
    const { key: _, ...rate } = throttle;
    changes.throttle = { key: digest(texts.throttle!), ...rate };
  }
  if (debounce === undefined) return { ...job, payload, ...changes };
  const { delayMs: _, ...untimed } = job;
  return { ...untimed, payload, ...changes };
}
