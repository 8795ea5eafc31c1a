/**
 * The store contract, on a real Redis.
 *
 * @module
 */
import { storeContract } from "./store_contract/mod.ts";
import { startRedis } from "./support/redis.ts";
import { emptyRedisStores } from "./support/redis_stores.ts";

const redis = await startRedis();
Deno.test.afterAll(async () => await redis[Symbol.asyncDispose]());

storeContract("redis", await emptyRedisStores(redis));
