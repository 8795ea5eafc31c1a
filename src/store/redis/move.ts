/**
 * Makes moves in scripts that are short for the server and harmless when sent again:
 *
 *  1. A script has at most {@linkcode MAX_MOVES} moves and {@linkcode MAX_BYTES} of payloads. One that reaches deep into a queue
 *     has at most {@linkcode MAX_DEEP_MOVES}, because Redis finds each by a jump and removes all by one walk.
 *  2. One script is under way at a time. It has a number, which Redis remembers with the answer: a script sent again
 *     because its answer was lost does nothing, and returns that answer.
 *  3. Calls that wait for their turn share a script.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import { systemClock } from "../../clock.ts";
import { StoreError } from "../port/errors.ts";
import { MAX_RECORDS } from "../port/results.ts";
import type { Arg } from "./client/encode.ts";
import type { Context } from "./context.ts";
import { moverKey } from "./keys.ts";
import type { Move, Moved } from "./move_request.ts";
import { packRecord } from "./results.ts";
import { SCRIPTS } from "./client/scripts.ts";

const MAX_MOVES = 250;
/** A quarter of other batches: a script that moves a job within Redis copies it five times. A larger job goes alone. */
const MAX_BYTES = 1024 * 1024;
/** An entry this far from the front of its queue is deep: a jump to it takes up to 0.1 ms, and there are two. */
const DEEP = 2_000;
const MAX_DEEP_MOVES = 20;
/** Redis remembers a script's number for at least this long. */
const REMEMBER_MS = 60_000;

/** Moves that go in the same script. */
interface Part {
  readonly moves: readonly Move[];
  readonly resolve: (moved: Moved) => void;
  readonly reject: (error: unknown) => void;
}

/** Makes moves. */
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
   * Makes the moves, in order.
   *
   * @throws {StoreError} when Redis refuses, or is unreachable; then some may have been made
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
    await systemClock.turn();
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
      const { answers, ...rest } = await this.#runScript(parts.flatMap((part) => part.moves));
      let from = 0;
      for (const { moves, resolve } of parts) {
        const mine = [...answers.slice(from, from += moves.length)];
        resolve({
          ...rest,
          made: mine.map((answer) => answer === "1"),
          missed: mine.flatMap((answer, i) => answer === "?" ? [i] : []),
        });
      }
    } catch (error) {
      if (parts.length > 1 && error instanceof StoreError && !error.transient) {
        // One with a key of the wrong type must not fail the others.
        for (const part of parts) await this.#make([part]);
        return;
      }
      for (const part of parts) part.reject(error);
    }
  }

  async #runScript(moves: readonly Move[]): Promise<Pick<Moved, "now" | "nextInMs"> & { readonly answers: string }> {
    const { client, offset, deadLimits, waitMs } = this.#context;
    const keepReplyMs = `${Math.max(REMEMBER_MS, 3 * waitMs)}`;
    const args: Arg[] = [offset(), `${++this.#scripts}`, keepReplyMs, ...deadLimits, `${MAX_RECORDS}`];
    for (const { from, position, old, to, payload, unlock, record } of moves) {
      args.push(from, position === undefined ? "" : `${position}`, old, to, payload ?? "", unlock ?? "");
      args.push(...record === undefined ? ["", "", ""] : packRecord(record));
    }
    const [answers, now, next] = await client.run(SCRIPTS.move, [this.#key], args) as [string, number, number | ""];
    return { answers, now, nextInMs: next === "" ? undefined : next };
  }
}

/** How many of the moves, from the first on, fit into one script; at least one if there is one. */
function countFitting(moves: readonly Move[]): number {
  let bytes = 0;
  let most = MAX_MOVES;
  let count = 0;
  for (const { position = 0, old, payload = "", record } of moves) {
    bytes += old.length + payload.length + (record?.body.length ?? 0);
    if (position >= DEEP) most = MAX_DEEP_MOVES;
    if (count > 0 && (bytes > MAX_BYTES || count >= most)) break;
    count++;
  }
  return count;
}
