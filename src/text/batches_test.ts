import { assertEquals } from "@std/assert";
import { someBatch } from "../../tests/support/snapshot.ts";
import { batchThroughput, whyNotEnded } from "./batches.ts";

Deno.test("the throughput of a batch is its average, with the time that is left if that is known", () => {
  const throughput = (more: Parameters<typeof someBatch>[1], seconds = 10) =>
    batchThroughput(someBatch("b", { createdAt: 0, ...more }), seconds * 1_000);
  assertEquals(throughput({ total: 100, pending: 60 }), "4.0 jobs/s, about 15s left");
  assertEquals(throughput({ total: 100, pending: 97 }), "18.0 jobs/min, about 5m24s left");
  assertEquals(throughput({ total: 6, pending: 4, waiting: 3 }, 4_800), "1.5 jobs/h");
  assertEquals(throughput({ total: 100, pending: 60, state: "open" }), "4.0 jobs/s", "more may come");
  assertEquals(throughput({ total: 100, pending: 60, waiting: 1 }), "4.0 jobs/s", "a node waits for others");
  assertEquals(throughput({ total: 100, state: "succeeded", completedAt: 20_000 }, 1_000), "5.0 jobs/s");
  assertEquals([throughput({ total: 100, pending: 100 }), throughput({ total: 100 }, 0.5)], [undefined, undefined]);
});

Deno.test("a batch that hasn't ended says what it waits for, and the command that helps", () => {
  const why = (more: Parameters<typeof someBatch>[1]) =>
    whyNotEnded(someBatch("b1", { createdAt: 0, ...more }), 60_000);
  assertEquals(why({ state: "stuck", total: 5, dead: 2, completedAt: 0 }), [
    "It waits for its dead jobs, for 1m. jobs batch retry b1 runs them again; jobs list dead --batch b1 lists them, " +
    "and jobs delete --all dead --batch b1 gives them up.",
  ]);
  assertEquals(why({ state: "stuck", total: 5, dead: 1, flow: true }), [
    "It waits for its dead node. jobs flow retry b1 runs it again; jobs list dead --batch b1 lists it, " +
    "and jobs delete --all dead --batch b1 gives it up.",
  ]);
  const close = "jobs batch close b1 closes it once all members are pushed";
  assertEquals(why({ state: "open", total: 0, dueAt: 3_660_000 }), [
    `It is open, and has no members: ${close}; without more members it is abandoned in 1h.`,
  ]);
  assertEquals(why({ state: "open", total: 2, pending: 0 }), [`It is open, and its members have ended: ${close}.`]);
  assertEquals(why({ state: "running", total: 5, pending: 3 }), [
    "3 jobs are pending: jobs find --batch b1 lists them, and jobs show JID says why one isn't running.",
  ]);
  assertEquals(why({ state: "running", total: 5, pending: 3, flow: true }), []);
  for (const state of ["succeeded", "failed", "cancelled", "abandoned"] as const) assertEquals(why({ state }), []);
});
