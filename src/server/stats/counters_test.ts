import { assertEquals } from "@std/assert";
import { ClassCounters } from "./counters.ts";

Deno.test("counts a failed attempt as processed and failed, without its run time", () => {
  const counters = new ClassCounters();
  counters.add("Hard", "succeeded", 25);
  counters.add("Hard", "retried", 9_000);
  counters.add("Hard", "dead", 9_000);
  counters.add("Hard", "discarded", 9_000);
  counters.add("Hard", "snoozed", 9_000);
  counters.add("Hard", "cancelled", 500_000);
  counters.addUnstarted("Hard", "expired");
  const [{ histogram, ...sums }] = counters.drain() as [ReturnType<ClassCounters["drain"]>[0]];
  assertEquals(sums, { class: "Hard", processed: 5, failed: 3, workedMs: 500_025 });
  assertEquals(histogram.flatMap((count, i) => count ? [[i, count]] : []), [[1, 1], [25, 1]]);
  assertEquals(counters.byClass(), {
    Hard: { succeeded: 1, failed: 3, cancelled: 1, expired: 1, workedMs: 527_025 },
  });
  // Neither snoozed nor cancelled.
  assertEquals(counters.classes.get("Hard")!.run.counts, [0, 1, 0, 0, 0, 0, 3, 0, 0, 0]);
  assertEquals(counters.classes.get("Hard")!.endings, {
    succeeded: 1,
    retried: 1,
    dead: 1,
    discarded: 1,
    cancelled: 1,
    snoozed: 1,
    unhandled: 0,
    expired: 1,
  });
});

Deno.test("drains each count once, and keeps it in the totals", () => {
  const counters = new ClassCounters();
  counters.add("A", "succeeded", 1);
  counters.add("B", "succeeded", 1);
  assertEquals(counters.drain().map((one) => one.class), ["A", "B"]);
  counters.add("B", "succeeded", 1);
  assertEquals(counters.drain().map((one) => [one.class, one.processed]), [["B", 1]]);
  assertEquals(counters.drain(), []);
  assertEquals(counters.byClass().B!.succeeded, 2);
});

Deno.test("bounds the number of classes and the length of their names", () => {
  const counters = new ClassCounters();
  counters.add("x".repeat(1_000_000), "succeeded", 1);
  for (let i = 0; i < 1_000; i++) counters.add(`Class${i}`, "succeeded", 1);
  counters.add("Class0", "succeeded", 1);
  const drained = counters.drain();
  assertEquals(drained.length, 200);
  assertEquals(drained.find((one) => one.class === "(other)")!.processed, 1 + 1_000 - 199);
  assertEquals(drained.find((one) => one.class === "Class0")!.processed, 2);
});

Deno.test("counts a job whose worker died as dead and failed, without a run time", () => {
  const counters = new ClassCounters();
  counters.addDied("Crash", "dead");
  counters.addDied("Crash", "discarded");
  const { endings, run } = counters.classes.get("Crash")!;
  assertEquals([endings.dead, endings.discarded, Math.max(...run.counts)], [1, 1, 0]);
  assertEquals(counters.byClass()["Crash"]!.failed, 2);
  assertEquals(counters.drain().map(({ processed, failed, workedMs }) => ({ processed, failed, workedMs })), [
    { processed: 2, failed: 2, workedMs: 0 },
  ]);
});
