/**
 * Leases jobs from the groups of a queue in turn: see `port/groups.ts`. A take reads the groups in the order of their turns, and
 * writes the changes of all of them together: a statement per group would take three times as long.
 *
 * @module
 */
import { MAX_QUANTUM } from "../port/groups.ts";
import type { Context } from "./context.ts";
import { hasPauses, pausedFor } from "./group_pauses.ts";
import { advance, countReady, hasLimits, heal, hold, limitOf, wakeDue } from "./groups.ts";
import { addLeases, leaseOldest, type QueuedRow, type Take } from "./leasing.ts";
import { numberOf } from "./lease_workers.ts";
import * as limits from "./limits.ts";
import { type ReadyGroup, ReadyGroups } from "./ready_groups.ts";

/** A take holds at most this many full groups beyond the jobs it may take: the next one continues. */
const MAX_HELD_AT_ONCE = 100;

/** Leases jobs of a queue that has groups. Jobs without a group count as one of them. Returns the number of jobs. */
export function leaseInTurn(
  context: Context,
  queue: { readonly id: number; readonly name: string },
  most: number,
  take: Take,
): number {
  const { sql, now } = context;
  wakeDue(context, queue.id);
  const mayBePaused = hasPauses(context, queue.id);
  const mayBeLimited = hasLimits(context, queue.id);
  const row = sql("SELECT size, tag, vtime FROM queue WHERE id = ?").get(queue.id)!;
  let { size, tag, vtime } = row as unknown as { size: number; tag: number; vtime: number };
  let count = 0;
  let ready = countReady(context, queue.id, Math.ceil(most / take.minTurn)) + (size > 0 ? 1 : 0);
  let looked = 0;
  let groups = new ReadyGroups(context, queue, most, take.minTurn);
  const changes = new Changes(context, take, mayBeLimited);
  while (count < most && !take.budget.isSpent && looked < most + MAX_HELD_AT_ONCE) {
    const group = groups.first();
    tag = Math.max(tag, vtime);
    const isUngrouped = size > 0 && (group === undefined || tag <= groups.turnOf(group));
    if (group === undefined && !isUngrouped) {
      if (count > 0 || !heal(context, queue.id)) break;
      groups = new ReadyGroups(context, queue, most, take.minTurn);
      looked += MAX_HELD_AT_ONCE;
      continue;
    }
    looked++;
    const quantum = Math.min(MAX_QUANTUM, Math.max(take.minTurn, Math.floor(most / Math.max(1, ready))));
    if (isUngrouped) {
      vtime = tag;
      const taken = leaseOldest(context, queue.id, queue.name, Math.min(most - count, quantum), take);
      size -= taken;
      tag += taken;
      count += taken;
      if (taken === 0) break;
      continue;
    }
    const { id, key } = group!;
    vtime = Math.max(vtime, groups.turnOf(group!));
    groups.removeFirst();
    const limit = limitOf(context, mayBeLimited ? queue.id : undefined, key);
    const limited = { queue: id, isGroup: true, ...limit };
    const isLimited = limit.running !== undefined || limit.starts !== undefined;
    let room = Math.min(most - count, Math.max(1, Math.floor(quantum * limit.weight)));
    if (isLimited || mayBePaused) {
      // The leases of an earlier turn count.
      if (group!.unwritten > 0) changes.write();
      limits.settle(context, limited);
      const pausedMs = mayBePaused ? pausedFor(context, queue.id, key) : 0;
      const opensInMs = limits.opensIn(context, limited);
      if (pausedMs > 0 || opensInMs !== 0) {
        const endMs = endOf(opensInMs, limit.until, now());
        hold(context, id, pausedMs === 0 ? endMs : pausedMs === Infinity ? undefined : pausedMs);
        ready--;
        continue;
      }
      room = Math.min(room, limits.room(context, limited));
    }
    const rows = groups.read(group!, room, take);
    if (rows.length === 0) break;
    addLeases(context, rows, { queue: queue.name, group: key }, take);
    limits.note(context, limited, rows.length);
    group!.tag = Math.max(vtime, group!.tag) + rows.length / limit.weight;
    changes.add(group!, rows);
    count += rows.length;
    if (group!.size > 0) groups.add(group!);
  }
  changes.write();
  advance(context, queue.id, { vtime, tag, grouped: changes.total, forget: 2 * (count + 1) });
  return count;
}

/** The changes of groups by one take. */
class Changes {
  readonly #context: Context;
  readonly #take: Take;
  readonly #fromGroup: number;
  #groups = new Set<ReadyGroup>();
  #total = 0;

  /** @param isCounted the queue may have limits of groups */
  constructor(context: Context, take: Take, isCounted: boolean) {
    this.#context = context;
    this.#take = take;
    this.#fromGroup = isCounted ? limits.COUNTED : limits.UNCOUNTED;
  }

  /** The number of jobs that were added. */
  get total(): number {
    return this.#total;
  }

  /** Adds jobs of a group that are leased. */
  add(group: ReadyGroup, rows: readonly QueuedRow[]): void {
    group.unwritten += rows.length;
    group.size -= rows.length;
    group.last = rows.at(-1)![0];
    group.oldest = group.oldest.slice(rows.length);
    this.#groups.add(group);
    this.#total += rows.length;
  }

  /** Writes the changes that aren't written. */
  write(): void {
    if (this.#groups.size === 0) return;
    const { sql, now } = this.#context;
    const { worker, number } = this.#take;
    const groups = JSON.stringify(
      Array.from(this.#groups, ({ id, last, unwritten, tag }) => [id, last, unwritten, tag]),
    );
    sql(
      `INSERT INTO lease (job, queue, worker_id, take, at, from_group)
       SELECT job, queue, ?2, ?3, ?4, ?5 FROM json_each(?1) CROSS JOIN queued ON queue = value ->> 0 AND job <= value ->> 1
       ORDER BY job`,
    ).run(groups, numberOf(this.#context, worker), number, now(), this.#fromGroup);
    const remove = sql("DELETE FROM queued WHERE queue = ? AND job <= ?");
    for (const { id, last } of this.#groups) remove.run(id, last!);
    // With its tag, so that no trigger writes the rest.
    sql(
      `UPDATE queue SET size = size - taken, tag = next, state = iif(size > taken, state, 0)
       FROM (SELECT value ->> 0 AS changed, value ->> 2 AS taken, value ->> 3 AS next FROM json_each(?)) WHERE id = changed`,
    ).run(groups);
    for (const group of this.#groups) group.unwritten = 0;
    this.#groups.clear();
  }
}

/** Returns the milliseconds until a held group becomes ready: its limit opens, or ends. Undefined: when one of its leases ends. */
function endOf(opensInMs: number | undefined, until: number | undefined, now: number): number | undefined {
  return until === undefined ? opensInMs : Math.min(opensInMs ?? Infinity, Math.max(0, until - now));
}
