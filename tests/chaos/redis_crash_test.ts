/** No job is lost when workers die, freeze or block: the tests of SQLite on Redis. */
import { benchOn } from "../support/bench.ts";
import { startRedis } from "../support/redis.ts";

const redis = await startRedis({ config: { databases: "100" } });
Deno.test.afterAll(async () => await redis[Symbol.asyncDispose]());
let database = 0;
benchOn(() => redis.url.replace(/\d+$/, `${database++}`));
await import("../server/crash_test.ts");
