/**
 * Jobs come in: to their queues, or to `scheduled`.
 *
 * @module
 */
import { setFields, wireTime } from "../../job/raw.ts";
import { nameOf } from "../port/groups.ts";
import type { EnqueueResult, NewJob } from "../port/jobs.ts";
import type { BatchCounters } from "./batch_rows.ts";
import type { Context } from "./context.ts";
import type { Jobs } from "./job_rows.ts";
import type { Queues } from "./take.ts";
import type { Sets } from "./sets.ts";
import type { UniqueLocks } from "./unique_locks.ts";

/** Where a job goes: to the back of a queue, or to `scheduled` until a time. */
type Destination = { readonly queue: number } | { readonly due: number };

/** Stores new jobs. */
export class Enqueuer {
  readonly #context: Context;
  readonly #jobs: Jobs;
  readonly #queues: Queues;
  readonly #sets: Sets;
  readonly #locks: UniqueLocks;
  readonly #batches: BatchCounters;

  constructor(
    context: Context,
    parts: { jobs: Jobs; queues: Queues; sets: Sets; locks: UniqueLocks; batches: BatchCounters },
  ) {
    this.#context = context;
    this.#jobs = parts.jobs;
    this.#queues = parts.queues;
    this.#sets = parts.sets;
    this.#locks = parts.locks;
    this.#batches = parts.batches;
  }

  /** See `JobStore.enqueue`. */
  enqueue(jobs: readonly NewJob[]): Promise<EnqueueResult[]> {
    return this.#context.commit.run(() => {
      const now = this.#context.now();
      const accepted: NewJob[] = [];
      const batches = this.#batches.begin();
      let keys = 0;
      const results = jobs.map((job): EnqueueResult => {
        // A job that its lock or its batch refuses must not use up its key.
        let first = (job.unique || job.batch) && job.once && this.#locks.firstWith(job.once.key, now);
        const batch = first === undefined && job.batch && this.#batches.refusal(job.batch);
        if (batch) return { stored: false, batch };
        const holder = first === undefined && job.unique && this.#locks.take(job.unique, job.jid, now);
        if (holder) return { stored: false, holder };
        if (job.once) {
          keys++;
          first ??= this.#locks.remember(job.once, job.jid, now);
        }
        if (first !== undefined) return { stored: false, first };
        if (job.batch !== undefined) batches.note(job.batch.id, undefined, "pending");
        accepted.push(job);
        return { stored: true };
      });
      if (keys > 0) this.#locks.forgetKeys(keys, now);
      this.store(accepted, now);
      batches.apply(now);
      return results;
    }, { rows: jobs.length });
  }

  /** Stores jobs, whatever locks they want; inside a transaction. */
  store(jobs: readonly NewJob[], now: number): void {
    const time = wireTime(now, this.#context.wire);
    const queues = new Map<string, number>();
    const destinations = jobs.map((job): Destination => {
      const due = job.delayMs === undefined ? job.at : now + job.delayMs;
      const name = nameOf(job.queue, job.group);
      let queue = queues.get(name);
      if (queue === undefined) queues.set(name, queue = this.#queues.idOf(name));
      return due !== undefined && due > now ? { due } : { queue };
    });
    const first = this.#jobs.create(jobs.map(({ jid, payload }, i) => {
      return { jid, payload: "queue" in destinations[i]! ? withEnqueuedAt(payload, time) : payload };
    }));
    this.#place(destinations, first);
  }

  /** Puts the jobs, numbered from `first` on, where they go: those for one queue that follow each other in one step. */
  #place(destinations: readonly Destination[], first: number): void {
    for (let from = 0; from < destinations.length;) {
      const destination = destinations[from]!;
      let end = from + 1;
      if ("due" in destination) {
        this.#sets.add("scheduled", destination.due, first + from);
      } else {
        const { queue } = destination;
        while (end < destinations.length && isQueue(destinations[end]!, queue)) end++;
        this.#queues.append(queue, first + from, first + end - 1);
      }
      from = end;
    }
  }
}

function isQueue(destination: Destination, queue: number): boolean {
  return "queue" in destination && destination.queue === queue;
}

/** Puts the time in. Our own payloads end in their brace and do not have the field: those need no scan. */
function withEnqueuedAt(payload: string, time: string): string {
  if (payload.endsWith("}") && payload.length > 2 && !payload.includes('"enqueued_at"')) {
    return `${payload.slice(0, -1)},"enqueued_at":${time}}`;
  }
  try {
    return setFields(payload, { enqueued_at: time });
  } catch {
    // No object: it is kept as it is, and whoever takes it buries it.
    return payload;
  }
}
