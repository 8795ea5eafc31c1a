/**
 * Moves entries in scripts that are short for the server and can be sent again:
 *
 *  1. A script has at most {@linkcode MAX_MOVES} moves and {@linkcode MAX_BYTES} of payloads. A script with entries deep in a
 *     queue has at most {@linkcode MAX_DEEP_MOVES} moves, because Redis jumps to each and removes all in one walk.
 *  2. One script is in flight at a time. It has a number, which Redis keeps with the reply: a script sent again because its
 *     reply was lost does nothing, and returns that reply.
 *  3. Waiting calls share a script.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import { StoreError } from "../port/errors.ts";
import { MAX_RECORDS } from "../port/results.ts";
import { type Context, keepReplyMs } from "./context.ts";
import { moverKey } from "./keys.ts";
import { type Move, type Moved, packFollow } from "./move_request.ts";
import { packRecord } from "./results.ts";
import { SCRIPTS } from "./client/scripts.ts";

const MAX_MOVES = 250;
/** A quarter of other batches: a script that moves a job copies it five times within Redis. A larger job goes alone. */
const MAX_BYTES = 1024 * 1024;
/** An entry at this distance from the front of its queue is deep: each of two jumps to it takes up to 0.1 ms. */
const MIN_DEEP_POSITION = 2_000;
const MAX_DEEP_MOVES = 20;

/** A call whose moves go in one script. */
interface Part {
  readonly moves: readonly Move[];
  readonly resolve: (moved: Moved) => void;
  readonly reject: (error: unknown) => void;
}

/** Moves entries. */
export class Mover {
  readonly #context: Omit<Context, "mover">;
  readonly #key = moverKey(randomUUID());
  #scripts = 0;
  #waiting: Part[] = [];
  #running = false;

  constructor(context: Omit<Context, "mover">) {
    this.#context = context;
  }

  /**
   * Makes the moves in order.
   *
   * @throws {StoreError} if Redis rejects a script or is unreachable; some moves may have been made
   */
  async make(moves: readonly Move[]): Promise<Moved> {
    const made: boolean[] = [];
    const missed: number[] = [];
    for (let rest = moves;;) {
      const part = rest.slice(0, countFitting(rest));
      const step = await this.#send(part);
      missed.push(...step.missed.map((i) => made.length + i));
      made.push(...step.made);
      rest = rest.slice(part.length);
      if (rest.length === 0) return { ...step, made, missed };
    }
  }

  #send(moves: readonly Move[]): Promise<Moved> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ moves, resolve, reject });
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    // Calls of the same turn share a script.
    await this.#context.client.clock.turn();
    while (this.#waiting.length > 0) {
      const moves = this.#waiting.flatMap((part) => part.moves);
      const fitting = countFitting(moves);
      let count = 0;
      for (let left = fitting; count < this.#waiting.length; count++) {
        left -= this.#waiting[count]!.moves.length;
        if (count > 0 && left < 0) break;
      }
      await this.#make(this.#waiting.splice(0, count));
    }
    this.#running = false;
  }

  async #make(parts: readonly Part[]): Promise<void> {
    try {
      const { states, ...rest } = await this.#runScript(parts.flatMap((part) => part.moves));
      let from = 0;
      for (const { moves, resolve } of parts) {
        const mine = [...states.slice(from, from += moves.length)];
        resolve({
          ...rest,
          made: mine.map((state) => state === "1"),
          missed: mine.flatMap((state, i) => state === "?" ? [i] : []),
        });
      }
    } catch (error) {
      if (parts.length > 1 && error instanceof StoreError && !error.transient) {
        // A call with a key of the wrong type must not fail the others.
        for (const part of parts) await this.#make([part]);
        return;
      }
      for (const part of parts) part.reject(error);
    }
  }

  async #runScript(moves: readonly Move[]): Promise<Pick<Moved, "now" | "nextInMs"> & { readonly states: string }> {
    const { client, offset, deadLimits, wire } = this.#context;
    const [maxDead, maxDeadAgeMs] = deadLimits;
    const args = {
      done: this.#key,
      ...{ now: offset(), number: ++this.#scripts, keepMs: keepReplyMs(this.#context) },
      ...{ maxDead, maxDeadAgeMs, maxRecords: MAX_RECORDS, wire },
      moves: moves.map(({ from, position, old, to, payload, unlock, record, follow = [] }) => {
        const [jid, ttl, body] = record ? packRecord(record) : [];
        return {
          ...{ from, position, old, to, new: payload, jid: unlock, record: jid, ttl, body },
          follow: packFollow(follow),
        };
      }),
    };
    const [states, now, next] = await client.run(SCRIPTS.move, args) as [string, number, number | ""];
    return { states, now, nextInMs: next === "" ? undefined : next };
  }
}

/** Returns how many of the first moves fit in one script; at least one if there is one. */
function countFitting(moves: readonly Move[]): number {
  let bytes = 0;
  let max = MAX_MOVES;
  let count = 0;
  for (const { position = 0, old, payload = "", record, follow = [] } of moves) {
    bytes += old.length + payload.length + (record?.body.length ?? 0);
    for (const job of follow) bytes += job.payload.length;
    if (position >= MIN_DEEP_POSITION) max = MAX_DEEP_MOVES;
    if (count > 0 && (bytes > MAX_BYTES || count >= max)) break;
    count++;
  }
  return count;
}
