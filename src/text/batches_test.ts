import { assertEquals } from "@std/assert";
import { someBatch } from "../../tests/support/snapshot.ts";
import { batchThroughput } from "./batches.ts";

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
