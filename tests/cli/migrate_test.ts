/** `jobs migrate`. tests/store_migrate_test.ts kills it halfway. */
import { assertEquals, assertMatch } from "@std/assert";
import { openStore } from "../../src/store/open.ts";
import { Client } from "../../src/client/client.ts";
import { jobs, temporaryFolder } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";

Deno.test("migrates everything from SQLite to Redis and back", async () => {
  await using folder = await temporaryFolder();
  await using redis = await startRedis();
  const file = `sqlite:${folder.path}/jobs.db`;
  {
    await using store = await openStore(file);
    const client = new Client({ store });
    for (let i = 0; i < 3; i++) await client.push("Noop", [i], { queue: "low" });
    await client.push("Noop", ["later"], { in: "1h" });
    await store.admin.configure("low", { pause: true });
  }
  const there = await jobs(["migrate", "--from", file, "--to", redis.url]);
  assertEquals([there.code, there.stderr], [0, ""]);
  assertMatch(there.stdout, /^Migrated 4 jobs and 0 cron entries to redis:/);
  const back = await jobs(["migrate", "--from", redis.url, "--to", file, "--json"]);
  assertEquals(JSON.parse(back.stdout), { jobs: 4, cron: 0, left: { processed: 0, failed: 0 } });
  await using store = await openStore(file);
  const { entries } = await store.admin.page({ in: "queue", queue: "low" });
  assertEquals(entries.map((entry) => JSON.parse(entry.payload).args[0]), [0, 1, 2]);
  const { scheduled, queues } = await store.admin.stats();
  assertEquals([scheduled, queues.find((queue) => queue.name === "low")?.paused], [1, true]);
});

Deno.test("names the totals that stay in the source", async () => {
  await using folder = await temporaryFolder();
  const [from, to] = [`sqlite:${folder.path}/from.db`, `sqlite:${folder.path}/to.db`];
  await Deno.writeTextFile(`${folder.path}/handlers.js`, "export const Fine = () => {}; export const Bad = () => x.y;");
  for (const name of ["Fine", "Fine", "Bad"]) await jobs(["push", name, "--retry", "0", "--store", from]);
  await jobs(["run", "handlers.js", "--burst", "--store", from], { cwd: folder.path });
  const moved = await jobs(["migrate", "--from", from, "--to", to]);
  assertMatch(moved.stdout, /^Migrated 1 job and 0 cron entries to /);
  assertEquals(moved.stderr, "jobs: the totals stay in the source: 3 processed, 1 failed; dashboards begin at 0\n");
});

Deno.test("rejects missing and equal stores", async () => {
  const missing = await jobs(["migrate", "--from", "sqlite::memory:"]);
  assertEquals(missing.code, 2);
  assertMatch(missing.stderr, /Missing option: --to URL/);
  const same = await jobs(["migrate", "--from", "sqlite:a.db", "--to", "sqlite:a.db"]);
  assertEquals(same.code, 2);
});

Deno.test("rejects one file under two names before it opens it", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/jobs.db`;
  assertEquals((await jobs(["push", "Noop", "--store", `sqlite:${file}`])).code, 0);
  await Deno.link(file, `${folder.path}/hard.db`);
  await Deno.symlink(file, `${folder.path}/soft.db`);
  for (const to of ["hard.db", "soft.db", "./jobs.db"]) {
    const { code, stderr } = await jobs(["migrate", "--from", `sqlite:${file}`, "--to", `sqlite:${to}`], {
      cwd: folder.path,
    });
    assertEquals(code, 1);
    assertEquals(stderr, `jobs: "sqlite:${file}" and "sqlite:${to}" are the same store: expected two stores\n`);
  }
  assertEquals(JSON.parse((await jobs(["stats", "--json", "--store", `sqlite:${file}`])).stdout).queued, 1);
});
