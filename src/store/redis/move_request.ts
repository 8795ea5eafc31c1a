/**
 * Compare and move: the store computes the new payload, and one script moves the entry if it is still where it was read.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import { nameOf } from "../port/groups.ts";
import type { NewJob } from "../port/jobs.ts";
import type { NewRecord } from "../port/results.ts";
import type { Arg } from "./client/encode.ts";
import type { Args } from "./client/script_head.ts";
import { withoutBrace } from "./enqueue.ts";
import type { Context } from "./context.ts";

/** One move. */
export interface Move {
  /** The key of its place. */
  readonly from: string;
  /** Its position when it was read, counted from the front. Required if the place is a queue. */
  readonly position?: number;
  /** The member as it was read. */
  readonly old: Arg;
  /** The key of its new place: a queue, or `dead`. Empty: the move deletes the entry. */
  readonly to: string;
  /** The new member. Default: unchanged. */
  readonly payload?: Arg;
  /** The jid whose unique lock the move releases. Default: none. */
  readonly unlock?: string;
  /** A record to keep in the same step. */
  readonly record?: NewRecord;
  /** Jobs to store in the same step, as `Outcome.follow`. */
  readonly follow?: readonly NewJob[];
}

/** The result of moves. */
export interface Moved {
  /** Whether each move was made. */
  readonly made: readonly boolean[];
  /** Indexes of moves out of a queue that were not made because the entry is no longer near its position. */
  readonly missed: readonly number[];
  /** The store's time. */
  readonly now: number;
  /** Milliseconds until the earliest member of `retry` and `schedule` is due; undefined if both are empty. */
  readonly nextInMs: number | undefined;
}

/** Makes the moves in order. See {@linkcode Mover}. */
export function makeMoves({ mover }: Context, moves: readonly Move[]): Promise<Moved> {
  return mover.make(moves);
}

/** Returns the jobs that follow an end, as the scripts read them. Their payloads are objects. */
export function packFollow(jobs: readonly NewJob[]): Args[] {
  return jobs.map(({ queue, group, payload }) => ({ queue: nameOf(queue, group), payload: withoutBrace(payload)! }));
}

/** Returns the jid of a payload; empty if it has none. */
export function jidOf(payload: string): string {
  const jid = getField(payload, "jid");
  return typeof jid === "string" ? jid : "";
}
