import { assertEquals } from "@std/assert";
import type { Entry } from "../../store/port/entries.ts";
import { ErrorGroups, errorPattern } from "./error_groups.ts";
import { compileEntryFilter } from "./filter.ts";

function failed(jid: string, message: string, place: "dead" | "retry", at: number, name = "Import"): Entry {
  const payload = {
    class: name,
    args: [],
    jid,
    error_class: "TypeError",
    error_message: message,
    failed_at: at / 1_000,
  };
  return { ref: jid, place: { in: place }, payload: JSON.stringify(payload), at };
}

Deno.test("replaces the parts of an error that vary", () => {
  const cases = [
    ["TypeError: No such account: 4711", "TypeError: No such account: *"],
    ['Error: no file "a b.png" in 3.5s', "Error: no file * in *s"],
    ["E: job 0f8fad5b-d9cb-469f-a165-70867728950e, 5 of 9", "E: job *, * of *"],
    ["E: at 127.0.0.1:6379\nsecond line", "E: at *"],
    ["E: deadbeef decade", "E: deadbeef decade"],
    ["", ""],
  ];
  for (const [error, pattern] of cases) assertEquals(errorPattern(error!), pattern!);
  assertEquals(errorPattern("x".repeat(500)), `${"x".repeat(200)}*`);
});

Deno.test("groups jobs by class and error, the largest group first, with its latest job as example", () => {
  const groups = new ErrorGroups();
  const entries = [
    failed("a", "No such account: 1", "dead", 5_000),
    failed("b", "No such account: 2", "retry", 9_000),
    failed("c", "No such account: 3", "dead", 7_000),
    failed("d", "No such account: 4", "dead", 7_000, "Export"),
  ];
  for (const entry of entries) groups.add(entry);
  const error = "TypeError: No such account: *";
  assertEquals(groups.list(), [
    { class: "Import", error, dead: 2, retrying: 1, firstAt: 5_000, lastAt: 9_000, jid: "b", times: [] },
    { class: "Export", error, dead: 1, retrying: 0, firstAt: 7_000, lastAt: 7_000, jid: "d", times: [] },
  ]);
  const matches = compileEntryFilter({ class: "Import", error });
  assertEquals(entries.map(matches), [true, true, true, false], "a group's error selects its jobs");
});

Deno.test("the first time is the first failure of a job, not the latest of one that retries", () => {
  const retrying = (jid: string, failedAt: unknown, retriedAt: number): Entry => {
    const entry = failed(jid, "no", "retry", retriedAt);
    const payload = { ...JSON.parse(entry.payload), failed_at: failedAt, retried_at: retriedAt / 1_000 };
    return { ...entry, payload: JSON.stringify(payload) };
  };
  const groups = new ErrorGroups({ times: true });
  groups.add(retrying("a", 5, 200_000));
  groups.add(retrying("b", 1_700, 300_000));
  groups.add(retrying("c", "never", 250_000));
  const [{ firstAt, lastAt, times } = {}] = groups.list();
  assertEquals([firstAt, lastAt, times], [5_000, 300_000, [200_000, 300_000, 250_000]]);
});

Deno.test("keeps a bounded number of groups, and counts the rest", () => {
  const groups = new ErrorGroups();
  const letters = (n: number) => [...String(n)].map((digit) => "abcdefghij"[Number(digit)]).join("");
  for (let i = 0; i < 10_005; i++) groups.add(failed("a", `no ${letters(i)}`, "dead", 1));
  assertEquals([groups.list().length, groups.ungrouped], [10_000, 5]);
});
