/**
 * The webhooks part of the port, and the jobs that follow when a step ends something itself.
 *
 * @module
 */
import { deliveriesOf, type Subscription } from "../../job/webhook.ts";
import type { BatchRow } from "../ops/batch_record.ts";
import { batchNotice } from "../ops/batch_notice.ts";
import type { NewJob } from "../port/jobs.ts";
import type { WebhookStore } from "../port/webhooks.ts";
import { type Body, type Engine, query } from "./body.ts";

/** Returns the part. */
export function webhooksPart({ write, read }: Engine): WebhookStore {
  return {
    declare: (subscriptions) =>
      write(function* () {
        yield query(
          "INSERT INTO webhook (id, subscriptions) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET subscriptions = ?1",
          [JSON.stringify(subscriptions)],
        );
      }),
    read: () => read(subscribed),
  };
}

/** Returns the subscriptions. */
export function* subscribed(): Body<readonly Subscription[]> {
  const [row] = yield query("SELECT subscriptions FROM webhook");
  return row === undefined ? [] : JSON.parse(row.subscriptions as string) as Subscription[];
}

/** Returns the webhook jobs of a complete batch. */
export function* followBatch(row: BatchRow, at: number): Body<readonly NewJob[]> {
  return deliveriesOf(yield* subscribed(), ...batchNotice(row, at));
}
