/** Keys of idempotent pushes in a SQLite file. */
import { assert } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "../src/store/open.ts";
import { temporaryFolder } from "./support/process.ts";
import { ShiftedClock } from "./support/stores.ts";
import { job } from "./store_contract/jobs.ts";

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
