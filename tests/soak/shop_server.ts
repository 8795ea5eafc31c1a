/** The shop's built-in worker in a soak, with the dashboard that the others work through. Arguments: store, port, settings as JSON. */
import { type JobContext, startServer } from "../../src/mod.ts";
import { shopJobs } from "../../examples/shop/jobs.ts";
import { noted } from "./journal.mjs";

const [store, port, settings] = Deno.args as [string, string, string];
const jobs = shopJobs({
  mail: () => Promise.resolve(),
  charge(order) {
    if (Math.random() < 0.1) return Promise.reject(Object.assign(new Error("Payment API"), { name: "Planned" }));
    return Promise.resolve(`payment-${order}`);
  },
});
await using server = await startServer({
  store,
  jobs: Object.values(jobs),
  performMiddleware: [(ctx: JobContext, next: () => unknown) => noted(ctx, next)],
  web: `127.0.0.1:${port}`,
  settings: JSON.parse(settings),
  signals: true,
  log: { level: "warn" },
});
await server.finished;
