/**
 * The record of an ended job, as it is written and read.
 *
 * @module
 */
import { parseLossless, stringifyLossless } from "./json.ts";
import type { Step } from "./step.ts";

/** How a job ended. `failed`: it was dropped, by `Discard` or after its retries. `dead`: it moved to the dead set. */
export type EndState = "succeeded" | "failed" | "dead" | "cancelled" | "expired";

/**
 * A job that has ended. Times are epoch milliseconds.
 *
 * @example
 * ```ts
 * import { defineJob, type EndedJob, startServer } from "@jobs/jobs";
 *
 * const Add = defineJob("Add", (_ctx, a: number, b: number) => a + b, { result_ttl: "1h" });
 * await using server = await startServer({ store: "sqlite::memory:", jobs: [Add], log: false });
 * const jid = await server.client.push(Add, [1, 2]);
 * const ended: EndedJob | undefined = await server.client.result(jid!);
 * console.log(ended?.state, ended?.result); // succeeded 3
 * ```
 */
export interface EndedJob {
  /** The ID of the job. */
  readonly jid: string;
  /** The class of the job. */
  readonly class: string;
  /** The queue it was taken from. */
  readonly queue: string;
  /** How it ended. */
  readonly state: EndState;
  /** The value that the handler returned. */
  readonly result?: unknown;
  /** Why the result is missing although the handler returned a value. */
  readonly resultDropped?: string;
  /** The error of the last attempt. */
  readonly error?: {
    readonly class: string;
    readonly message: string;
    /** The causes, one line each: `caused by TypeError: fetch failed`. */
    readonly causes?: readonly string[];
    readonly stack?: readonly string[];
  };
  /** The number of the last attempt, from 1. */
  readonly attempt?: number;
  /** When that attempt began. */
  readonly startedAt?: number;
  /** When the job ended. */
  readonly endedAt: number;
  /** The duration of that attempt. */
  readonly elapsedMs?: number;
  /** The ID of the worker that performed it. */
  readonly worker?: string;
  /** The last progress that it reported. */
  readonly progress?: string;
  /** The last line that it logged. */
  readonly lastLine?: string;
  /** The last lines that it logged, including that one. */
  readonly log?: readonly string[];
  /** The last lines that a failed program printed, on stdout and stderr: at most 64 KiB. */
  readonly output?: readonly string[];
  /** The durable steps: the latest 100, up to 32 KiB. Of a large one, the value is missing. */
  readonly steps?: readonly Step[];
  /** The payload; absent if it is large. */
  readonly payload?: Readonly<Record<string, unknown>>;
}

/**
 * Returns the text of a record.
 *
 * @param parts parts of the record that are JSON text already, by field
 */
export function endedText(
  job: Omit<EndedJob, "result" | "steps" | "payload">,
  parts: {
    readonly result?: string | undefined;
    readonly steps?: string | undefined;
    readonly payload?: string | undefined;
  } = {},
): string {
  let text = stringifyLossless(job)!.slice(0, -1);
  if (parts.result !== undefined) text += `,"result":${parts.result}`;
  if (parts.steps !== undefined) text += `,"steps":${parts.steps}`;
  if (parts.payload !== undefined) text += `,"payload":${parts.payload}`;
  return `${text}}`;
}

/**
 * Reads a record.
 *
 * @throws {SyntaxError} if the text is invalid
 */
export function readEnded(text: string): EndedJob {
  return parseLossless(text) as EndedJob;
}
