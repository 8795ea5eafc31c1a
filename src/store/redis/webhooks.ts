/**
 * The webhooks part of the port: a text with the subscriptions.
 *
 * @module
 */
import type { Subscription } from "../../job/webhook.ts";
import type { WebhookStore } from "../port/webhooks.ts";
import type { Context } from "./context.ts";
import { SCRIPTS } from "./client/scripts.ts";
import { WEBHOOKS } from "./keys.ts";

/** Returns the part. */
export function webhooksPart({ client, offset }: Pick<Context, "client" | "offset">): WebhookStore {
  return {
    async declare(subscriptions, worker) {
      if (worker === undefined) return void await client.call(["SET", WEBHOOKS, JSON.stringify(subscriptions)]);
      const declared = subscriptions.map((one) => ({ name: one.name, subscription: JSON.stringify(one) }));
      await client.run(SCRIPTS.declareWebhooks, { now: offset(), worker, declared });
    },
    async read() {
      const text = await client.call(["GET", WEBHOOKS]) as string | null;
      return text === null ? [] : JSON.parse(text) as Subscription[];
    },
  };
}
