/**
 * Compare and move: what a payload becomes is worked out here, and then goes from place to place in one script, if it is
 * still where it was read.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import type { Arg } from "./connection.ts";
import type { Context } from "./context.ts";
import { SCRIPTS } from "./script.ts";

/** One move. */
export interface Move {
  /** Key it is in. */
  readonly from: string;
  /** The member as it stands there. */
  readonly old: Arg;
  /** Key it goes to: a queue, or `dead`; empty to delete it. */
  readonly to: string;
  /** The member as it is to stand there. */
  readonly payload: Arg;
  /** Jid whose unique lock to let go; empty for none. */
  readonly unlock?: string;
}

/** What moving did. */
export interface Moved {
  /** For each move whether it was made: false when the member was gone. */
  readonly made: readonly boolean[];
  /** The store's time. */
  readonly now: number;
  /** Milliseconds until the earliest member of `retry` and `schedule` is due; undefined if there is none. */
  readonly nextInMs: number | undefined;
}

/** Makes the moves, in order. */
export async function makeMoves({ link, offset, deadLimits }: Context, moves: readonly Move[]): Promise<Moved> {
  const args: Arg[] = [offset(), ...deadLimits];
  for (const { from, old, to, payload, unlock } of moves) args.push(from, old, to, payload, unlock ?? "");
  const [made, now, next] = await link.run(SCRIPTS.move, [], args) as [string, number, number | ""];
  return { made: [...made].map((one) => one === "1"), now, nextInMs: next === "" ? undefined : next };
}

/** The jid of a payload; empty when it has none. */
export function jidOf(payload: string): string {
  const jid = getField(payload, "jid");
  return typeof jid === "string" ? jid : "";
}
