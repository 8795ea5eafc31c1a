/**
 * Kills processes of a SQLite store at any moment, and checks where their jobs are.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { jid, workerRecord } from "./store_contract/jobs.ts";
import { Child } from "./support/child.ts";
import { checkPlaces, ShiftedClock, sqliteFolder } from "./support/stores.ts";

const HOUR_MS = 3_600_000;

Deno.test("sqlite: after kills at any moment, every acknowledged push exists, each job in one place", async () => {
  await using folder = await sqliteFolder();
  const clock = new ShiftedClock();
  const store = await folder.open({ clock });
  const pushed: [first: number, last: number][] = [];
  const note = (line: string) => pushed.push(line.split(" ").map(Number) as [number, number]);
  for (let round = 1; round <= 4; round++) {
    await using pusher = new Child("sqlite_child.ts", ["push", store.url, `${2 * round}`]);
    await using worker = new Child("sqlite_child.ts", ["work", store.url, `${2 * round + 1}`]);
    // A different number of steps each time, so that each kill interrupts another moment of a step.
    for (let steps = 0; steps < 10 + 3 * round; steps++) {
      note((await pusher.line())!);
      assert(await worker.line() !== undefined);
    }
    const [unread] = await Promise.all([pusher.kill(), worker.kill()]);
    unread.forEach(note);
    checkPlaces(folder.file);
  }

  const numbers = pushed.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => first + i));
  assert(numbers.length > 2_000);
  const lost: number[] = [];
  for (const n of numbers) if ((await store.jobs.find([jid(n)])).length !== 1) lost.push(n);
  assertEquals(lost, []);

  assert((await store.admin.stats()).running > 0, "The workers died with jobs in their hands");
  const worker = "host:0:ffffffffffff";
  for (let passed = 0; passed < HOUR_MS; passed += HOUR_MS / 4) {
    await store.workers.heartbeat(workerRecord(worker), HOUR_MS);
    clock.advance(HOUR_MS / 4);
  }
  await store.workers.heartbeat(workerRecord(worker), HOUR_MS);
  while ((await store.jobs.rescue({ worker, limit: 100, maxRescues: 3 })).rescued > 0);
  assertEquals((await store.admin.stats()).running, 0);
  checkPlaces(folder.file);
});
