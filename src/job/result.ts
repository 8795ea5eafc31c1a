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
  /** Its id. */
  readonly jid: string;
  /** The class that performed it. */
  readonly class: string;
  /** The queue it was taken from. */
  readonly queue: string;
  /** How it ended. */
  readonly state: EndState;
  /** What the handler returned. */
  readonly result?: unknown;
  /** Why there is none, though the handler returned something. */
  readonly result_dropped?: string;
  /** What it failed with. */
  readonly error?: {
    readonly class: string;
    readonly message: string;
    /** What led to it, a line for each: `caused by TypeError: fetch failed`. */
    readonly causes?: readonly string[];
    readonly stack?: readonly string[];
  };
  /** The try that ended it: 1 for the first. */
  readonly attempt?: number;
  /** When that try began. */
  readonly started_at?: number;
  /** When it ended. */
  readonly ended_at: number;
  /** How long that try took. */
  readonly elapsed_ms?: number;
  /** The process that performed it. */
  readonly process?: string;
  /** How far it said it was. */
  readonly progress?: string;
  /** The last line it logged. */
  readonly last_line?: string;
  /** The last lines it logged, that one included. */
  readonly log?: readonly string[];
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
