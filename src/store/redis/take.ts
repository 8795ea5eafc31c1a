/**
 * Queues → leases. `lease_book.ts` explains why a lost reply strands no lease.
 *
 * @module
 */
import { asideClass } from "../../job/aside.ts";
import { MAX_BATCH_BYTES } from "../port/batch_bytes.ts";
import { splitName } from "../port/groups.ts";
import type { Lease, TakeRequest } from "../port/jobs.ts";
import { isOutcomeUnknown } from "./client/errors.ts";
import { SCRIPTS } from "./client/scripts.ts";
import { type Context, retryLostReply } from "./context.ts";
import { leasesKey } from "./keys.ts";
import type { LeaseBook } from "../ops/lease_book.ts";

/** The number of a take's first token. It has five digits, so that tokens sort as text. */
const FIRST_PLACE = 10_000;

/** See `JobStore.take`. */
export async function take(context: Context, book: LeaseBook, request: TakeRequest): Promise<Lease[]> {
  const { queues, limit, worker } = request;
  return await retryLostReply(context, async () => {
    await reconcile(context, book, worker);
    if ((limit < 1 || queues.length === 0) && !book.hasLostTakes(worker)) return [];
    return await takeOnce(context, book, request);
  });
}

/** See `JobStore.stillLeased`. */
export async function stillLeased(
  { client }: Context,
  book: LeaseBook,
  worker: string,
  tokens?: readonly string[],
): Promise<string[]> {
  if (tokens === undefined) return await client.call(["HKEYS", leasesKey(worker)]) as string[];
  const still = await client.run(SCRIPTS.stillLeased, { leases: leasesKey(worker), tokens }) as string[];
  const left = new Set(still);
  book.drop(worker, tokens.filter((token) => !left.has(token)));
  return still;
}

async function takeOnce(context: Context, book: LeaseBook, request: TakeRequest): Promise<Lease[]> {
  const { queues, limit, worker, minTurn = 1 } = request;
  const { client, offset } = context;
  const names = book.beginTake(worker);
  const bounds = { maxJobs: Math.floor(limit), maxBytes: MAX_BATCH_BYTES, minTurn };
  const args = {
    leasesKey: leasesKey(worker),
    now: offset(),
    worker,
    id: names.name,
    ...bounds,
    classes: packClasses(request.classes),
    lost: names.lost,
    queues,
  };
  try {
    const reply = await client.run(SCRIPTS.take, args, { repeatable: false });
    const leases = readLeases(reply as TakeReply);
    book.endTake(worker, names, leases);
    return leases;
  } catch (error) {
    book.failTake(worker, names, isOutcomeUnknown(error));
    throw error;
  }
}

/** A worker passes the same list with each take. */
const packed = new WeakMap<readonly string[], string>();

/** Returns classes as scripts take them. */
export function packClasses(classes: readonly string[] | undefined): string {
  if (classes === undefined) return "";
  let text = packed.get(classes);
  if (text === undefined) packed.set(classes, text = JSON.stringify(classes.map(asideClass)));
  return text;
}

/** Returns leases to their queues that Redis has for this worker, but the book doesn't, and drops those that only the book has. */
async function reconcile(context: Context, book: LeaseBook, worker: string): Promise<void> {
  const { client } = context;
  const tokens = book.tokensToCheck(worker);
  if (tokens.length > 0) await stillLeased(context, book, worker, tokens);
  await book.reconcile(worker, client.losses, async ({ unanswered, held, last }) => {
    const args = { leases: leasesKey(worker), prefix: book.prefix, last, unanswered: [...unanswered], held: [...held] };
    // Not sent again unchanged: by then the worker may hold more.
    await client.run(SCRIPTS.reconcileLeases, args, { repeatable: false });
  });
}

/** Returns the name of the queue or the group that a lease was taken from. */
export function queueOf(token: string): string {
  return token.slice(token.indexOf(":") + 1);
}

/** Returns when a lease was taken, in epoch milliseconds. */
export function takenAt(token: string): number {
  return parseInt(token.slice(0, 11), 16);
}

/** See `lua/take.lua`. */
type TakeReply = [prefix: string, again: string[], cancelled: number[], ...queues: string[][]];

function readLeases([prefix, again, cancelled, ...queues]: TakeReply): Lease[] {
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
  for (const number of cancelled) leases[number - 1] = { ...leases[number - 1]!, cancelled: true };
  return leases;
}
