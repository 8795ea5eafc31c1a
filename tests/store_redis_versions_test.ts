/**
 * The store contract on later servers, as far as their scripts may differ: Redis 8 and Valkey 8.
 *
 * @module
 */
import { assertMatch } from "@std/assert";
import type { OpenTestStore } from "./store_contract/harness.ts";
import { storeContract } from "./store_contract/mod.ts";
import { type RedisServer, startRedis } from "./support/redis.ts";
import { emptyRedisStores } from "./support/redis_stores.ts";
import { MissingTool } from "./support/tools.ts";

const THEMES = ["take", "settle", "rescue", "unique", "steps"];
const SCRIPT = new URL("../scripts/test-servers.sh", import.meta.url).pathname;

/** Undefined where Debian 13's packages are out of reach. */
const folder = await new Deno.Command(SCRIPT, { stdin: "null", stderr: "null" }).output()
  .then(({ success, stdout }) => success ? new TextDecoder().decode(stdout).trim() : undefined, () => undefined);

for (const [name, version] of [["redis-8", /^Redis 8\./], ["valkey-8", /^Valkey 8\./]] as const) {
  let server: RedisServer | undefined;
  let stores: OpenTestStore | undefined;
  Deno.test.beforeAll(async () => {
    if (folder === undefined) return;
    server = await startRedis({ program: `${folder}/${name}` });
    stores = await emptyRedisStores(server);
  });
  Deno.test.afterAll(async () => await server?.[Symbol.asyncDispose]());
  const open: OpenTestStore = async (options) => {
    if (stores === undefined) throw new MissingTool(`Debian 13's ${name} required`);
    return await stores(options);
  };
  Deno.test(`${name}: the server is of this version`, async () => {
    await using t = await open();
    assertMatch((await t.store.admin.health()).version, version);
  });
  storeContract(name, open, THEMES);
}
