/** Keys of idempotent pushes in a SQLite file. */
import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "../src/store/open.ts";
import { temporaryFolder } from "./support/process.ts";
import { ShiftedClock } from "./support/stores.ts";
import { HOUR_MS, jid, job } from "./store_contract/jobs.ts";

Deno.test("later pushes delete expired keys, so that at most a third more are kept than are valid", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/jobs.db`;
  const clock = new ShiftedClock();
  await using store = await openStore(`sqlite:${path}?durability=normal`, { clock });
  let number = 0;
  const push = async (count: number) => {
    for (let i = 0; i < count; i++) {
      number++;
      await store.jobs.enqueue([{ ...job(number), once: { key: `key-${number}`, ttlMs: 60_000 } }]);
    }
  };
  for (let minutes = 0; minutes < 4; minutes++) {
    await push(200);
    clock.advance(60_000);
  }
  using database = new DatabaseSync(path, { readOnly: true });
  const { count } = database.prepare("SELECT count(*) AS count FROM once_key").get() as { count: number };
  // The last 200, a third of them, and those of the sweep to come.
  assert(count <= 200 * 4 / 3 + 64, `${count} keys`);
});

Deno.test("a sweep deletes each key that has expired, and none that is valid", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/jobs.db`;
  const clock = new ShiftedClock();
  await using store = await openStore(`sqlite:${path}?durability=normal`, { clock });
  let number = 0;
  // Every third key is still valid when sweeps come, in any order of the keys.
  const isLong = (n: number) => n % 3 === 0;
  const push = async (count: number, ttlMs: (n: number) => number) => {
    for (let i = 0; i < count; i++) {
      const n = ++number;
      await store.jobs.enqueue([{ ...job(n), once: { key: `key-${n * 7_919 % 10_007}`, ttlMs: ttlMs(n) } }]);
    }
  };
  await push(400, (n) => isLong(n) ? HOUR_MS : 60_000);
  clock.advance(120_000);
  // Sweeps read four keys per new one: these read all of the first 400, and continue from the start.
  await push(400, () => HOUR_MS);
  for (let n = 1; n <= 800; n++) {
    if (n <= 400 && !isLong(n)) continue;
    const again = { ...job(9_999), once: { key: `key-${n * 7_919 % 10_007}`, ttlMs: HOUR_MS } };
    assertEquals(await store.jobs.enqueue([again]), [{ kind: "existing", first: jid(n) }], `key ${n}`);
  }
  using database = new DatabaseSync(path, { readOnly: true });
  const { count } = database.prepare("SELECT count(*) AS count FROM once_key WHERE expires < ?").get(clock.now()) as {
    count: number;
  };
  assertEquals(count, 0);
});
