/**
 * The jobs part of the port, put together from its verbs.
 *
 * @module
 */
import type { JobStore } from "../port/jobs.ts";
import { ALL_QUEUES } from "../port/paused_queues.ts";
import { SCRIPTS } from "./client/scripts.ts";
import type { Context } from "./context.ts";
import { editEntries } from "./edit.ts";
import { Enqueuer } from "./enqueue.ts";
import type { LeaseBook } from "../ops/lease_book.ts";
import { promote } from "./promote.ts";
import { rescue } from "./rescue.ts";
import { find } from "./search.ts";
import { settle } from "./settle.ts";
import { packClasses, stillLeased, take } from "./take.ts";
import type { DueWatch } from "./wait/due_watch.ts";

/** Services shared with other parts. */
export interface JobsServices {
  readonly dueWatch: DueWatch;
  readonly book: LeaseBook;
}

/** Returns the part. */
export function jobsPart(context: Context, { dueWatch, book }: JobsServices): JobStore {
  const { client, offset } = context;
  const enqueuer = new Enqueuer(context);
  return {
    enqueue: (jobs) => enqueuer.enqueue(jobs),
    take: (request) => take(context, book, request),
    settle: (worker, outcomes) => settle(context, book, worker, outcomes),
    stillLeased: (worker, tokens) => stillLeased(context, book, worker, tokens),
    async promote(limit) {
      const { earliest, ...result } = await promote(context, limit);
      dueWatch.setEarliest(earliest);
      return result;
    },
    rescue: (request) => rescue(context, request),
    hasQueuedJobs: async (queues, classes) =>
      await client.run(SCRIPTS.hasQueuedJobs, {
        ...{ now: offset(), classes: packClasses(classes), names: [ALL_QUEUES, ...queues] },
      }) === 1,
    find: (selection) => find(client, selection),
    edit: (selection, edit, queue) => editEntries(context, selection, { edit, queue }),
  };
}
