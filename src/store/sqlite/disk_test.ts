import { assertEquals } from "@std/assert";
import { diskFindings } from "./disk.ts";

const space = (bfree: number, reserved = 0) =>
  Promise.resolve({ bsize: 1_000_000, blocks: 1_000, bfree, bavail: bfree - reserved });

Deno.test("warns of a disk that is 90 % full, as df counts", async () => {
  const found = async (bfree: number, reserved?: number) =>
    (await diskFindings("/var/lib/jobs/jobs.db", () => space(bfree, reserved))).map((
      { message, cure },
    ) => [message, cure]);
  assertEquals(await found(101), []);
  assertEquals(await found(100), [[
    "its disk is 90 % full, 95 MB are free: on a full one no job is pushed, and none that runs can end",
    'df -h "/var/lib/jobs"',
  ]]);
  // The part that is reserved for root isn't free.
  assertEquals((await found(140, 50)).length, 1);
  assertEquals(await diskFindings("/jobs.db", () => Promise.reject(new Error("not here"))), []);
});
