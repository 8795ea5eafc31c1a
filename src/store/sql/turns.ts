/**
 * The choice of the next group of a queue, and of the number of its jobs: start-time fair queueing (`port/groups.ts`), without
 * rows. The store reads the groups, and writes the changes.
 *
 * @module
 */
import { HEAD_START } from "../../job/priority.ts";
import { MAX_QUANTUM } from "../port/groups.ts";

/** A place in the order of turns. */
export interface Place {
  /** The virtual time of the group. */
  readonly tag: number;
  /** The group's ID: equal tags have the order of their IDs. */
  readonly id: number;
}

/** A group that is ready. */
export interface Group {
  readonly id: number;
  tag: number;
  /** Jobs left. */
  size: number;
}

/** The state before the turns of a take. */
export interface Start {
  /** Jobs of the queue without a group. They count as one group. */
  readonly size: number;
  /** The virtual time of that group. */
  readonly tag: number;
  /** The queue's virtual time. */
  readonly vtime: number;
  /** The ID of the group with the jobs of high priority, whose turns are early. */
  readonly high: number | undefined;
  /** Number of ready groups. */
  readonly ready: number;
  /** Jobs to give. */
  readonly most: number;
  /** See `TakeRequest.minTurn`. */
  readonly minTurn: number;
}

/**
 * The turns of one take. Before each turn, add the groups that follow {@linkcode Turns.unread} until it is undefined. Then
 * begin the turn, and end it with the number of jobs that it gave.
 */
export class Turns<Ready extends Group> {
  readonly #high: number | undefined;
  readonly #most: number;
  readonly #minTurn: number;
  #ready: number;
  #count = 0;
  #size: number;
  #tag: number;
  #vtime: number;
  /** The groups that are known and ready, the next one last. */
  #groups: Ready[] = [];
  #last: Place | undefined;

  constructor({ size, tag, vtime, high, ready, most, minTurn }: Start) {
    this.#high = high;
    this.#most = most;
    this.#minTurn = minTurn;
    this.#ready = ready + (size > 0 ? 1 : 0);
    this.#size = size;
    this.#tag = tag;
    this.#vtime = vtime;
    this.restart();
  }

  /** Jobs that were given. */
  get count(): number {
    return this.#count;
  }

  /** The virtual times to store. */
  get times(): { readonly tag: number; readonly vtime: number } {
    return { tag: this.#tag, vtime: this.#vtime };
  }

  /** The last group that is known, if one after it may be next. The group of high priority is never among those after it. */
  get unread(): Place | undefined {
    const next = this.#groups.at(-1);
    return this.#last && (next === undefined || this.#isBefore(this.#last, next)) ? this.#last : undefined;
  }

  /** Forgets the groups: others have become ready. */
  restart(): void {
    this.#groups = [];
    this.#last = { tag: -Infinity, id: 0 };
  }

  /** Adds groups in their order. @param last the last one, if others may follow */
  add(groups: readonly Ready[], last: Place | undefined): void {
    for (const group of groups.toReversed()) this.#insert(group);
    this.#last = last;
  }

  /** Begins a turn. Returns its group, `ungrouped` for the jobs without one, or undefined if nothing is ready. */
  begin(): Ready | "ungrouped" | undefined {
    const group = this.#groups.at(-1);
    this.#tag = Math.max(this.#tag, this.#vtime);
    if (this.#size > 0 && (group === undefined || this.#tag <= this.#turnOf(group))) {
      this.#vtime = this.#tag;
      return "ungrouped";
    }
    if (group === undefined) return undefined;
    this.#vtime = Math.max(this.#vtime, this.#turnOf(group));
    return this.#groups.pop();
  }

  /** Returns the maximum number of jobs of a turn. */
  room(weight = 1): number {
    const quantum = Math.min(MAX_QUANTUM, Math.max(this.#minTurn, Math.floor(this.#most / Math.max(1, this.#ready))));
    return Math.min(this.#most - this.#count, Math.max(1, Math.floor(quantum * weight)));
  }

  /** Ends a turn that gave nothing: its group isn't ready. */
  hold(): void {
    this.#ready--;
  }

  /** Ends a turn that gave jobs. */
  end(group: Ready | "ungrouped", count: number, weight = 1): void {
    this.#count += count;
    if (group === "ungrouped") {
      this.#size -= count;
      this.#tag += count;
      return;
    }
    group.tag = Math.max(this.#vtime, group.tag) + count / weight;
    group.size -= count;
    if (group.size > 0) this.#insert(group);
  }

  #insert(group: Ready): void {
    let [from, to] = [0, this.#groups.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#isBefore(group, this.#groups[middle]!)) from = middle + 1;
      else to = middle;
    }
    this.#groups.splice(from, 0, group);
  }

  #turnOf({ id, tag }: Place): number {
    return id === this.#high ? tag - HEAD_START : tag;
  }

  #isBefore(one: Place, other: Place): boolean {
    const difference = this.#turnOf(one) - this.#turnOf(other);
    if (difference !== 0) return difference < 0;
    // Of equals, that of high priority is last.
    return one.id !== this.#high && (other.id === this.#high || one.id < other.id);
  }
}
