/** Durable steps while workers are killed and frozen. */
import { startRedis } from "../support/redis.ts";
import { stepsChaos } from "./steps_chaos.ts";

Deno.test("each step runs exactly once on SQLite while workers are killed and frozen, except for those in flight", async () => {
  await stepsChaos();
});

Deno.test("each step runs exactly once on Redis while workers are killed and frozen, except for those in flight", async () => {
  await using redis = await startRedis();
  await stepsChaos(redis.url);
});
