/**
 * What is kept of a job that has ended, as it is written and read.
 *
 * @module
 */
import { parseLossless, stringifyLossless } from "./json.ts";

/** How a job ended. `failed` left without a trace (its retries were over, or it asked for it); `dead` is kept in dead. */
export type EndState = "done" | "failed" | "dead" | "cancelled" | "expired";

/** A job that has ended. Times are epoch milliseconds. */
export interface EndedJob {
  readonly jid: string;
  readonly class: string;
  readonly queue: string;
  readonly state: EndState;
  /** What the handler returned. */
  readonly result?: unknown;
  /** Why there is none, though the handler returned something. */
  readonly result_dropped?: string;
  readonly error?: { readonly class: string; readonly message: string; readonly stack?: readonly string[] };
  /** The try that ended it: 1 for the first. */
  readonly attempt?: number;
  readonly started_at?: number;
  readonly ended_at: number;
  readonly elapsed_ms?: number;
  /** The process that performed it. */
  readonly process?: string;
  /** The last it said of itself. */
  readonly progress?: string;
  readonly last_line?: string;
  /** The payload, unless it is large. */
  readonly payload?: Readonly<Record<string, unknown>>;
}

/** The record's text. */
export function endedText(job: EndedJob): string {
  return stringifyLossless(job)!;
}

/**
 * Reads a record.
 *
 * @throws {SyntaxError} when it is none
 */
export function readEnded(text: string): EndedJob {
  return parseLossless(text) as EndedJob;
}
