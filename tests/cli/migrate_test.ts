/** `jobs move`, as a process. What a move is killed in is tested with the stores. */
import { assertEquals, assertMatch } from "@std/assert";
import { openStore } from "../../src/store/open.ts";
import { Client } from "../../src/client/client.ts";
import { jobs, temporaryFolder } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";

Deno.test("jobs move takes everything from SQLite to Redis and back", async () => {
  await using folder = await temporaryFolder();
  await using redis = await startRedis();
  const file = `sqlite:${folder.path}/jobs.db`;
  {
    await using store = await openStore(file);
    const client = new Client({ store });
    for (let i = 0; i < 3; i++) await client.push("Noop", [i], { queue: "low" });
    await client.push("Noop", ["later"], { in: "1h" });
    await store.admin.pause("low");
  }
  const there = await jobs(["move", "--from", file, "--to", redis.url]);
  assertEquals([there.code, there.stderr], [0, ""]);
  assertMatch(there.stdout, /^4 jobs and 0 crontab entries moved to redis:/);
  const back = await jobs(["move", "--from", redis.url, "--to", file, "--json"]);
  assertEquals(JSON.parse(back.stdout), { jobs: 4, cron: 0 });
  await using store = await openStore(file);
  const { entries } = await store.admin.page({ in: "queue", queue: "low" });
  assertEquals(entries.map((entry) => JSON.parse(entry.payload).args[0]), [0, 1, 2]);
  const { scheduled, queues } = await store.admin.stats();
  assertEquals([scheduled, queues.find((queue) => queue.name === "low")?.paused], [1, true]);
});

Deno.test("jobs move says what is wrong", async () => {
  const missing = await jobs(["move", "--from", "sqlite::memory:"]);
  assertEquals(missing.code, 2);
  assertMatch(missing.stderr, /Two stores are wanted/);
  const same = await jobs(["move", "--from", "sqlite:a.db", "--to", "sqlite:a.db"]);
  assertEquals(same.code, 2);
});

Deno.test("jobs move refuses one file under two names before it opens it", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/jobs.db`;
  assertEquals((await jobs(["push", "Noop", "--store", `sqlite:${file}`])).code, 0);
  await Deno.link(file, `${folder.path}/hard.db`);
  await Deno.symlink(file, `${folder.path}/soft.db`);
  for (const to of ["hard.db", "soft.db", "./jobs.db"]) {
    const { code, stderr } = await jobs(["move", "--from", `sqlite:${file}`, "--to", `sqlite:${to}`], {
      cwd: folder.path,
    });
    assertEquals(code, 1);
    assertEquals(stderr, `jobs: "sqlite:${file}" and "sqlite:${to}" are one and the same store; wanted: two\n`);
  }
  assertEquals(JSON.parse((await jobs(["stats", "--json", "--store", `sqlite:${file}`])).stdout).enqueued, 1);
});
