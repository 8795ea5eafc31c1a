/**
 * The webhooks part of the port: a text with the subscriptions.
 *
 * @module
 */
import type { Subscription } from "../../job/webhook.ts";
import type { WebhookStore } from "../port/webhooks.ts";
import type { Context } from "./context.ts";
import { WEBHOOKS } from "./keys.ts";

/** Returns the part. */
export function webhooksPart({ client }: Pick<Context, "client">): WebhookStore {
  return {
    declare: async (subscriptions) => void await client.call(["SET", WEBHOOKS, JSON.stringify(subscriptions)]),
    async read() {
      const text = await client.call(["GET", WEBHOOKS]) as string | null;
      return text === null ? [] : JSON.parse(text) as Subscription[];
    },
  };
}
