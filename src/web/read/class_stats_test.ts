import { assertEquals } from "@std/assert";
import type { EndedJob } from "../../job/result.ts";
import { classStats } from "./class_stats.ts";

Deno.test("summarizes each class: count, failures, run times and wait times", () => {
  const job = (name: string, ms: number, more: Partial<EndedJob> = {}): EndedJob => ({
    jid: "j",
    class: name,
    queue: "default",
    state: "succeeded",
    endedAt: 0,
    elapsedMs: ms,
    ...more,
  });
  const mails = Array.from(
    { length: 100 },
    (_, i) => job("Mail", i + 1, { startedAt: 1_700_000_000_000 + i, payload: { enqueued_at: 1_700_000_000 } }),
  );
  const [mail, report, never] = classStats([
    job("Report", 4_000, { state: "failed" }),
    job("Report", 2_000),
    { jid: "x", class: "Never", queue: "q", state: "expired", endedAt: 0 },
    ...mails,
  ]);
  assertEquals([mail!.class, mail!.count, mail!.failed], ["Mail", 100, 0]);
  assertEquals(mail!.run, { p50: 50, p95: 95, p99: 99, longest: 100 });
  assertEquals(mail!.wait, { p50: 49, p95: 94, p99: 98, longest: 99 });
  assertEquals(mail!.histogram, [5, 20, 75, 0, 0, 0, 0, 0, 0, 0]);
  assertEquals([report!.failed, report!.run!.p50, report!.wait], [1, 2_000, undefined]);
  assertEquals([never!.run, never!.wait], [undefined, undefined]);
});
