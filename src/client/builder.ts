/**
 * The builder: a push request → the job as a store takes it, checked, with its ID, its time and its lock.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { InvalidPayload } from "../job/errors.ts";
import { groupOf } from "../job/group.ts";
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
import type { NewJob } from "../store/port/jobs.ts";
import { uniqueKey } from "./unique.ts";

/** Options of a {@linkcode JobBuilder}. */
export interface BuilderOptions {
  readonly clock: Clock;
  /** The largest payload that may be stored, in bytes. */
  readonly maxPayloadBytes: number;
  /** How times are written. */
  readonly wire: 7 | 8;
  /** Returns the options of a class that is pushed. */
  readonly classOptions: (className: string) => ClassOptions | undefined;
}

/** Builds jobs. */
export class JobBuilder {
  readonly #options: BuilderOptions;
  readonly #jids = new JidMaker();

  constructor(options: BuilderOptions) {
    this.#options = options;
  }

  /**
   * Checks a request, except for its arguments.
   *
   * @param options the class's; default: those that the client knows
   * @throws {InvalidPayload} if it cannot be stored
   */
  prepare(request: JobOptions & { readonly class: string }, options?: ClassOptions): Prepared {
    return prepare(request, options ?? this.#optionsOf(request));
  }

  /**
   * Builds one job. Returns a promise only if a lock's key has to be computed, so that many jobs are built without waiting.
   *
   * @param laterMs how much later than requested it runs
   * @throws {InvalidPayload} if its arguments cannot be stored, or the payload is too large
   */
  build(prepared: Prepared, args: unknown, laterMs = 0): NewJob | Promise<NewJob> {
    const { maxPayloadBytes, clock, wire } = this.#options;
    const now = clock.now();
    const text = argsText(args);
    const jid = prepared.jid ?? this.#jids.next(now);
    const group = prepared.group === undefined ? undefined : groupOf(prepared.group, args);
    const ungrouped = payloadText(prepared, text, jid, now, wire);
    const payload = group === undefined ? ungrouped : `${ungrouped.slice(0, -1)},"group":${JSON.stringify(group)}}`;
    // A character has at most three bytes: only a payload that may be too large is measured.
    if (payload.length * 3 > maxPayloadBytes) checkSize(payload, maxPayloadBytes);
    const job: NewJob = {
      jid,
      queue: prepared.queue,
      payload,
      ...(group !== undefined && { group }),
      ...moment(prepared, laterMs),
      ...once(prepared, now),
      ...(prepared.batch && { batch: prepared.batch }),
    };
    return prepared.uniqueForMs === undefined ? job : lock(job, prepared.className, text, prepared.uniqueForMs, now);
  }

  /**
   * Returns the request as middleware sees it: with defaults, the class's options, and an ID.
   *
   * @throws {InvalidPayload} if it cannot be stored
   */
  complete(request: JobRequest, options = this.#optionsOf(request)): JobRequest {
    const { jid = this.#jids.next(this.#options.clock.now()), queue } = this.prepare(request, options);
    argsText(request.args);
    return { retry: true, ...merge(request, options ?? {}), queue, jid };
  }

  #optionsOf(request: unknown): ClassOptions | undefined {
    const name = (request as { class?: unknown } | null | undefined)?.class;
    return typeof name === "string" ? this.#options.classOptions(name) : undefined;
  }
}

function checkSize(payload: string, most: number): void {
  const bytes = new TextEncoder().encode(payload).length;
  if (bytes <= most) return;
  throw new InvalidPayload("payload", bytes, `at most ${most} bytes; store the data elsewhere and push a reference`);
}

function moment({ at, delayMs }: Prepared, laterMs: number): Pick<NewJob, "at" | "delayMs"> {
  if (at !== undefined) return { at: at + laterMs };
  const wholeMs = (delayMs ?? 0) + laterMs;
  return wholeMs > 0 ? { delayMs: wholeMs } : {};
}

/** The key is remembered until the job's time has come, and then for the time that was requested. */
function once({ once, at, delayMs }: Prepared, now: number): Pick<NewJob, "once"> {
  if (once === undefined) return {};
  const waitMs = delayMs ?? Math.max(0, (at ?? now) - now);
  return { once: { key: once.key, ttlMs: once.ttlMs + waitMs } };
}

/** The lock holds until the job's time has come, and then for the time that was requested. */
async function lock(job: NewJob, className: string, args: string, ttlMs: number, now: number): Promise<NewJob> {
  const key = await uniqueKey(className, job.queue, args);
  const waitMs = job.delayMs ?? Math.max(0, (job.at ?? now) - now);
  return {
    ...job,
    payload: `${job.payload.slice(0, -1)},"unique_key":"${key}"}`,
    unique: { key, ttlMs: ttlMs + waitMs },
  };
}
