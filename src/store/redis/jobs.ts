/**
 * The jobs part of the port, put together from its verbs.
 *
 * @module
 */
import type { JobStore } from "../port/jobs.ts";
import { ALL_QUEUES } from "../port/paused_queues.ts";
import { SCRIPTS } from "./client/scripts.ts";
import type { Context } from "./context.ts";
import { Enqueuer } from "./enqueue.ts";
import type { LeaseBook } from "./lease_book.ts";
import { promote } from "./promote.ts";
import { rescue } from "./rescue.ts";
import { settle } from "./settle.ts";
import { stillLeased, take } from "./take.ts";
import { DueWatch } from "./wait/due_watch.ts";
import { QueueWatch } from "./wait/queue_watch.ts";
import type { WakeChannel } from "./wait/wake_channel.ts";

/** Services shared with other parts. */
export interface JobsServices {
  readonly channel: WakeChannel;
  readonly book: LeaseBook;
  readonly cancel: JobStore["cancel"];
}

/** Returns the part, and a function that ends its waits. */
export function jobsPart(
  context: Context,
  { channel, book, cancel }: JobsServices,
): { readonly jobs: JobStore; readonly close: () => void } {
  const { client, offset } = context;
  const enqueuer = new Enqueuer(context);
  const queueWatch = new QueueWatch(context, channel);
  const dueWatch = new DueWatch(client, channel);
  const jobs: JobStore = {
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
    cancel,
    hasQueuedJobs: async (queues) =>
      await client.run(SCRIPTS.hasQueuedJobs, [], [offset(), ALL_QUEUES, ...queues]) === 1,
    waitForWork: (queues, signal) => queueWatch.wait(queues, signal),
    waitForDue: (signal) => dueWatch.wait(signal),
  };
  const close = () => {
    queueWatch.close();
    dueWatch.close();
  };
  return { jobs, close };
}
