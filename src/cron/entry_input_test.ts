import { assertEquals } from "@std/assert";
import type { CronEntryInput } from "./entry.ts";
import { checkEntries } from "./entry_check.ts";
import { entryInput } from "./entry_input.ts";

Deno.test("entryInput returns an input that gives the same entry again", () => {
  const inputs: CronEntryInput[] = [
    { name: "a", rule: "30 3 * * MON-FRI", timezone: "europe/london", class: "Report", args: ["x", { y: 1 }] },
    { name: "b", every: "90s", anchor: "2026-01-01T00:00:10Z", class: "Tick", memo: "for Ann" },
    { name: "c", every: 1.234, class: "Tick", queue: "low", retry: 3, tags: ["t"], options: { tenant: 7 } },
    { name: "d", rule: "@daily", class: "A", overlap: "queue-one", catchUp: "all", catchUpWindow: "1d1h1m1s" },
    { name: "e", rule: "* * * * * *", class: "A", singleton: true, catchUp: "none" },
    { name: "g", rule: "0 9 * * *", class: "A", start: "2026-01-01T00:00:00Z", count: 3, spread: "10m" },
    { name: "h", every: "1m", class: "A", end: "2026-01-01T00:00:00.5Z", spread: "30s" },
    { name: "f", rule: "0 0 1 * *", class: "A", everyProcess: true, timeout: "5m", dead: false },
  ];
  const { active, problems } = checkEntries(inputs, { environment: "" });
  assertEquals([problems, active.length], [[], inputs.length]);
  const again = checkEntries(active.map(entryInput), { environment: "" });
  assertEquals(again.problems, []);
  assertEquals(again.active, active);
});
