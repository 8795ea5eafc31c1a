/**
 * The ID of a queue's first job, about: takes and looks begin there, and don't read again the dead rows of all jobs before it. The
 * server keeps these while any transaction is open that is older.
 *
 * A job may appear below: its push commits after later ones, or it returns to its queue. So
 *
 *  1. a floor is that of some time ago, and lower by a margin: pushes that run at once are found;
 *  2. once a second, the whole queue is read;
 *  3. the server counts returned jobs, and ignores floors of before.
 *
 * @module
 */

/** A job that commits this late is found at the next whole reading. */
const AGE_MS = 100;
/** IDs of pushes that run at once. Reading this many dead rows takes 0.2 ms. */
const MARGIN = 1_000;
const WHOLE_EVERY_MS = 1_000;
/** Begins at the first job. */
export const NO_FLOOR = -1;

interface Known {
  floor: number;
  /** The first job that was taken, and when; the next floor. */
  next: { readonly at: number; readonly job: number } | undefined;
  /** When the whole queue was read. A look that finds a job below the floor must not keep a take from it. */
  readonly wholeAt: { take: number; look: number };
}

/** The floors of a process. */
export class Floors {
  readonly #monotonic: () => number;
  readonly #queues = new Map<string, Known>();
  /** The count of returned jobs to which the floors belong. */
  returned = 0;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Returns the floor of a queue for the next reading: jobs with this ID or a lower one are left out. */
  of(queue: string, reading: "take" | "look"): number {
    let known = this.#queues.get(queue);
    if (known === undefined) {
      const wholeAt = { take: -Infinity, look: -Infinity };
      this.#queues.set(queue, known = { floor: NO_FLOOR, next: undefined, wholeAt });
    }
    const now = this.#monotonic();
    if (now - known.wholeAt[reading] < WHOLE_EVERY_MS) return known.floor;
    known.wholeAt[reading] = now;
    if (reading === "look") known.wholeAt.take = -Infinity;
    return NO_FLOOR;
  }

  /** Notes the first job that a take found. */
  noteFirst(queue: string, job: number): void {
    const known = this.#queues.get(queue);
    if (known === undefined) return;
    const now = this.#monotonic();
    if (job <= known.floor) known.floor = job - 1;
    else if (known.next !== undefined && now - known.next.at >= AGE_MS) {
      known.floor = Math.max(known.floor, known.next.job - MARGIN);
      known.next = undefined;
    }
    if (known.next === undefined || job < known.next.job) known.next = { at: now, job };
  }

  /** Forgets all floors: jobs have returned to their queues. */
  forget(returned: number): void {
    this.returned = returned;
    for (const known of this.#queues.values()) {
      known.floor = NO_FLOOR;
      known.next = undefined;
    }
  }
}
