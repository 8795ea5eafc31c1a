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
import { declareAs, HAS_WEBHOOKS, holdDeclarations, mergeWebhooks, putWebhooks, WEBHOOK } from "./declarations.ts";

/** Returns the part. */
export function webhooksPart({ write, read }: Engine): WebhookStore {
  return {
    declare: (subscriptions, worker) =>
      write(function* (now) {
        if (worker === undefined) return yield* putWebhooks(JSON.stringify(subscriptions));
        yield holdDeclarations();
        const names = new Set(subscriptions.map(({ name }) => WEBHOOK + name));
        const before = yield query(
          `SELECT name FROM declaration WHERE worker = ?1 AND name > '${WEBHOOK}' AND name < 'webhook!'`,
          [worker],
        );
        for (const { name } of before.filter((row) => !names.has(String(row.name)))) {
          yield query("DELETE FROM declaration WHERE worker = ?1 AND name = ?2", [worker, String(name)]);
        }
        yield* declareAs(worker, { name: HAS_WEBHOOKS, body: "", position: 0 }, now);
        for (const [position, one] of subscriptions.entries()) {
          yield* declareAs(worker, { name: WEBHOOK + one.name, body: JSON.stringify(one), position }, now);
        }
        yield* mergeWebhooks();
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
