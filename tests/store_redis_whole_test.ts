/**
 * Each script on Redis, with keys that another program has changed: it either fails before it writes, or it does its step.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { startRedis } from "./support/redis.ts";
import { CALLS, WRITING } from "./support/redis_calls.ts";
import { breakEach, type Broken, connectTo } from "./support/redis_whole.ts";

Deno.test("redis: a script that meets keys of other programs writes nothing when it fails, and loses no job", async () => {
  await using redis = await startRedis();
  const connection = await connectTo(redis.port);
  const broken: Record<string, Broken[]> = {};
  assertEquals(Object.keys(CALLS).sort(), Object.keys(WRITING).sort(), "CALLS has calls of each script that may write");
  for (const [name, script] of Object.entries(WRITING)) {
    for (const one of CALLS[name]!) {
      const found = await breakEach(connection, script, one);
      if (found.length > 0) broken[name] = [...broken[name] ?? [], ...found];
    }
  }
  connection.destroy();
  const lines = Object.entries(broken).flatMap(([name, all]) =>
    all.map(({ change, error, differs }) => `${name}: ${change}: ${error.slice(0, 120)}: ${differs.join(" ")}`)
  );
  assertEquals(lines, []);
});
