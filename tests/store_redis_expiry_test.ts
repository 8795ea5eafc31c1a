/** Which keys on Redis expire: those that guard, limit, or repeat a reply. A step removes each other key. */
import { assertEquals } from "@std/assert";
import { startRedis } from "./support/redis.ts";
import { CALLS, WRITING } from "./support/redis_calls.ts";
import { WORKER } from "./support/redis_given.ts";
import { connectTo } from "./support/redis_whole.ts";

/** The beginnings of their names. */
const EXPIRING = [
  "h|",
  "j|",
  "jobs:claim:",
  "jobs:commands:",
  "jobs:cron:done:",
  "jobs:debounce:",
  "jobs:given-up:",
  "jobs:imported:",
  "jobs:measured:",
  "jobs:mover:",
  "jobs:once:",
  "jobs:pusher:",
  "jobs:queue-samples:",
  "jobs:replaceable:",
  "jobs:reply:",
  "jobs:rescued:",
  "jobs:result:",
  "jobs:signalled:",
  "jobs:signals:",
  "jobs:starts:",
  "jobs:throttle:",
  "jobs:unique-of:",
  "jobs:unique:",
  "jobs:waited:",
  "jobs:waiting",
  "s-signals",
  "stat:failed:",
  "stat:processed:",
  WORKER,
];

Deno.test("redis: each script that makes a key which guards, limits or repeats a reply lets it expire, and no other key", async () => {
  await using redis = await startRedis();
  const connection = await connectTo(redis.port);
  const keys = () => connection.send(["KEYS", "*"]) as Promise<string[]>;
  const wrong: string[] = [];
  const seen = new Set<string>();
  for (const [name, script] of Object.entries(WRITING)) {
    for (const one of CALLS[name]!) {
      await Promise.all([["FLUSHALL"], ...one.given].map((command) => connection.send(command)));
      const before = new Set(await keys());
      await connection.send(["EVAL", script.text, `${one.keys.length}`, ...one.keys, ...one.args]);
      for (const key of await keys()) {
        if (before.has(key)) continue;
        const beginning = EXPIRING.find((beginning) => key.startsWith(beginning));
        if (beginning !== undefined) seen.add(beginning);
        const expires = await connection.send(["PTTL", key]) as number > 0;
        if (expires !== (beginning !== undefined)) wrong.push(`${name}: ${key} ${expires ? "expires" : "stays"}`);
      }
    }
  }
  connection.destroy();
  assertEquals(wrong, []);
  assertEquals([...seen].sort(), EXPIRING.toSorted(), "each is made by a call");
});
