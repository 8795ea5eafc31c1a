/**
 * Queues → leases. Nothing stays with a process that does not know of it:
 *
 *  1. A taking whose answer was lost is named to the next one, which hands its leases over. A worker that takes no more
 *     gives them back instead.
 *  2. After every break of the connection, leases that this process has not are given back: it has settled them, and the
 *     server has lost its memory of that.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { MAX_BATCH_BYTES } from "../port/batch_bytes.ts";
import { splitName } from "../port/groups.ts";
import type { Lease, TakeRequest } from "../port/jobs.ts";
import { type Context, insist } from "./context.ts";
import type { LeaseCache } from "./lease_cache.ts";
import { leasesKey } from "./keys.ts";
import { isOutcomeUnknown } from "./client/errors.ts";
import { SCRIPTS } from "./client/scripts.ts";

/** The place in its taking that the first token has (five digits, so that tokens sort as text). */
const FIRST_PLACE = 10_000;

/** Takes jobs. */
export class Taker {
  readonly #context: Context;
  readonly #nonce = randomBytes(4).toString("hex");
  #takings = 0;
  /** By owner: takings under way, and those that may have happened. */
  readonly #unanswered = new Map<string, Set<string>>();
  readonly #underWay = new Set<string>();
  readonly #holdings: LeaseCache;
  /** By owner: how often the connection had been lost when holdings were last compared. */
  readonly #compared = new Map<string, number>();

  constructor(context: Context, holdings: LeaseCache) {
    this.#context = context;
    this.#holdings = holdings;
  }

  /** See `JobStore.take`. */
  async take(request: TakeRequest): Promise<Lease[]> {
    if (request.limit < 1 || request.queues.length === 0) return [];
    return await insist(this.#context, () => this.#take(request));
  }

  async #take({ queues, limit, owner }: TakeRequest): Promise<Lease[]> {
    const { client, offset } = this.#context;
    await this.#compare(owner);
    const name = this.#newName();
    const unanswered = this.#unansweredOf(owner);
    const lost = this.#lostOf(owner);
    const head = [offset(), owner, name, `${Math.floor(limit)}`, `${MAX_BATCH_BYTES}`];
    const args = [...head, `${lost.length}`, ...lost, ...queues];
    unanswered.add(name);
    this.#underWay.add(name);
    try {
      const reply = await client.run(SCRIPTS.take, [leasesKey(owner)], args, { repeatable: false });
      const leases = readLeases(reply as [string, string[], ...string[][]]);
      for (const answered of [name, ...lost]) unanswered.delete(answered);
      this.#holdings.add(owner, leases);
      return leases;
    } catch (error) {
      if (!isOutcomeUnknown(error)) unanswered.delete(name);
      throw error;
    } finally {
      this.#underWay.delete(name);
    }
  }

  /** See `JobStore.returnUnanswered`. */
  async returnUnanswered(owner: string): Promise<void> {
    await insist(this.#context, () => this.#returnUnanswered(owner));
  }

  /** Takes nothing: the script gives back what exceeds the limit of 0. */
  async #returnUnanswered(owner: string): Promise<void> {
    const { client, offset } = this.#context;
    await this.#compare(owner);
    const lost = this.#lostOf(owner);
    if (lost.length === 0) return;
    const args = [offset(), owner, this.#newName(), "0", "0", `${lost.length}`, ...lost];
    await client.run(SCRIPTS.take, [leasesKey(owner)], args, { repeatable: false });
    for (const name of lost) this.#unansweredOf(owner).delete(name);
  }

  /** Gives back what the server thinks this process has, and it has not. */
  async #compare(owner: string): Promise<void> {
    const { client } = this.#context;
    const before = this.#compared.get(owner);
    this.#compared.set(owner, client.losses);
    if (before === undefined || before === client.losses) return;
    const unanswered = this.#unansweredOf(owner);
    const args = [this.#nonce, `${unanswered.size}`, ...unanswered, ...this.#holdings.of(owner)];
    try {
      await client.run(SCRIPTS.reconcile, [leasesKey(owner)], args, { repeatable: false });
    } catch (error) {
      // Not sent again as it is: what this process has may be more by then.
      this.#compared.set(owner, before);
      throw error;
    }
  }

  #newName(): string {
    return this.#nonce + (++this.#takings >>> 0).toString(16).padStart(8, "0");
  }

  /** Takings that may have happened, and whose answer does not come any more. */
  #lostOf(owner: string): string[] {
    return [...this.#unansweredOf(owner)].filter((name) => !this.#underWay.has(name));
  }

  #unansweredOf(owner: string): Set<string> {
    let names = this.#unanswered.get(owner);
    if (!names) this.#unanswered.set(owner, names = new Set());
    return names;
  }
}

/** The name of the queue or the group that a lease was taken from. */
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
    leases.push({ token: again[i]!, ...splitName(queueOf(again[i]!)), payload: again[i + 1]! });
  }
  let place = FIRST_PLACE;
  for (const jobs of queues) {
    const name = jobs.pop()!;
    const from = splitName(name);
    for (const payload of jobs) leases.push({ token: `${prefix}${place++}:${name}`, ...from, payload });
  }
  return leases;
}
