/**
 * Empty stores on a Redis server, for the contract.
 *
 * @module
 */
import { type Clock, systemClock } from "../../src/clock.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { openStore, type StoreOptions } from "../../src/store/open.ts";
import type { OpenTestStore, TestOptions, TestStore } from "../store_contract/harness.ts";
import type { RedisServer } from "./redis.ts";

/** Returns the keys that contain a text, in their names or their values, sorted. */
const KEYS_WITH = `
  local READ = { string = { 'GET' }, hash = { 'HGETALL' }, set = { 'SMEMBERS' }, list = { 'LRANGE', 0, -1 },
    zset = { 'ZRANGE', 0, -1 } }
  local function holds(value)
    if type(value) == 'string' then return string.find(value, ARGV[1], 1, true) end
    for _, one in ipairs(value) do if holds(one) then return true end end
  end
  local found = {}
  for _, key in ipairs(redis.call('KEYS', '*')) do
    local verb, from, to = unpack(READ[redis.call('TYPE', key).ok])
    local value = from and redis.call(verb, key, from, to) or redis.call(verb, key)
    if holds(key) or holds(value) then found[#found + 1] = key end
  end
  table.sort(found)
  return found`;

/** A server, or a proxy in front of it. */
type Reachable = Pick<RedisServer, "url" | "cli">;

/** Returns what opens an empty store on a server, as the user that docs/operate/redis.md describes. */
export async function emptyRedisStores(redis: Reachable): Promise<OpenTestStore> {
  await redis.cli("ACL", "SETUSER", "jobs", "on", ">secret", "~*", "&jobs:*", "+@all", "-@dangerous", "-@admin");
  await redis.cli("ACL", "SETUSER", "jobs", "+info", "+config|get");
  const url = redis.url.replace("//", "//jobs:secret@");
  return (options) => openEmpty(redis, url, options);
}

async function openEmpty(redis: Reachable, url: string, options: TestOptions = {}): Promise<TestStore> {
  await redis.cli("FLUSHALL");
  let ahead = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + ahead };
  const all: StoreOptions = { ...options, clock };
  const stores: Store[] = [await openStore(url, all)];
  return {
    store: stores[0]!,
    // Without an append-only file.
    durability: "none",
    async another() {
      const store = await openStore(url, all);
      stores.push(store);
      return store;
    },
    now: () => clock.now(),
    advance: (ms) => ahead += ms,
    async pushRaw(queue, text) {
      await redis.cli("SADD", "queues", queue);
      await redis.cli("LPUSH", `queue:${queue}`, text);
    },
    holding: async (text) => (await redis.cli("EVAL", KEYS_WITH, "0", text)).split("\n").filter((key) => key !== ""),
    async [Symbol.asyncDispose]() {
      for (const store of stores) await store[Symbol.asyncDispose]();
    },
  };
}
