/**
 * The job: a payload as parsed, beside its text, which is what is kept.
 *
 * @module
 */
import { parseLossless } from "./json.ts";
import { occurrenceOf } from "./occurrence.ts";

/**
 * The fields of a payload that we read; any others are kept too. As others may have written it, only `class` and `args`
 * are sure to be what they should be. Times are as on the wire: see `readWireTime`.
 */
export interface Payload {
  /** The class whose handler performs it, or a wrapper around one. */
  readonly class: string;
  /** What the handler is given. */
  readonly args: readonly unknown[];
  /** 24 hex digits; the same through all tries. */
  readonly jid: string;
  /** Its queue; after a failure the one where it is tried again. */
  readonly queue: string;
  /** When it was pushed. */
  readonly created_at?: number;
  /** When it came into its queue; absent while it waits in a set. */
  readonly enqueued_at?: number;
  /** `true`: as often as the class or the server says; `false`: never, and it is dropped; else so many times. */
  readonly retry?: boolean | number;
  /** The queue for retries. */
  readonly retry_queue?: string;
  /** Seconds from the first failure within which it is tried again, instead of a number of times. */
  readonly retry_for?: number;
  /** 0 after the first failure. */
  readonly retry_count?: number;
  /** The first failure. */
  readonly failed_at?: number;
  /** The latest failure after the first. */
  readonly retried_at?: number;
  /** The latest failure: the error's class. */
  readonly error_class?: string;
  /** The latest failure: at most 10,000 characters. */
  readonly error_message?: string;
  /** The latest failure: what led to it, a line for each cause or member. A field of ours. */
  readonly error_causes?: readonly string[];
  /** The latest failure's stack, as `failure.ts` packs it. */
  readonly error_backtrace?: string;
  /** The latest failures, this one included: see `failure.ts`. */
  readonly errors?: unknown;
  /** Keep stacks: `true` for all lines, or so many. */
  readonly backtrace?: boolean | number;
  /** `false`: when it failed for good it is dropped, not kept in `dead`. */
  readonly dead?: boolean;
  /** Words shown with the job. */
  readonly tags?: readonly string[];
  /** How long it may run, in seconds. */
  readonly timeout?: number;
  /** The real class under a wrapper (ActiveJob). */
  readonly wrapped?: string;
  /** The class as shown to people. */
  readonly display_class?: string;
  /** How many deaths of workers it was to blame for: see `suspicion.ts`. */
  readonly rescues?: number;
  /** In how many other deaths of workers it may have been running. */
  readonly suspected?: number;
  /** When a worker first lacked a handler for its class; absent if none did since its last failure. */
  readonly no_handler_since?: number;
  /** Seconds for which it asked for a unique lock. */
  readonly unique_for?: number;
  /** The unique lock that it holds. */
  readonly unique_key?: string;
  /** Anything else. */
  readonly [field: string]: unknown;
}

/** A payload that could be read. */
export interface Job {
  readonly jid: string;
  /** The class whose handler performs it: under a wrapper, the wrapped one. */
  readonly class: string;
  readonly args: readonly unknown[];
  /** 1 at the first try. */
  readonly attempt: number;
  readonly payload: Payload;
  /** The text, byte for byte. */
  readonly raw: string;
}

/** ActiveJob's classes around the real one, of Sidekiq 8 and before. */
const WRAPPERS: ReadonlySet<string> = new Set([
  "Sidekiq::ActiveJob::Wrapper",
  "ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper",
]);

/** Reads a payload; undefined when it is not a job: not JSON, no object, no class, no array of arguments. */
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
    class: classOf(payload),
    args: payload.args,
    attempt: failureCount(payload) + 1,
    payload,
    raw,
  };
}

/** How often it has failed: what the next failure's `retry_count` will be. */
export function failureCount({ retry_count: count }: Payload): number {
  return Number.isSafeInteger(count) && count! >= 0 ? count! + 1 : 0;
}

/** What a job lets go of with its last outcome: its unique lock, and its place in the crontab. */
export function lockOf(
  { jid, payload }: Job,
): { readonly unlock?: string; readonly jid?: string; readonly occurrence?: string } {
  const unlock = payload.unique_key;
  const occurrence = occurrenceOf(payload)?.name;
  if (typeof unlock !== "string") return occurrence === undefined ? {} : { jid, occurrence };
  return { unlock, jid, ...(occurrence !== undefined && { occurrence }) };
}

function classOf({ class: name, wrapped, args }: Payload): string {
  if (typeof wrapped === "string" && wrapped !== "") return wrapped;
  if (!WRAPPERS.has(name)) return name;
  const inner = (args[0] as { job_class?: unknown } | null | undefined)?.job_class;
  return typeof inner === "string" && inner !== "" ? inner : name;
}
