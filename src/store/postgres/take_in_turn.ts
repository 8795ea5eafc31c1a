/**
 * Queues with groups or limits → leases. A take has the lock of the queue, so that takes count the same leases.
 *
 * Pushes and the ends of leases have no lock: they add rows to `size_change`, which a take folds into the rows of the groups.
 *
 * @module
 */
import { laneOf } from "../../job/priority.ts";
import { nameOf, splitName } from "../port/groups.ts";
import type { Lease } from "../port/jobs.ts";
import { ALL_QUEUES } from "../port/paused_queues.ts";
import { type Body, lock, query, type Row } from "../sql/body.ts";
import { type LeaseAside, takeAside } from "../sql/asides.ts";
import { advance, groupIn } from "../sql/group_rows.ts";
import * as limits from "../sql/limits.ts";
import { openQueue } from "../sql/open_queues.ts";
import { type Group, type Place, Turns } from "../sql/turns.ts";
import { array } from "./values.ts";
import { DIALECT, type Runner } from "./engine.ts";

/** A take holds at most this many full groups beyond the jobs it may take: the next one continues. */
const MAX_HELD_AT_ONCE = 100;
/** Groups that are read together. */
const MIN_READ = 16;
const MAX_READ = 128;
/** Maximum number of held groups that a take checks if it found no other job. A change of the clock may have left one behind. */
const MAX_HEALED = 5;

/** The request of a take. */
interface Wanted {
  readonly queues: readonly string[];
  readonly limit: number;
  readonly bytes: number;
  readonly worker: string;
  readonly minTurn: number;
  readonly take: number;
  readonly classes: readonly string[] | undefined;
}

interface QueueName {
  readonly id: number;
  readonly name: string;
}

/** A group that is ready. */
interface ReadyGroup extends Group {
  readonly key: string;
}

/** Takes jobs of queues in their order. */
export function* takeInTurn(runner: Runner, wanted: Wanted, now: number): Body<Lease[]> {
  const { queues, limit, worker, take: number } = wanted;
  // A take whose reply is lost may arrive after it was given up: see the function `take`.
  yield lock(`take:${worker}:${number}`);
  const [row] = yield query(
    `SELECT ${runner.schema}.worker_number(?1) AS number FROM (SELECT 1) AS one
     WHERE NOT EXISTS (SELECT 1 FROM queue WHERE name = ?2 AND paused = 1 AND (paused_until IS NULL OR paused_until > ?3))
       AND NOT EXISTS (SELECT 1 FROM given_up WHERE worker = ?1 AND take = ?4)`,
    [worker, ALL_QUEUES, now, number],
  );
  if (row === undefined) return [];
  const take = new Take(runner, wanted, Number(row.number), now);
  for (const name of queues) {
    const left = limit - take.leases.length;
    if (left <= 0 || take.bytes <= 0) break;
    yield lock(`queue:${name}`);
    const open = yield* openQueue(name, now);
    if (open === undefined) continue;
    const { id, limit: limited } = open;
    if (limited) yield* limits.settle(limited, now);
    const most = limited ? Math.min(left, yield* limits.room(limited, now)) : left;
    let count = 0;
    if (open.hasAside) {
      yield query(`SELECT ${runner.schema}.fold_groups(?1, ?2)`, [id, now]);
      const lease: LeaseAside = (place, as, room) =>
        take.oldest({ id: place, name: nameOf(name, as.group) }, room, as.fromGroup, as.id);
      count = yield* takeAside({ id, name }, wanted.classes, most, now, lease);
    }
    count += open.hasGroups
      ? yield* leaseInTurn(runner, { id, name }, most - count, take, now)
      : yield* take.oldest({ id, name }, most - count, 0);
    if (limited && count > 0) yield* limits.note(limited, count, now);
  }
  return take.leases;
}

/** The state of one take. */
class Take {
  readonly leases: Lease[] = [];
  readonly minTurn: number;
  /** Bytes left. */
  bytes: number;
  readonly #text: string;
  readonly #number: number;
  readonly #take: number;
  readonly #now: number;

  constructor(runner: Runner, { bytes, minTurn, take }: Wanted, number: number, now: number) {
    this.bytes = bytes;
    this.minTurn = minTurn;
    this.#text = `SELECT * FROM ${runner.schema}.take_oldest(?1, -1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`;
    this.#number = number;
    this.#take = take;
    this.#now = now;
  }

  /** Leases the oldest jobs of a queue or a group, or as those of another one. Returns their number. */
  *oldest({ id, name }: QueueName, most: number, fromGroup: number, leasedAs: number | null = null): Body<number> {
    if (most < 1 || this.bytes <= 0) return 0;
    const rows = yield query(this.#text, [
      ...[id, most, this.#number, this.#take, this.#now, this.bytes, fromGroup],
      leasedAs,
    ]);
    for (const { job, payload, cancelled } of rows) {
      this.bytes -= (payload as string).length;
      this.leases.push({
        ...{ token: `${job}.${this.#take}`, ...splitName(name), payload: payload as string },
        ...(cancelled === true && { cancelled }),
      });
    }
    return rows.length;
  }
}

/** Leases jobs of a queue that has groups. Jobs without a group count as one of them. Returns the number of jobs. */
function* leaseInTurn(runner: Runner, queue: QueueName, most: number, take: Take, now: number): Body<number> {
  yield query(`SELECT ${runner.schema}.fold_groups(?1, ?2)`, [queue.id, now]);
  const { minTurn } = take;
  // One round trip: each would take as long as leasing a hundred jobs.
  const [row] = yield query(
    `SELECT size, tag, vtime, (SELECT id FROM queue AS one WHERE one.name = ?2) AS high,
       (SELECT count(*) FROM (SELECT 1 FROM queue AS one WHERE one.parent = queue.id AND one.state = 1 LIMIT ?3) AS first) AS ready,
       EXISTS (SELECT 1 FROM group_pause WHERE queue = ?1 AND ${limits.lasts("?4")}) AS paused,
       EXISTS (SELECT 1 FROM group_limit WHERE queue = ?1) AS limited
     FROM queue WHERE id = ?1`,
    [queue.id, nameOf(queue.name, laneOf("high")), Math.ceil(most / minTurn), now],
  );
  const mayBePaused = row!.paused === true;
  const mayBeLimited = row!.limited === true;
  const high = row!.high === null ? undefined : Number(row!.high);
  const turns = new Turns<ReadyGroup>({
    ...{ size: Number(row!.size), tag: Number(row!.tag), vtime: Number(row!.vtime), ready: Number(row!.ready) },
    ...{ high, most, minTurn },
  });
  const known = new Set<number>();
  const turned = new Map<number, ReadyGroup>();
  turns.add(yield* readHigh(queue, high), turns.unread);
  let looked = 0;
  while (turns.count < most && take.bytes > 0 && looked < most + MAX_HELD_AT_ONCE) {
    for (let unread; (unread = turns.unread) !== undefined;) {
      const wanted = Math.min(MAX_READ, Math.max(MIN_READ, Math.ceil((most - turns.count) / minTurn)));
      turns.add(...yield* readAfter(queue, unread, { high, wanted, known }));
    }
    const group = turns.begin();
    if (group === undefined) {
      if (turns.count > 0 || !(yield* heal(queue.id, now))) break;
      known.clear();
      turns.restart();
      turns.add(yield* readHigh(queue, high), turns.unread);
      looked += MAX_HELD_AT_ONCE;
      continue;
    }
    looked++;
    if (group === "ungrouped") {
      const taken = yield* take.oldest(queue, turns.room(), 0);
      turns.end(group, taken);
      if (taken === 0) break;
      continue;
    }
    const { id, key } = group;
    const limit = yield* limits.limitOf(mayBeLimited ? queue.id : undefined, key, now);
    const limited = { queue: id, isGroup: true, ...limit };
    let room = turns.room(limit.weight);
    if (mayBePaused || limit.running !== undefined || limit.starts !== undefined) {
      yield* limits.settle(limited, now);
      const pausedMs = mayBePaused ? yield* limits.pausedFor(queue.id, key, now) : 0;
      const opensInMs = yield* limits.opensIn(limited, now);
      if (pausedMs > 0 || opensInMs !== 0) {
        const endMs = endOf(opensInMs, limit.until, now);
        yield* hold(id, pausedMs === 0 ? endMs : pausedMs === Infinity ? undefined : pausedMs, now);
        turns.hold();
        continue;
      }
      room = Math.min(room, yield* limits.room(limited, now));
    }
    const name = nameOf(queue.name, key);
    const count = yield* take.oldest({ id, name }, room, mayBeLimited ? limits.COUNTED : limits.UNCOUNTED);
    if (count === 0) {
      // Its jobs are on their way to another place: its size changes with that.
      turns.hold();
      continue;
    }
    yield* limits.note(limited, count, now);
    turns.end(group, count, limit.weight);
    turned.set(id, group);
  }
  const groups = [...turned.values()];
  yield query(`SELECT ${runner.schema}.end_turns(?1, ?2::bigint[], ?3::double precision[], ?4)`, [
    ...[queue.id, array(groups.map(({ id }) => id)), array(groups.map(({ tag }) => tag)), now],
  ]);
  yield* advance(DIALECT, queue.id, { ...turns.times, grouped: 0, forget: 2 * (turns.count + 1) }, now);
  return turns.count;
}

/** Returns the milliseconds until a held group becomes ready: its limit opens, or ends. Undefined: when one of its leases ends. */
function endOf(opensInMs: number | undefined, until: number | undefined, now: number): number | undefined {
  return until === undefined ? opensInMs : Math.min(opensInMs ?? Infinity, Math.max(0, until - now));
}

function* hold(group: number, opensInMs: number | undefined, now: number): Body<void> {
  const due = opensInMs === undefined ? null : Math.ceil(now + opensInMs);
  yield query("UPDATE queue SET state = 2, due_at = ?2 WHERE id = ?1", [group, due]);
}

/** Makes a few held groups ready that have room, the longest held first. Returns whether one had. */
function* heal(queue: number, now: number): Body<boolean> {
  const held = yield query(
    "SELECT id, name FROM queue WHERE parent = ?1 AND state = 2 AND due_at IS NULL ORDER BY tag LIMIT ?2",
    [queue, MAX_HEALED],
  );
  let healed = false;
  for (const { id, name } of held) {
    const group = groupIn(name as string);
    if ((yield* limits.pausedFor(queue, group, now)) > 0) continue;
    const limited = { queue: Number(id), isGroup: true, ...yield* limits.limitOf(queue, group, now) };
    if ((yield* limits.room(limited, now)) === 0) continue;
    yield query("UPDATE queue SET state = 1 WHERE id = ?1", [Number(id)]);
    healed = true;
  }
  return healed;
}

/** Returns the group of high priority if it is ready. */
function* readHigh(queue: QueueName, high: number | undefined): Body<ReadyGroup[]> {
  if (high === undefined) return [];
  const rows = yield query("SELECT id, name, tag, size FROM queue WHERE id = ?1 AND state = 1", [high]);
  return rows.map((row) => groupOf(queue, row));
}

/** Returns the groups that follow a place, and the last one that was read if others may follow. */
function* readAfter(
  queue: QueueName,
  { tag, id }: Place,
  { high, wanted, known }: { readonly high: number | undefined; readonly wanted: number; readonly known: Set<number> },
): Body<[groups: readonly ReadyGroup[], last: Place | undefined]> {
  const rows = yield query(
    `SELECT id, name, tag, size FROM queue WHERE parent = ?1 AND state = 1 AND (tag, id) > (?2, ?3) AND id <> ?4
     ORDER BY tag, id LIMIT ?5`,
    [queue.id, tag, id, high ?? -1, wanted],
  );
  const groups = rows.map((row) => groupOf(queue, row));
  const last = groups.at(-1);
  // One that has had a turn is further back once its change is written.
  const fresh = groups.filter((group) => !known.has(group.id));
  for (const group of groups) known.add(group.id);
  return [fresh, last === undefined || groups.length < wanted ? undefined : { tag: last.tag, id: last.id }];
}

function groupOf(queue: QueueName, { id, name, tag, size }: Row): ReadyGroup {
  return { id: Number(id), key: (name as string).slice(queue.name.length + 1), tag: Number(tag), size: Number(size) };
}
