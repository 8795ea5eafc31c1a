/**
 * The builder: a request → the job as the store takes it, checked, with its id, its time and its lock.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { InvalidPayload } from "../job/errors.ts";
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

/** What jobs are built with. */
export interface BuilderOptions {
  readonly clock: Clock;
  /** A larger payload is refused. */
  readonly maxPayloadBytes: number;
  /** How times are written. */
  readonly wire: 7 | 8;
  /** What a class says about its jobs. */
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
   * Checks everything of a request but its arguments.
   *
   * @param said what the class says; default: what the client knows of it
   * @throws {InvalidPayload}
   */
  prepare(request: JobOptions & { readonly class: string }, said?: ClassOptions): Prepared {
    return prepare(request, said ?? this.#said(request));
  }

  /**
   * Builds one job. A promise only where a lock's key is to be computed: many jobs are built without waiting.
   *
   * @param laterMs how much later than asked it is to run
   * @throws {InvalidPayload}
   */
  build(prepared: Prepared, args: unknown, laterMs = 0): NewJob | Promise<NewJob> {
    const { maxPayloadBytes, clock, wire } = this.#options;
    const now = clock.now();
    const text = argsText(args);
    const jid = prepared.jid ?? this.#jids.next(now);
    const payload = payloadText(prepared, text, jid, now, wire);
    // A character is at most three bytes: only a payload that might be too large is measured.
    if (payload.length * 3 > maxPayloadBytes) checkSize(payload, maxPayloadBytes);
    const job: NewJob = { jid, queue: prepared.queue, payload, ...moment(prepared, laterMs) };
    return prepared.uniqueForMs === undefined ? job : lock(job, prepared.className, text, prepared.uniqueForMs, now);
  }

  /**
   * The whole request as middleware sees it, with defaults, what the class says, and an id.
   *
   * @throws {InvalidPayload} when it would be refused anyway
   */
  complete(request: JobRequest, said = this.#said(request)): JobRequest {
    const { jid = this.#jids.next(this.#options.clock.now()), queue } = this.prepare(request, said);
    argsText(request.args);
    return { retry: true, ...merge(request, said ?? {}), queue, jid };
  }

  #said(request: unknown): ClassOptions | undefined {
    const name = (request as { class?: unknown } | null | undefined)?.class;
    return typeof name === "string" ? this.#options.classOptions(name) : undefined;
  }
}

function checkSize(payload: string, most: number): void {
  const bytes = new TextEncoder().encode(payload).length;
  if (bytes <= most) return;
  throw new InvalidPayload("payload", bytes, `at most ${most} bytes; store the data elsewhere and push where it is`);
}

function moment({ at, delayMs }: Prepared, laterMs: number): Pick<NewJob, "at" | "delayMs"> {
  if (at !== undefined) return { at: at + laterMs };
  const wholeMs = (delayMs ?? 0) + laterMs;
  return wholeMs > 0 ? { delayMs: wholeMs } : {};
}

/** The lock holds for as long as the job waits for its time, and then for as long as was asked. */
async function lock(job: NewJob, className: string, args: string, ttlMs: number, now: number): Promise<NewJob> {
  const key = await uniqueKey(className, job.queue, args);
  const waitMs = job.delayMs ?? Math.max(0, (job.at ?? now) - now);
  return {
    ...job,
    payload: `${job.payload.slice(0, -1)},"unique_key":"${key}"}`,
    unique: { key, ttlMs: ttlMs + waitMs },
  };
}
