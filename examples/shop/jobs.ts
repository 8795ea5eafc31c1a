/** The jobs of a web shop. */
import { defineJob, type JobContext } from "@jobs/jobs";

/** The shop's effects on the outside world. Tests pass a fake one. */
export interface World {
  readonly mail: (to: string, text: string) => Promise<void>;
  readonly charge: (order: number) => Promise<string>;
}

/** Makes the shop's job classes. */
export function shopJobs(world: World) {
  const Receipt = defineJob("Receipt", async (_ctx: JobContext, order: number, to: string) => {
    await world.mail(to, `Receipt of order ${order}`);
  }, { queue: "mail" });

  const Charge = defineJob("Charge", async (ctx: JobContext, order: number, to: string) => {
    const payment = await world.charge(order); // flaky: retried with backoff
    await ctx.client.push(Receipt, [order, to], { id: `order-${order}-receipt`, within: "7d" });
    return payment;
  }, { queue: "payments", retry: 5, backoff: { type: "exponential", base: "1s", max: "1m", jitter: 0.2 } });

  const Newsletter = defineJob("Newsletter", async (_ctx: JobContext, reader: number) => {
    await world.mail(`reader-${reader}@example.com`, "News");
  }, { queue: "news" });

  const Stock = defineJob("Stock", (_ctx: JobContext, product: number) => product % 7, {
    unique_for: "10m", // one count of a product at a time
    result_ttl: "1h",
  });

  return { Receipt, Charge, Newsletter, Stock };
}
