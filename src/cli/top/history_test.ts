import { assertEquals } from "@std/assert";
import { someQueue, someStats } from "../../../tests/support/snapshot.ts";
import { History } from "./history.ts";

Deno.test("rates are differences over time, for readings of any duration", () => {
  const history = new History();
  assertEquals(history.rates, undefined);
  history.add(1_000, someStats({ processed: 100, failed: 10 }));
  assertEquals([history.rates, history.throughput], [undefined, []]);
  history.add(2_000, someStats({ processed: 150, failed: 10 }));
  history.add(5_000, someStats({ processed: 180, failed: 18 }));
  assertEquals(history.rates, { processed: 20, failed: 2 });
  assertEquals(history.throughput, [50, 10]);
});

Deno.test("counters that decrease start again, without a negative rate", () => {
  const history = new History();
  history.add(1_000, someStats({ processed: 100 }));
  history.add(2_000, someStats({ processed: 0 }));
  assertEquals([history.rates, history.throughput], [undefined, []]);
  history.add(3_000, someStats({ processed: 5 }));
  assertEquals(history.rates?.processed, 5);
});

Deno.test("depths are kept by queue and set, bounded, and dropped with the queue", () => {
  const history = new History();
  for (let i = 0; i < 200; i++) history.add(i, someStats({ retry: i, queues: [someQueue("retry", { size: 2 * i })] }));
  assertEquals([history.queueDepths("retry").length, history.queueDepths("retry").at(-1)], [120, 398]);
  assertEquals(history.setSizes("retry").at(-1), 199);
  history.add(200, someStats());
  assertEquals(history.queueDepths("retry"), []);
});
