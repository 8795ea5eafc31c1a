/**
 * The store on Redis, in Sidekiq's format, put together from the parts of the port.
 *
 * @module
 */
import type { Topic } from "../port/watch.ts";
import type { Store } from "../admin/store.ts";
import { adminPart } from "./admin.ts";
import { batchesPart } from "./batches.ts";
import { classesPart } from "./classes.ts";
import type { Context } from "./context.ts";
import { Cron } from "./cron.ts";
import { eventsPart, lastId } from "./events.ts";
import { flowsPart } from "./flows.ts";
import { jobsPart } from "./jobs.ts";
import { LeaseBook } from "../ops/lease_book.ts";
import { logsPart } from "./logs.ts";
import { Results } from "./results.ts";
import { redisSeries } from "./series.ts";
import { sessionsPart } from "./sessions.ts";
import { EVENTS, STREAMS_CHANNEL } from "./keys.ts";
import { stepsPart } from "./steps.ts";
import { hasChunks, streamsPart } from "./streams.ts";
import { transferPart } from "./transfer.ts";
import { DueWatch } from "./wait/due_watch.ts";
import { JidChannel } from "./wait/jid_channel.ts";
import { QueueWatch } from "./wait/queue_watch.ts";
import { WakeChannel } from "./wait/wake_channel.ts";
import { webhooksPart } from "./webhooks.ts";
import { Workers } from "./workers.ts";

/**
 * Returns the store.
 *
 * @param close closes all connections
 */
export function redisStore(context: Context, close: () => Promise<void>): Store {
  const channel = new WakeChannel(context.subscriptions);
  const book = new LeaseBook();
  const queueWatch = new QueueWatch(context, channel);
  const dueWatch = new DueWatch(context.client, channel);
  const cron = new Cron(context, channel);
  const results = new Results(context);
  const streams = new JidChannel(context, STREAMS_CHANNEL);
  const events = new JidChannel(context, EVENTS);
  const workers = new Workers(context, book);
  const end = new AbortController();

  const wait = (topic: Topic, stop: AbortSignal): Promise<void> => {
    if (topic === "due") return dueWatch.wait(stop);
    if (topic === "cron") return cron.wait(stop);
    if ("work" in topic) return queueWatch.wait(topic, stop);
    if ("result" in topic) return results.wait(topic.result, stop);
    if ("events" in topic) {
      return events.wait("more", async () => await lastId(context) > topic.events, stop);
    }
    if ("stream" in topic) {
      return streams.wait(topic.stream, () => hasChunks(context, topic.stream, topic.after), stop);
    }
    return workers.wait(topic, stop);
  };
  const store: Store = {
    url: context.client.shown,
    jobs: jobsPart(context, { dueWatch, book }),
    workers,
    cron,
    steps: stepsPart(context),
    streams: streamsPart(context),
    batches: batchesPart(context),
    flows: flowsPart(context),
    results,
    logs: logsPart(context),
    series: redisSeries(context),
    classes: classesPart(context),
    webhooks: webhooksPart(context),
    events: eventsPart(context),
    admin: adminPart(context),
    sessions: sessionsPart(context),
    transfer: transferPart(context),
    async watch(topic, signal) {
      const stop = AbortSignal.any([signal, end.signal]);
      if (!stop.aborted) await wait(topic, stop);
      return !stop.aborted;
    },
    [Symbol.asyncDispose]() {
      end.abort();
      queueWatch.close();
      return close();
    },
  };
  return store;
}
