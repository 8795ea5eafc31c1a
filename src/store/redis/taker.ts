/**
 * Queues → leases. A taking whose answer was lost is named to the next one, which hands its leases over: nothing stays
 * with a process that does not know of it.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import type { Lease, TakeRequest } from "../store.ts";
import { type Context, insist } from "./context.ts";
import { leasesKey } from "./keys.ts";
import { isUnknown } from "./refusals.ts";
import { SCRIPTS } from "./script.ts";

/** The place in its taking that the first token has (five digits, so that tokens sort as text). */
const FIRST_PLACE = 10_000;

/** Takes jobs. */
export class Taker {
  readonly #context: Context;
  readonly #nonce = randomBytes(4).toString("hex");
  #takings = 0;
  /** By owner: takings that may have happened. */
  readonly #unanswered = new Map<string, string[]>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** See `Store.take`. */
  async take(request: TakeRequest): Promise<Lease[]> {
    if (request.limit < 1 || request.queues.length === 0) return [];
    return await insist(this.#context, () => this.#take(request));
  }

  async #take({ queues, limit, owner }: TakeRequest): Promise<Lease[]> {
    const { link, offset } = this.#context;
    const name = this.#nonce + (++this.#takings >>> 0).toString(16).padStart(8, "0");
    const unanswered = this.#unanswered.get(owner) ?? [];
    const args = [offset(), owner, name, `${Math.floor(limit)}`, `${unanswered.length}`, ...unanswered, ...queues];
    try {
      const reply = await link.run(SCRIPTS.take, [leasesKey(owner)], args, { repeatable: false });
      this.#unanswered.delete(owner);
      return readLeases(reply as [string, string[], ...string[][]]);
    } catch (error) {
      if (isUnknown(error)) this.#unanswered.set(owner, [...unanswered, name]);
      throw error;
    }
  }
}

/** The queue that a lease was taken from. */
export function queueOf(token: string): string {
  return token.slice(token.indexOf(":") + 1);
}

/** When a lease was taken. */
export function takenAt(token: string): number {
  return parseInt(token.slice(0, 11), 16);
}

function readLeases([prefix, again, ...queues]: [string, string[], ...string[][]]): Lease[] {
  const leases: Lease[] = [];
  for (let i = 0; i < again.length; i += 2) {
    leases.push({ token: again[i]!, queue: queueOf(again[i]!), payload: again[i + 1]! });
  }
  let place = FIRST_PLACE;
  for (const jobs of queues) {
    const queue = jobs.pop()!;
    for (const payload of jobs) leases.push({ token: `${prefix}${place++}:${queue}`, queue, payload });
  }
  return leases;
}
