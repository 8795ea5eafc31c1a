/**
 * Due jobs: `schedule` and `retry` → queues.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import { setFields, wireTime } from "../../job/raw.ts";
import { MAX_BATCH_BYTES } from "../port/batch_bytes.ts";
import { nameIn } from "../port/groups.ts";
import type { PromoteResult } from "../port/jobs.ts";
import { type Context, member } from "./context.ts";
import { queueKey, SETS } from "./keys.ts";
import { makeMoves, type Move } from "./move_request.ts";
import { SCRIPTS } from "./client/scripts.ts";

/** Maximum number of steps of one call: other workers may move each job before this one. */
const MAX_STEPS = 20;

/** The letter r: the script's name for the set `retry`. */
const RETRY = 0x72;

/** The result of a promotion, and the due time of the earliest member left. */
export interface Promotion extends PromoteResult {
  /** In epoch milliseconds of the store's clock; infinite if none is left. */
  readonly earliest: number;
}

/**
 * See `JobStore.promote`. Each step reads at most {@linkcode MAX_BATCH_BYTES}. A member that another worker moves first
 * doesn't count: the next step reads further ones.
 */
export async function promote(context: Context, limit: number): Promise<Promotion> {
  const total = { moved: 0, buried: 0 };
  for (let steps = 1;; steps++) {
    const step = await promoteSome(context, limit - total.moved - total.buried);
    total.moved += step.moved;
    total.buried += step.buried;
    const { nextInMs, earliest } = step;
    if (nextInMs !== 0 || total.moved + total.buried >= limit || steps === MAX_STEPS) {
      return { ...total, nextInMs, earliest };
    }
  }
}

async function promoteSome(context: Context, limit: number): Promise<Promotion> {
  const args = { now: context.offset(), limit, maxBytes: MAX_BATCH_BYTES };
  const reply = await context.client.run(SCRIPTS.readDue, args, { bytes: true });
  const [now, sets, ...due] = reply as [number, Buffer, ...Buffer[]];
  const moves = due.map((bytes, i) => toQueue(context, sets[i] === RETRY ? SETS.retry : SETS.scheduled, bytes, now));
  const { made, now: later, nextInMs } = await makeMoves(context, moves);
  const buried = moves.filter((move, i) => made[i] && move.to === SETS.dead).length;
  const moved = made.filter(Boolean).length - buried;
  return { moved, buried, nextInMs, earliest: later + (nextInMs ?? Infinity) };
}

function toQueue(context: Context, set: string, bytes: Buffer, now: number): Move {
  const { text, exact } = member(bytes);
  try {
    const payload = setFields(text, { at: undefined, enqueued_at: wireTime(now, context.wire) });
    return { from: set, old: exact, to: queueKey(nameIn(text)), payload };
  } catch {
    return { from: set, old: exact, to: SETS.dead, payload: exact };
  }
}
