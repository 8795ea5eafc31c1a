/**
 * A short soak on each store: what `make soak` does, for long enough that everything is killed, frozen and cut off once.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { temporaryFolder } from "../support/process.ts";
import { isClean, report } from "./report.ts";
import { soakAll } from "./soak.ts";

const LOAD_MS = 15_000;
/** The plan of this seed has most kinds of disturbances, on both stores. */
const SEED = 6850;

Deno.test("soak: workers, lines and stores that fail at random lose nothing, leave nothing stuck, and repeat only what they interrupt", async () => {
  await using folder = await temporaryFolder();
  const options = { seed: SEED, durationMs: LOAD_MS, workers: 3, rate: 40, deadAfterMs: 3_000, folder: folder.path };
  const results = await soakAll(["sqlite", "redis"], options);
  for (const result of results) assertEquals(isClean(result), true, report(result));
});
