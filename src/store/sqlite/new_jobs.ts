/**
 * Stores new jobs in their queues or in `scheduled`.
 *
 * @module
 */
import { batchIn } from "../../job/batch.ts";
import { setFields, wireTime } from "../../job/raw.ts";
import { nameOf } from "../port/groups.ts";
import type { NewJob } from "../port/jobs.ts";
import { direct, type Engine, runNow } from "../sql/body.ts";
import { ROWS_PER_STATEMENT } from "../sql/in_parts.ts";
import { addTo, type Content } from "../sql/job_rows.ts";
import { idOf } from "../sql/queue_rows.ts";
import type { Context } from "./context.ts";
import * as queues from "./queues.ts";

/** Returns how the bodies of verbs store new jobs. */
export function storing(context: Context): Engine["storeJobs"] {
  return (jobs, now) => direct(() => store(context, jobs, now));
}

/** The destination of a job: the back of a queue, or `scheduled` until a time. */
type Destination = { readonly queue: number } | { readonly due: number };

/** Stores jobs without regard to their locks, keys and batches; inside a transaction. Returns the ID of the first one. */
export function store(context: Context, jobs: readonly NewJob[], now: number): number {
  const time = wireTime(now, context.wire);
  const ids = new Map<string, number>();
  const destinations = jobs.map((job): Destination => {
    const due = job.delayMs === undefined ? job.at : now + job.delayMs;
    const name = nameOf(job.queue, job.group);
    let queue = ids.get(name);
    if (queue === undefined) ids.set(name, queue = runNow(idOf(name), context.sql));
    return due !== undefined && due > now ? { due } : { queue };
  });
  const first = create(
    context,
    jobs.map(({ jid, payload, batch }, i) => {
      const stored = "queue" in destinations[i]! ? withEnqueuedAt(payload, time) : payload;
      return { jid, payload: stored, batch: batch?.id };
    }),
  );
  place(context, destinations, first);
  return first;
}

/** A new job. */
interface NewContent extends Content {
  /** The batch that the payload names, if the caller knows it. */
  readonly batch: string | undefined;
}

/** Creates jobs with consecutive numbers, higher than all others. Returns the first number. */
function create(context: Context, contents: readonly NewContent[]): number {
  let last = 0;
  let done = 0;
  for (const count of ROWS_PER_STATEMENT) {
    const insert = context.sql(`INSERT INTO job (jid, payload, batch) VALUES ${marks("(?, ?, ?)", count)}`);
    for (; contents.length - done >= count; done += count) {
      const values: (string | null)[] = [];
      for (let i = done; i < done + count; i++) {
        const { jid, payload, batch = batchIn(payload) ?? null } = contents[i]!;
        values.push(jid, payload, batch);
      }
      last = Number(insert.run(...values).lastInsertRowid);
    }
  }
  return last - contents.length + 1;
}

/** Returns `?, ?, ?`. */
export function marks(mark: string, count: number): string {
  return Array(count).fill(mark).join(", ");
}

/** Puts jobs, numbered from `first` on, in their places: consecutive jobs of one queue together. */
function place(context: Context, destinations: readonly Destination[], first: number): void {
  const runs: queues.Run[] = [];
  for (let from = 0; from < destinations.length;) {
    const destination = destinations[from]!;
    let end = from + 1;
    if ("due" in destination) {
      runNow(addTo("scheduled", destination.due, first + from), context.sql);
    } else {
      const { queue } = destination;
      while (end < destinations.length && isQueue(destinations[end]!, queue)) end++;
      runs.push([queue, first + from, first + end - 1]);
    }
    from = end;
  }
  queues.append(context, runs);
}

function isQueue(destination: Destination, queue: number): boolean {
  return "queue" in destination && destination.queue === queue;
}

/** Adds the enqueue time. Payloads of our clients end in their brace and don't have the field: they need no scan. */
function withEnqueuedAt(payload: string, time: string): string {
  if (payload.endsWith("}") && payload.length > 2 && !payload.includes('"enqueued_at"')) {
    return `${payload.slice(0, -1)},"enqueued_at":${time}}`;
  }
  try {
    return setFields(payload, { enqueued_at: time });
  } catch {
    // Not an object: it is stored unchanged, and the worker that takes it buries it.
    return payload;
  }
}
