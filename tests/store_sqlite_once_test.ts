/** Keys of idempotent pushes in a SQLite file. */
import { assert } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "../src/store/open.ts";
import { temporaryFolder } from "./support/process.ts";
import { ShiftedClock } from "./support/stores.ts";
import { job } from "./store_contract/jobs.ts";

Deno.test("later pushes delete expired keys, so that few more are kept than are valid", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/jobs.db`;
  const clock = new ShiftedClock();
  await using store = await openStore(`sqlite:${path}`, { clock });
  let number = 0;
  const push = async (count: number) => {
    for (let i = 0; i < count; i++) {
      number++;
      await store.jobs.enqueue([{ ...job(number), once: { key: `key-${number}`, ttlMs: 60_000 } }]);
    }
  };
  await push(200);
  clock.advance(120_000);
  await push(200);
  using database = new DatabaseSync(path, { readOnly: true });
  const { count } = database.prepare("SELECT count(*) AS count FROM once_key").get() as { count: number };
  assert(count <= 200 + 64, `${count} keys`);
});
