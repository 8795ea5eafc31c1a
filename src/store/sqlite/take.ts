/**
 * Queues → leases: which jobs may be taken now, and taking them.
 *
 * @module
 */
import { BATCH_FIELD, batchIn } from "../../job/batch.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import type { Lease, TakeRequest } from "../port/jobs.ts";
import { asideIsReadyIn, type LeaseAside, takeAside } from "../sql/asides.ts";
import { direct, runNow } from "../sql/body.ts";
import { advance } from "../sql/group_rows.ts";
import { numberOf } from "../sql/leases.ts";
import * as limits from "../sql/limits.ts";
import { areAllPaused, openQueue } from "../sql/open_queues.ts";
import { grow } from "../sql/queue_rows.ts";
import { type Context, DIALECT } from "./context.ts";
import * as groups from "./groups.ts";
import type { QueueName, ReadyGroup } from "./groups.ts";
import { type QueuedRow, readOldest } from "./queues.ts";
import { Turns } from "../sql/turns.ts";
import { lockUntilStart, unlock } from "../sql/push_keys.ts";

/** A queue that gives a job within this time is checked often: the check reads all starts that count. */
const SOON_MS = 1_000;
/** A take holds at most this many full groups beyond the jobs it may take: the next one continues. */
const MAX_HELD_AT_ONCE = 100;

/** The state of one take. */
interface Take {
  readonly worker: string;
  /** Unique among the takes of the worker: the tokens contain it. */
  readonly number: number;
  /** See `TakeRequest.minTurn`. */
  readonly minTurn: number;
  readonly budget: ByteBudget;
  readonly leases: Lease[];
}

/** See `JobStore.take`. No reply can be lost: the store is in this process. */
export function take(context: Context, { queues, limit, worker, minTurn = 1, classes }: TakeRequest): Promise<Lease[]> {
  if (limit < 1) return Promise.resolve([]);
  return context.commit.run(() => {
    const { sql } = context;
    const now = context.now();
    const take: Take = { worker, number: context.newTake(), minTurn, budget: new ByteBudget(), leases: [] };
    if (runNow(areAllPaused(now), sql)) return take.leases;
    for (const name of queues) {
      const left = limit - take.leases.length;
      if (left <= 0 || take.budget.isSpent) break;
      const open = runNow(openQueue(name, now), sql);
      if (open === undefined) continue;
      const { id, limit: limited } = open;
      if (limited) runNow(limits.settle(limited, now), sql);
      const most = limited ? Math.min(left, runNow(limits.room(limited, now), sql)) : left;
      let count = open.hasAside ? leaseAside(context, { id, name }, classes, most, take) : 0;
      count += open.hasGroups
        ? leaseInTurn(context, { id, name }, most - count, take)
        : leaseOldest(context, { id, name }, most - count, take);
      if (limited && count > 0) runNow(limits.note(limited, count, now), sql);
    }
    return take.leases;
  }, { rows: limit, deferrable: true });
}

/** Returns whether a queue has jobs that may be taken; "soon" if one may be taken within {@linkcode SOON_MS}. */
export function hasWork(context: Context, name: string, classes?: readonly string[]): boolean | "soon" {
  const { sql, now } = context;
  const open = runNow(openQueue(name, now()), sql);
  if (open === undefined || runNow(areAllPaused(now()), sql)) return false;
  const opensInMs = open.limit === undefined ? 0 : runNow(limits.opensIn(open.limit, now()), sql);
  let readyInMs = open.grouped > 0 && !open.hasUngrouped ? groups.readyIn(context, open.id) : 0;
  if (readyInMs !== 0 && open.hasAside) {
    const asideInMs = runNow(asideIsReadyIn({ id: open.id, name }, classes, now()), sql);
    if (asideInMs !== undefined) readyInMs = Math.min(readyInMs ?? Infinity, asideInMs);
  }
  const inMs = opensInMs === undefined || readyInMs === undefined ? undefined : Math.max(opensInMs, readyInMs);
  return inMs === 0 || inMs !== undefined && inMs <= SOON_MS && "soon";
}

/** Leases jobs of a queue that wait aside for these classes. Returns their number. */
function leaseAside(
  context: Context,
  queue: QueueName,
  classes: readonly string[] | undefined,
  most: number,
  take: Take,
): number {
  const { sql, now } = context;
  const lease: LeaseAside = (place, { id, group, fromGroup }, room) =>
    direct(() => {
      if (take.budget.isSpent) return 0;
      const rows = readOldest(context, place, { limit: room, budget: take.budget });
      if (rows.length === 0) return 0;
      const [last] = rows.at(-1)!;
      sql(
        `INSERT INTO lease (job, queue, worker_id, take, at, from_group)
         SELECT job, ?, ?, ?, ?, ? FROM queued WHERE queue = ? AND job <= ?`,
      ).run(id, runNow(numberOf(take.worker), sql), take.number, now(), fromGroup, place, last);
      sql("DELETE FROM queued WHERE queue = ? AND job <= ?").run(place, last);
      runNow(grow(place, -rows.length), sql);
      addLeases(context, rows, { queue: queue.name, ...(group !== undefined && { group }) }, take);
      return rows.length;
    });
  return runNow(takeAside(queue, classes, most, now(), lease), sql);
}

/** Leases the oldest jobs of a queue, without those of its groups. Returns their number. */
function leaseOldest(context: Context, { id, name }: QueueName, most: number, take: Take): number {
  const { sql, now } = context;
  const rows = readOldest(context, id, { limit: most, budget: take.budget });
  if (rows.length === 0) return 0;
  const [last] = rows.at(-1)!;
  sql(
    "INSERT INTO lease (job, queue, worker_id, take, at) SELECT job, queue, ?, ?, ? FROM queued WHERE queue = ? AND job <= ?",
  ).run(runNow(numberOf(take.worker), sql), take.number, now(), id, last);
  sql("DELETE FROM queued WHERE queue = ? AND job <= ?").run(id, last);
  runNow(grow(id, -rows.length), sql);
  addLeases(context, rows, { queue: name }, take);
  return rows.length;
}

/** Adds the leases of jobs to the take's result, and releases the locks that last until a job starts. */
function addLeases(
  context: Context,
  rows: readonly QueuedRow[],
  from: Pick<Lease, "queue" | "group">,
  take: Take,
): void {
  const cancelled = new CancelledBatches(context);
  for (const [job, payload] of rows) {
    const lease: Lease = { token: `${job}.${take.number}`, ...from, payload };
    take.leases.push(cancelled.has(payload) ? { ...lease, cancelled: true } : lease);
    const started = lockUntilStart(payload);
    if (started) runNow(unlock(started.key, started.jid), context.sql);
  }
}

/** Leases jobs of a queue that has groups. Jobs without a group count as one of them. Returns the number of jobs. */
function leaseInTurn(context: Context, queue: QueueName, most: number, take: Take): number {
  const { sql } = context;
  const now = context.now();
  groups.wakeDue(context, queue.id);
  const { minTurn, budget } = take;
  const mayBePaused = runNow(limits.hasPauses(queue.id, now), sql);
  const mayBeLimited = runNow(limits.hasLimits(queue.id), sql);
  const row = sql("SELECT size, tag, vtime FROM queue WHERE id = ?").get(queue.id)!;
  const high = groups.highPriority(context, queue.name);
  const turns = new Turns<ReadyGroup>({
    ...row as unknown as { size: number; tag: number; vtime: number },
    high,
    ready: groups.countReady(context, queue.id, Math.ceil(most / minTurn)),
    most,
    minTurn,
  });
  let reader = new groups.GroupReader(context, queue, high, most, minTurn);
  turns.add(reader.high(), turns.unread);
  const changes = new Changes(context, take, mayBeLimited);
  let looked = 0;
  while (turns.count < most && !budget.isSpent && looked < most + MAX_HELD_AT_ONCE) {
    for (let unread; (unread = turns.unread) !== undefined;) turns.add(...reader.after(unread));
    const group = turns.begin();
    if (group === undefined) {
      if (turns.count > 0 || !groups.heal(context, queue.id)) break;
      reader = new groups.GroupReader(context, queue, high, most, minTurn);
      turns.restart();
      turns.add(reader.high(), turns.unread);
      looked += MAX_HELD_AT_ONCE;
      continue;
    }
    looked++;
    if (group === "ungrouped") {
      const taken = leaseOldest(context, queue, turns.room(), take);
      turns.end(group, taken);
      if (taken === 0) break;
      continue;
    }
    const { id, key } = group;
    const limit = runNow(limits.limitOf(mayBeLimited ? queue.id : undefined, key, now), sql);
    const limited = { queue: id, isGroup: true, ...limit };
    const isLimited = limit.running !== undefined || limit.starts !== undefined;
    let room = turns.room(limit.weight);
    if (isLimited || mayBePaused) {
      // The leases of an earlier turn count.
      if (group.unwritten > 0) changes.write();
      runNow(limits.settle(limited, now), sql);
      const pausedMs = mayBePaused ? runNow(limits.pausedFor(queue.id, key, now), sql) : 0;
      const opensInMs = runNow(limits.opensIn(limited, now), sql);
      if (pausedMs > 0 || opensInMs !== 0) {
        const endMs = endOf(opensInMs, limit.until, now);
        groups.hold(context, id, pausedMs === 0 ? endMs : pausedMs === Infinity ? undefined : pausedMs);
        turns.hold();
        continue;
      }
      room = Math.min(room, runNow(limits.room(limited, now), sql));
    }
    const rows = groups.readJobs(context, group, room, budget);
    if (rows.length === 0) break;
    addLeases(context, rows, { queue: queue.name, group: key }, take);
    runNow(limits.note(limited, rows.length, now), sql);
    changes.add(group, rows);
    turns.end(group, rows.length, limit.weight);
  }
  changes.write();
  const after = { ...turns.times, grouped: changes.total, forget: 2 * (turns.count + 1) };
  runNow(advance(DIALECT, queue.id, after, now), sql);
  return turns.count;
}

/** The changes of groups by one take, which are written together: a statement per group takes three times as long. */
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
    ).run(groups, runNow(numberOf(worker), sql), number, now(), this.#fromGroup);
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

/** Something like the batch of a payload; or of an argument. */
const BATCH_IN = new RegExp(`"${BATCH_FIELD}"\\s*:\\s*"([^"\\\\]+)"`, "g");

/** Finds jobs of cancelled batches. Keeps what it has read: for one transaction. */
class CancelledBatches {
  readonly #context: Context;
  #known: Map<string, boolean> | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Returns whether a job belongs to a cancelled batch. Parses only payloads that contain the ID of one. */
  has(payload: string): boolean {
    if (!payload.includes(`"${BATCH_FIELD}"`)) return false;
    for (const [, id] of payload.matchAll(BATCH_IN)) if (this.#isCancelled(id!) && batchIn(payload) === id) return true;
    return false;
  }

  #isCancelled(id: string): boolean {
    this.#known ??= new Map();
    let is = this.#known.get(id);
    if (is === undefined) {
      const cancelled = "SELECT 1 FROM batch WHERE id = ? AND closed_as = 'cancelled'";
      this.#known.set(id, is = this.#context.sql(cancelled).get(id) !== undefined);
    }
    return is;
  }
}
