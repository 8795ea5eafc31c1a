/**
 * A job: the parsed payload, and its text, which is stored.
 *
 * @module
 */
import { parseLossless } from "./json.ts";
import { occurrenceOf } from "./occurrence.ts";
import { attemptNumbers, readErrors } from "./past_errors.ts";
import { getField } from "./raw.ts";

/**
 * The fields of a payload that this program reads; other fields are kept, too. Any client may have written the payload:
 * only `class` and `args` are certain to have their type. Times are as on the wire: see `readWireTime`.
 *
 * @example
 * ```ts
 * import { defineJob, type Payload } from "@jobs/jobs";
 *
 * const tenantOf = (payload: Payload) => payload["tenant"];
 * const Bill = defineJob("Bill", (ctx) => console.log(tenantOf(ctx.payload), ctx.payload.created_at));
 * ```
 */
export interface Payload {
  /** The class whose handler performs the job, or a wrapper around that class. */
  readonly class: string;
  /** The arguments of the handler. */
  readonly args: readonly unknown[];
  /** The ID of the job, 24 hex digits; the same in all attempts. */
  readonly jid: string;
  /** The queue; after a failure, the queue for the retry. */
  readonly queue: string;
  /** When the job was pushed. */
  readonly created_at?: number;
  /** When the job was enqueued; absent while it is scheduled or retrying. */
  readonly enqueued_at?: number;
  /** The number of retries. `true`: the number of the class or the worker; `false`: none, and a failed job is dropped. */
  readonly retry?: boolean | number;
  /** The queue for retries. */
  readonly retry_queue?: string;
  /** The job is retried for this many seconds after its first failure, instead of a number of times. */
  readonly retry_for?: number;
  /** The number of failures, minus one: 0 after the first. */
  readonly retry_count?: number;
  /** When the job failed first. */
  readonly failed_at?: number;
  /** When the job failed last; absent after a single failure. */
  readonly retried_at?: number;
  /** The class of the latest error. */
  readonly error_class?: string;
  /** The message of the latest error, at most 10,000 characters. */
  readonly error_message?: string;
  /** The causes of the latest error, one line each. Sidekiq has no such field. */
  readonly error_causes?: readonly string[];
  /** The stack of the latest error, as `failure.ts` packs it. */
  readonly error_backtrace?: string;
  /** The end of what the program printed that failed last, or the last lines of the handler's log, packed in the same way: at most 16 KiB. */
  readonly error_output?: string;
  /** Why it is dead: see `diedBy` in `backoff.ts`. */
  readonly died_by?: string;
  /** The latest failures, including this one: see `failure.ts`. */
  readonly errors?: unknown;
  /** The number of stack lines to keep; `true` for all. */
  readonly backtrace?: boolean | number;
  /** `false`: a job whose retries are exhausted is dropped instead of moving to the dead set. */
  readonly dead?: boolean;
  /** Words shown with the job. */
  readonly tags?: readonly string[];
  /** The timeout of an attempt, in seconds. */
  readonly timeout?: number;
  /** The real class under a wrapper (ActiveJob). */
  readonly wrapped?: string;
  /** The class as shown to people. */
  readonly display_class?: string;
  /** The number of worker deaths that the job was to blame for: see `suspicion.ts`. */
  readonly rescues?: number;
  /** The number of other worker deaths during which the job may have been running. */
  readonly suspected?: number;
  /** When a worker first lacked a handler for its class; absent if none did since its last failure. */
  readonly no_handler_since?: number;
  /** The requested time of its unique lock, in seconds. */
  readonly unique_for?: number;
  /** The key of the unique lock that it holds. */
  readonly unique_key?: string;
  /** Any other field. */
  readonly [field: string]: unknown;
}

export interface Job {
  readonly jid: string;
  /** The class whose handler performs the job; under a wrapper, the wrapped class. */
  readonly class: string;
  readonly args: readonly unknown[];
  /** The number of the attempt, from 1: see {@linkcode attemptOf}. */
  readonly attempt: number;
  readonly payload: Payload;
  /** The text of the payload, byte for byte. */
  readonly raw: string;
}

/** ActiveJob's wrapper classes, of Sidekiq 8 and of earlier versions. */
const WRAPPERS: ReadonlySet<string> = new Set([
  "Sidekiq::ActiveJob::Wrapper",
  "ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper",
]);

/** Parses a payload; undefined if it isn't a JSON object with a class and an array of arguments. */
export function parsePayload(raw: string): Job | undefined {
  let payload: Payload;
  try {
    payload = parseLossless(raw) as Payload;
  } catch {
    return undefined;
  }
  if (typeof payload !== "object" || payload === null) return undefined;
  if (typeof payload.class !== "string" || payload.class === "" || !Array.isArray(payload.args)) return undefined;
  const { jid } = payload;
  return {
    jid: typeof jid === "string" ? jid : typeof jid === "number" ? String(jid) : "",
    class: performedClass(payload),
    args: payload.args,
    attempt: attemptOf(payload),
    payload,
    raw,
  };
}

/**
 * Returns the number of the next attempt, from 1: one more than all failures so far. It rises also after a retry by hand, which
 * takes one failure off `retry_count`.
 */
export function attemptOf(payload: Payload): number {
  const { errors } = payload;
  const kept = errors === undefined ? 0 : attemptNumbers(readErrors(errors), 0).at(-1) ?? 0;
  return Math.max(failureCount(payload), kept) + 1;
}

/** Returns the number of failures that count against the retries, which is the `retry_count` after the next failure. */
export function failureCount({ retry_count: count }: Payload): number {
  return Number.isSafeInteger(count) && count! >= 0 ? count! + 1 : 0;
}

/** Returns what the end of a job releases: its unique lock, and its cron entry. */
export function releasesOf(
  { jid, payload }: Job,
): { readonly unlock?: string; readonly jid?: string; readonly occurrence?: string } {
  const unlock = payload.unique_key;
  const occurrence = occurrenceOf(payload)?.name;
  if (typeof unlock !== "string") return occurrence === undefined ? {} : { jid, occurrence };
  return { unlock, jid, ...(occurrence !== undefined && { occurrence }) };
}

/** Returns the class whose handler performs a payload, and parses only payloads with a wrapper; undefined if there is none. */
export function performedIn(raw: string): string | undefined {
  const name = getField(raw, "class");
  if (typeof name !== "string") return undefined;
  return WRAPPERS.has(name) || raw.includes('"wrapped"') ? parsePayload(raw)?.class ?? name : name;
}

/** Returns the class whose handler performs a payload: under a wrapper, the wrapped class. */
export function performedClass(
  { class: name, wrapped, args }: { readonly class: string; readonly wrapped?: unknown; readonly args?: unknown },
): string {
  if (typeof wrapped === "string" && wrapped !== "") return wrapped;
  if (!WRAPPERS.has(name) || !Array.isArray(args)) return name;
  const inner = (args[0] as { job_class?: unknown } | null | undefined)?.job_class;
  return typeof inner === "string" && inner !== "" ? inner : name;
}
