/**
 * Jobs aside: those that wait in a queue for a worker with their class (`job/aside.ts`). Each place is a row of `queue` below its
 * queue, with a separate state, so that no turn finds it.
 *
 * @module
 */
import { asideIn, asideOf } from "../../job/aside.ts";
import { nameOf, splitName } from "../port/groups.ts";
import { type Body, type Engine, query, wholeText } from "./body.ts";
import { groupIn } from "./group_rows.ts";
import * as limits from "./limits.ts";
import { inParts } from "./in_parts.ts";
import { add, idOf } from "./queue_rows.ts";
import { markReturned } from "./step_rows.ts";

/** A queue. */
interface QueueName {
  readonly id: number;
  readonly name: string;
}

/** A place aside with jobs. */
interface Place {
  readonly id: number;
  readonly class: string;
  /** The group of its jobs. */
  readonly group: string | undefined;
  /** Its virtual time, as of a group. */
  tag: number;
}

/** Where to lease the jobs of a place: as those of a queue or a group. */
export interface LeasedAs {
  readonly id: number;
  readonly group: string | undefined;
  /** The value of `lease.from_group`. */
  readonly fromGroup: number;
}

/** Leases up to `most` of the oldest jobs of a place. Returns their number. */
export type LeaseAside = (place: number, as: LeasedAs, most: number) => Body<number>;

/** Where a job was leased from. */
interface From {
  readonly id: number;
  /** The ID of its queue, if it is of a group. */
  readonly parent: number | undefined;
  readonly name: string;
  readonly at: number;
}

/** The jobs that a settlement puts aside. Rows are read once for all: each reading is a round trip. */
export class PutAside {
  readonly #engine: Engine;
  readonly #from = new Map<number, From>();
  readonly #places = new Map<string, number>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Reads where jobs were leased from. Returns the names of their queues: a settlement locks them, as takes do. */
  *read(jobs: readonly number[]): Body<string[]> {
    const { whole } = this.#engine.dialect;
    for (const { where, values } of inParts(jobs, "job")) {
      const rows = yield query(
        `SELECT job, lease.queue, lease.at, ${whole("name")} AS name, parent FROM lease CROSS JOIN queue
         WHERE ${where} AND queue.id = lease.queue`,
        values,
      );
      for (const { job, queue, at, name, parent } of rows) {
        const above = parent === null ? undefined : Number(parent);
        this.#from.set(Number(job), { id: Number(queue), parent: above, name: wholeText(name), at: Number(at) });
      }
    }
    return [...new Set(Array.from(this.#from.values(), ({ name }) => splitName(name).queue))];
  }

  /** Puts a leased job aside that was read. Its lease doesn't count as a start. */
  *put(job: number, className: string): Body<void> {
    const { id, parent, name, at } = this.#from.get(job)!;
    yield* limits.takeBack(id, at);
    if (parent !== undefined) yield* limits.takeBack(parent, at);
    yield* markReturned(job, false);
    const { queue, group } = splitName(name);
    const place = nameOf(queue, asideOf({ class: className, ...(group !== undefined && { group }) }));
    let known = this.#places.get(place);
    if (known === undefined) this.#places.set(place, known = yield* idOf(place));
    yield* add(this.#engine, known, job);
  }
}

/** Leases jobs that wait aside, equally often from each place. Returns their number. @param classes undefined: all */
export function* takeAside(
  queue: QueueName,
  classes: readonly string[] | undefined,
  most: number,
  now: number,
  lease: LeaseAside,
): Body<number> {
  let places = yield* placesOf(queue.id, classes);
  if (places.length === 0 || most < 1) return 0;
  const mayBePaused = yield* limits.hasPauses(queue.id, now);
  const mayBeLimited = yield* limits.hasLimits(queue.id);
  // One that is new is next, and doesn't catch up with the others.
  const first = Math.min(...places.map(({ tag }) => tag).filter((tag) => tag > 0));
  for (const place of places) if (place.tag === 0 && first < Infinity) place.tag = Math.max(0, first - 1);
  let taken = 0;
  while (taken < most && places.length > 0) {
    const left: Place[] = [];
    for (const place of places.sort((a, b) => a.tag - b.tag || a.id - b.id)) {
      const share = Math.ceil((most - taken) / places.length);
      if (share < 1) break;
      const { group } = place;
      const limit = group === undefined
        ? { weight: 1 }
        : yield* limits.limitOf(mayBeLimited ? queue.id : undefined, group, now);
      let room = Math.max(1, Math.min(most - taken, Math.floor(share * limit.weight)));
      const as = { id: group === undefined ? queue.id : yield* idOf(nameOf(queue.name, group)), group };
      const limited = { queue: as.id, isGroup: true, ...limit };
      if (group !== undefined) {
        if (mayBePaused && (yield* limits.pausedFor(queue.id, group, now)) > 0) continue;
        yield* limits.settle(limited, now);
        room = Math.min(room, yield* limits.room(limited, now));
      }
      const fromGroup = group === undefined ? 0 : mayBeLimited ? limits.COUNTED : limits.UNCOUNTED;
      const count = room < 1 ? 0 : yield* lease(place.id, { ...as, fromGroup }, room);
      if (count === 0) continue;
      if (group !== undefined) yield* limits.note(limited, count, now);
      taken += count;
      place.tag += count / limit.weight;
      yield query("UPDATE queue SET tag = ?2 WHERE id = ?1", [place.id, place.tag]);
      if (count === room) left.push(place);
    }
    places = left;
  }
  return taken;
}

/**
 * Returns the milliseconds until a job that waits aside may be taken: 0 now, undefined if that takes another event than time.
 *
 * @param classes undefined: all
 */
export function* asideIsReadyIn(
  queue: QueueName,
  classes: readonly string[] | undefined,
  now: number,
): Body<number | undefined> {
  const places = yield* placesOf(queue.id, classes);
  if (places.length === 0) return undefined;
  const mayBePaused = yield* limits.hasPauses(queue.id, now);
  const mayBeLimited = yield* limits.hasLimits(queue.id);
  let readyIn: number | undefined;
  for (const { group } of places) {
    if (group === undefined || !mayBePaused && !mayBeLimited) return 0;
    const limit = yield* limits.limitOf(queue.id, group, now);
    const [row] = yield query("SELECT id FROM queue WHERE name = ?1", [nameOf(queue.name, group)]);
    const opensIn = row && (yield* limits.opensIn({ queue: Number(row.id), isGroup: true, ...limit }, now));
    const inMs = Math.max(
      yield* limits.pausedFor(queue.id, group, now),
      row === undefined ? 0 : Math.min(opensIn ?? Infinity, limit.until === undefined ? Infinity : limit.until - now),
    );
    if (inMs === 0) return 0;
    if (inMs < (readyIn ?? Infinity)) readyIn = inMs;
  }
  return readyIn;
}

/** Returns how many jobs of a queue wait aside for other classes, or belong to paused groups there. */
export function* countOthersAside(queue: QueueName, classes: readonly string[] | undefined, now: number): Body<number> {
  const mine = new Set<number>();
  for (const { id, group } of yield* placesOf(queue.id, classes)) {
    if (group === undefined || (yield* limits.pausedFor(queue.id, group, now)) === 0) mine.add(id);
  }
  const rows = yield query("SELECT id, size FROM queue WHERE parent = ?1 AND state = 3", [queue.id]);
  return rows.reduce((sum, { id, size }) => sum + (mine.has(Number(id)) ? 0 : Number(size)), 0);
}

/** Returns the places aside of a queue that have jobs of some classes. */
function* placesOf(queue: number, classes: readonly string[] | undefined): Body<Place[]> {
  const rows = yield query("SELECT id, name, tag FROM queue WHERE parent = ?1 AND state = 3 AND size > 0", [queue]);
  if (rows.length === 0) return [];
  const names = classes && new Set(classes);
  return rows.flatMap(({ id, name, tag }) => {
    const aside = asideIn(groupIn(name as string))!;
    if (names !== undefined && !names.has(aside.class)) return [];
    return [{ id: Number(id), class: aside.class, group: aside.group, tag: Number(tag) }];
  });
}
