/**
 * Queues → leases.
 *
 * @module
 */
import type { StatementSync } from "node:sqlite";
import { ByteBudget } from "../port/batch_bytes.ts";
import { MAX_QUANTUM } from "../port/groups.ts";
import type { Lease, TakeRequest } from "../port/jobs.ts";
import { readBounded } from "./bounded_read.ts";
import type { Context } from "./context.ts";
import { advance, countReady, heal, highPriority, hold, limitOf, nextGroup, wakeDue } from "./groups.ts";
import { hasPauses, pausedFor } from "./group_pauses.ts";
import * as limits from "./limits.ts";
import { areAllPaused, grow, openQueue } from "./queues.ts";
import * as locks from "./unique_locks.ts";

/** The state of one take. */
interface Take {
  readonly worker: string;
  /** Unique among all takes: the tokens contain it. */
  readonly name: string;
  readonly budget: ByteBudget;
  readonly leases: Lease[];
}

/** A take holds at most this many full groups beyond the jobs it may take: the next one continues. */
const MAX_HELD_AT_ONCE = 100;

type QueuedRow = [id: number, payload: string];

/** `setReturnArrays` is missing in the types. */
type ArrayStatement = StatementSync & { setReturnArrays(on: boolean): void };

/** See `JobStore.take`. */
export function take(context: Context, { queues, limit, worker }: TakeRequest): Promise<Lease[]> {
  return context.commit.run(() => {
    const take: Take = { worker, name: context.newTakeName(), budget: new ByteBudget(), leases: [] };
    if (areAllPaused(context)) return take.leases;
    for (const name of queues) {
      const left = limit - take.leases.length;
      if (left <= 0 || take.budget.isSpent) break;
      const open = openQueue(context, name);
      if (open === undefined) continue;
      const { id: queue, limit: limited } = open;
      if (limited) limits.settle(context, limited);
      const most = limited ? Math.min(left, limits.room(context, limited)) : left;
      const count = open.hasGroups
        ? takeTurns(context, queue, name, most, take)
        : takeFrom(context, queue, { queue: name }, most, take);
      if (limited && count > 0) limits.note(context, limited, count);
    }
    return take.leases;
  }, { rows: limit, deferrable: true });
}

/** Takes the oldest jobs of a queue or a group. Returns their number. */
function takeFrom(
  context: Context,
  id: number,
  from: Pick<Lease, "queue" | "group">,
  most: number,
  take: Take,
): number {
  const { sql, now } = context;
  const { worker, name, budget, leases } = take;
  const rows = readBounded(
    { limit: most, budget },
    (count, after: QueuedRow | undefined) => oldest(context, id, after?.[0] ?? Number.MIN_SAFE_INTEGER, count),
    ([, payload]) => payload,
  );
  if (rows.length === 0) return 0;
  const [last] = rows.at(-1)!;
  sql(
    `INSERT INTO lease (job, queue, owner, take, at, grouped)
     SELECT job, queue, ?, ?, ?, ? FROM queued WHERE queue = ? AND job <= ?`,
  ).run(worker, name, now(), from.group === undefined ? 0 : 1, id, last);
  sql("DELETE FROM queued WHERE queue = ? AND job <= ?").run(id, last);
  grow(context, id, -rows.length);
  for (const [job, payload] of rows) {
    leases.push({ token: `${job}.${name}`, ...from, payload });
    locks.releaseStarted(context, payload);
  }
  return rows.length;
}

/** Takes from the groups of a queue in turn; its jobs without a group count as one of them. Returns the number of jobs. */
function takeTurns(context: Context, queue: number, name: string, most: number, take: Take): number {
  const { sql } = context;
  wakeDue(context, queue);
  const mayBePaused = hasPauses(context, queue);
  const high = highPriority(context, name);
  const row = sql("SELECT size, tag, vtime FROM queue WHERE id = ?").get(queue)!;
  let { size, tag, vtime } = row as unknown as { size: number; tag: number; vtime: number };
  let count = 0;
  let ready = countReady(context, queue, most) + (size > 0 ? 1 : 0);
  let looked = 0;
  while (count < most && !take.budget.isSpent && looked < most + MAX_HELD_AT_ONCE) {
    const group = nextGroup(context, queue, high);
    tag = Math.max(tag, vtime);
    const isUngrouped = size > 0 && (group === undefined || tag <= group.turn);
    if (group === undefined && !isUngrouped) {
      if (count > 0 || !heal(context, queue)) break;
      looked += MAX_HELD_AT_ONCE;
      continue;
    }
    looked++;
    const quantum = Math.min(MAX_QUANTUM, Math.max(1, Math.floor(most / Math.max(1, ready))));
    if (isUngrouped) {
      vtime = tag;
      const taken = takeFrom(context, queue, { queue: name }, Math.min(most - count, quantum), take);
      size -= taken;
      tag += taken;
      count += taken;
      if (taken === 0) break;
      continue;
    }
    const { id } = group!;
    const key = group!.name.slice(name.length + 1);
    const limit = limitOf(context, queue, key);
    const limited = { queue: id, ...limit };
    vtime = Math.max(vtime, group!.turn);
    limits.settle(context, limited);
    const pausedMs = mayBePaused ? pausedFor(context, queue, key) : 0;
    const opensInMs = limits.opensIn(context, limited);
    if (pausedMs > 0 || opensInMs !== 0) {
      const endMs = endOf(opensInMs, limit.until, context.now());
      hold(context, id, pausedMs === 0 ? endMs : pausedMs === Infinity ? undefined : pausedMs);
      ready--;
      continue;
    }
    const room = Math.min(most - count, limits.room(context, limited), Math.max(1, Math.floor(quantum * limit.weight)));
    const taken = takeFrom(context, id, { queue: name, group: key }, room, take);
    if (taken === 0) break;
    limits.note(context, limited, taken);
    sql("UPDATE queue SET tag = ? WHERE id = ?").run(Math.max(vtime, group!.tag) + taken / limit.weight, id);
    count += taken;
  }
  advance(context, queue, { vtime, tag, forget: 2 * (count + 1) });
  return count;
}

/** Reads the oldest jobs of a queue after a job, as arrays: objects take twice as long. */
function oldest(context: Context, queue: number, after: number, count: number): QueuedRow[] {
  const oldest = context.sql(
    `SELECT job.id, payload FROM queued CROSS JOIN job ON job.id = queued.job
     WHERE queued.queue = ? AND queued.job > ? ORDER BY queued.job LIMIT ?`,
  ) as ArrayStatement;
  oldest.setReturnArrays(true);
  return oldest.all(queue, after, count) as unknown as QueuedRow[];
}

/** Returns the milliseconds until a held group becomes ready: its limit opens, or ends. Undefined: when one of its leases ends. */
function endOf(opensInMs: number | undefined, until: number | undefined, now: number): number | undefined {
  return until === undefined ? opensInMs : Math.min(opensInMs ?? Infinity, Math.max(0, until - now));
}
