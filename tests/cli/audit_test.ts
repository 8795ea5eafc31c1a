/** The audit log of actions at the command line, on both stores. */
import { readEvents } from "../../src/store/admin/audit.ts";
import { assert, assertEquals } from "@std/assert";
import { openStore } from "../../src/store/open.ts";
import { jobs, temporaryFolder } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";

const push = async (store: string, ...args: string[]) =>
  (await jobs(["push", "--store", store, "A", ...args])).stdout.trim();

for (const kind of ["sqlite", "redis"] as const) {
  Deno.test(`records actions at the command line in the audit log: user, action, count (${kind})`, async () => {
    await using folder = await temporaryFolder();
    await using redis = kind === "redis" ? await startRedis() : undefined;
    const url = redis?.url ?? `sqlite:${folder.path}/jobs.db`;
    const one = await push(url, "--in", "1h");
    await push(url);
    const run = async (...args: string[]) => {
      const [command = "", ...rest] = args;
      await jobs([...command.split(" "), "--store", url, ...rest]);
    };
    await run("retry", one);
    await run("kill", "--all", "queued", "-q", "default", "--yes");
    await run("cancel", one, "unknown");
    await run("cancel", "--all", "running", "--yes");
    await run("pause", "mail", "--for", "10m");
    await run("resume");
    await run("stop", "--all");
    await run("cron add", "x", "A", "--every", "1h");
    await run("cron pause", "x");
    await run("cron run", "nothing");
    await run("cron add", "x", "A", "--every", "2h");
    await run("clear", "default", "--yes");
    await using store = await openStore(url);
    const { events } = await readEvents(store);
    const details = events.map(({ action, details }) => [action, details]).filter(([, details]) =>
      details !== undefined
    );
    assertEquals(details.reverse(), [["pause", "for 10m"], ["cron add", "every hour"]]);
    assertEquals(events.map(({ action, target, count, outcome }) => [action, target, count, outcome]).reverse(), [
      ["retry", one, 1, undefined],
      ["kill", 'all queued jobs in queue "default"', 2, "begun"],
      ["kill", 'all queued jobs in queue "default"', 2, undefined],
      ["cancel", `${one} unknown`, 0, undefined],
      ["cancel", "all running jobs", 0, "begun"],
      ["cancel", "all running jobs", 0, undefined],
      ["pause", "queue:mail", undefined, undefined],
      ["resume", "all queues", undefined, undefined],
      ["stop", "all workers", 0, "no online worker"],
      ["cron add", "x", undefined, undefined],
      ["cron pause", "x", undefined, undefined],
      ["cron run", "nothing", undefined, 'refused: Cron entry "nothing" not found; see jobs cron list'],
      ["cron add", "x", undefined, 'refused: Cron entry "x" already exists; replace it, or use another name'],
      ["clear", "queue:default", 0, "begun"],
      ["clear", "queue:default", 0, undefined],
    ]);
    assert(events.every(({ user, by, from }) => user !== "" && by === "command line" && from === Deno.hostname()));
    // Two days, because the day may change meanwhile.
    const { history } = JSON.parse((await jobs(["stats", "--store", url, "--history", "2", "--json"])).stdout);
    assertEquals(history.map(({ processed }: { processed: number }) => processed), [0, 0]);
  });
}

Deno.test("rejects a number of days out of range for stats --history", async () => {
  for (const wrong of ["0", "1826", "week"]) {
    const { code, stderr } = await jobs(["stats", "--store", "sqlite::memory:", "--history", wrong]);
    assertEquals([code, stderr.trim()], [
      2,
      `jobs: Invalid --history "${wrong}": expected a number of days from 1 to 1825`,
    ]);
  }
});
