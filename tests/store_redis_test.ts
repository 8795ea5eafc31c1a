/**
 * The store contract, on a real Redis.
 *
 * @module
 */
import { type Clock, systemClock } from "../src/clock.ts";
import { openStore, type StoreOptions } from "../src/store/open.ts";
import type { TestOptions, TestStore } from "./store_contract/harness.ts";
import { storeContract } from "./store_contract/mod.ts";
import { startRedis } from "./support/redis.ts";
import type { Store } from "../src/store/admin/store.ts";

const redis = await startRedis();
Deno.test.afterAll(async () => await redis[Symbol.asyncDispose]());

storeContract("redis", openEmpty);

async function openEmpty(options: TestOptions = {}): Promise<TestStore> {
  await redis.cli("FLUSHALL");
  let ahead = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + ahead };
  const all: StoreOptions = { ...options, clock };
  const stores: Store[] = [await openStore(redis.url, all)];
  return {
    store: stores[0]!,
    async another() {
      const store = await openStore(redis.url, all);
      stores.push(store);
      return store;
    },
    now: () => clock.now(),
    advance: (ms) => ahead += ms,
    async pushRaw(queue, text) {
      await redis.cli("SADD", "queues", queue);
      await redis.cli("LPUSH", `queue:${queue}`, text);
    },
    async [Symbol.asyncDispose]() {
      for (const store of stores) await store[Symbol.asyncDispose]();
    },
  };
}
