/**
 * The job: a payload as parsed, beside its text, which is what is kept.
 *
 * @module
 */
import { parseLossless } from "./json.ts";

/** The fields of a payload that we read. Unknown ones are kept too. Times as on the wire: see `raw.ts`. */
export interface Payload {
  /** The class, or its wrapper. */
  readonly class: string;
  /** What the handler is given. */
  readonly args: readonly unknown[];
  /** The job's id. */
  readonly jid: string;
  /** Its queue. */
  readonly queue: string;
  /** When it was pushed first. */
  readonly created_at?: number;
  /** When it came into its queue. */
  readonly enqueued_at?: number;
  /** `true`: as often as the class or the server says; `false`: never; else so many times. */
  readonly retry?: boolean | number;
  /** Where its retries go. */
  readonly retry_queue?: string;
  /** Seconds from the first failure. */
  readonly retry_for?: number;
  /** 0 after the first failure. */
  readonly retry_count?: number;
  /** When it failed first. */
  readonly failed_at?: number;
  /** When it failed last, after the first time. */
  readonly retried_at?: number;
  /** The last error's name. */
  readonly error_class?: string;
  /** What the last error said. */
  readonly error_message?: string;
  /** The last error's stack, encoded. */
  readonly error_backtrace?: string;
  /** Whether to keep stacks, or how many lines. */
  readonly backtrace?: boolean | number;
  /** `false`: never to `dead`. */
  readonly dead?: boolean;
  /** Words shown with it. */
  readonly tags?: readonly string[];
  /** The real class under a wrapper (ActiveJob). */
  readonly wrapped?: string;
  /** The class as shown to people. */
  readonly display_class?: string;
  /** How often it was rescued from a dead process. */
  readonly rescues?: number;
  /** The unique lock that this job holds. */
  readonly unique_key?: string;
  /** Whatever else was pushed. */
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

/** Reads a payload; undefined when it is not a job: not JSON, no object, no class, no array of arguments. */
export function parsePayload(raw: string): Job | undefined {
  let payload: Payload;
  try {
    payload = parseLossless(raw) as Payload;
  } catch {
    return undefined;
  }
  if (typeof payload !== "object" || payload === null) return undefined;
  if (typeof payload.class !== "string" || !Array.isArray(payload.args)) return undefined;
  return {
    jid: String(payload.jid),
    class: typeof payload.wrapped === "string" ? payload.wrapped : payload.class,
    args: payload.args,
    attempt: typeof payload.retry_count === "number" ? payload.retry_count + 2 : 1,
    payload,
    raw,
  };
}

/** The unique lock that a job holds, as its last outcome names it. */
export function lockOf({ jid, payload }: Job): { readonly unlock?: string; readonly jid?: string } {
  return typeof payload.unique_key === "string" ? { unlock: payload.unique_key, jid } : {};
}
