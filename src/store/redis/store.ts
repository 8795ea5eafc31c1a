/**
 * The store on Redis, in Sidekiq's format, put together from the parts of the port.
 *
 * @module
 */
import { cancelElsewhere } from "../ops/cancel.ts";
import type { Store } from "../admin/store.ts";
import { adminPart } from "./admin.ts";
import { batchesPart } from "./batches.ts";
import { classesPart } from "./classes.ts";
import { type Context, serverTime } from "./context.ts";
import { Cron } from "./cron.ts";
import { flowsPart } from "./flows.ts";
import { jobsPart } from "./jobs.ts";
import { LeaseBook } from "./lease_book.ts";
import { logsPart } from "./logs.ts";
import { metricsPart } from "./metrics.ts";
import { queueSamplesPart } from "./queue_samples.ts";
import { Results } from "./results.ts";
import { sessionsPart } from "./sessions.ts";
import { stepsPart } from "./steps.ts";
import { transferPart } from "./transfer.ts";
import { WakeChannel } from "./wait/wake_channel.ts";
import { Workers } from "./workers.ts";

/**
 * Returns the store.
 *
 * @param close closes all connections
 */
export function redisStore(context: Context, close: () => Promise<void>): Store {
  const channel = new WakeChannel(context.subscriptions);
  const book = new LeaseBook();
  const cancel = async (jid: string, by?: string) => cancelElsewhere(store, jid, by, await serverTime(context));
  const { jobs, close: endWaits } = jobsPart(context, { channel, book, cancel });
  const cron = new Cron(context, channel);
  const results = new Results(context);
  const store: Store = {
    url: context.client.shown,
    jobs,
    workers: new Workers(context, book),
    cron,
    steps: stepsPart(context),
    batches: batchesPart(context),
    flows: flowsPart(context),
    results,
    logs: logsPart(context),
    metrics: metricsPart(context),
    queueSamples: queueSamplesPart(context),
    classes: classesPart(context),
    admin: adminPart(context),
    sessions: sessionsPart(context),
    transfer: transferPart(context),
    [Symbol.asyncDispose]() {
      endWaits();
      cron.close();
      results.close();
      return close();
    },
  };
  return store;
}
