import { assertEquals } from "@std/assert";
import type { Entry } from "../../store/port/entries.ts";
import { compileEntryFilter, compileGlob, isEmptyFilter, isPlainText, type JobFilter, wordsOf } from "./filter.ts";

function entry(payload: Record<string, unknown> | string, place: Entry["place"] = { in: "dead" }, at = 5_000): Entry {
  const raw = typeof payload === "string"
    ? payload
    : JSON.stringify({ jid: "a", args: [], class: "Import", ...payload });
  return { ref: "r", place, payload: raw, at };
}

function matched(filter: JobFilter, entries: readonly Entry[]): boolean[] {
  return entries.map(compileEntryFilter(filter));
}

Deno.test("matches a class exactly, and by pattern only with a star", () => {
  const jobs = ["Import", "ImportRow", "ReImport", "import"].map((name) => entry({ class: name }));
  assertEquals(matched({ class: "Import" }, jobs), [true, false, false, false]);
  assertEquals(matched({ class: "Import*" }, jobs), [true, true, false, false]);
  assertEquals(matched({ class: "*Import" }, jobs), [true, false, true, false]);
  assertEquals(matched({ class: "*" }, jobs), [true, true, true, true]);
});

Deno.test("matches the class that is shown, not its wrapper", () => {
  const wrapped = entry({ class: "Wrapper", wrapped: "Mail" });
  const displayed = entry({ class: "Wrapper", wrapped: "Mail", display_class: "Letter" });
  const active = entry({ class: "Sidekiq::ActiveJob::Wrapper", args: [{ job_class: "Bill" }] });
  assertEquals(matched({ class: "Mail" }, [wrapped, displayed, active]), [true, false, false]);
  assertEquals(matched({ class: "Letter" }, [wrapped, displayed, active]), [false, true, false]);
  assertEquals(matched({ class: "Bill" }, [wrapped, displayed, active]), [false, false, true]);
  assertEquals(matched({ class: "Wrapper" }, [wrapped, displayed, active]), [false, false, false]);
});

Deno.test("finds names however JSON escapes them", () => {
  const escaped = entry(String.raw`{"class":"A\/B\u00e9\"","args":[],"tags":["caf\u00e9"]}`);
  assertEquals(matched({ class: 'A/Bé"' }, [escaped]), [true]);
  assertEquals(matched({ tag: "café" }, [escaped]), [true]);
  assertEquals(matched({ class: "A/*" }, [escaped]), [true]);
});

Deno.test("matches an error anywhere in its class and message, ignoring case", () => {
  const jobs = [
    entry({ error_class: "TypeError", error_message: "No such account: 5" }),
    entry({ error_class: "RangeError", error_message: "x" }),
    entry({}),
  ];
  assertEquals(matched({ error: "typeerror: no such" }, jobs), [true, false, false]);
  assertEquals(matched({ error: "Error" }, jobs), [true, true, false]);
  assertEquals(matched({ error: "TypeError: * account: *" }, jobs), [true, false, false]);
});

Deno.test("matches texts across the borders of fields, however the payload is spaced", () => {
  const tight = JSON.stringify({
    jid: "a",
    class: "Import",
    args: [{ customer: 5, list: [1, 2] }],
    error_class: "TypeError",
    error_message: "No such: x",
  });
  const spaced = tight.replaceAll(",", ", ").replaceAll(/":/g, '": ');
  const filters = [
    ...["TypeError:", "TypeError:*x", "r: N", " No such", ": no*: x", ":*"].map((error) => ({ error })),
    ...["typeerror:", "TypeError: No such: x", '"customer":5', '{"customer":5,"list":[1,2]}'].map((q) => ({ q })),
  ];
  for (const filter of filters) {
    assertEquals(matched(filter, [entry(tight), entry(spaced)]), [true, true], JSON.stringify(filter));
  }
});

Deno.test("matches one of the tags, and the queue that the job is in or returns to", () => {
  const jobs = [
    entry({ tags: ["night", "mail"], queue: "low" }),
    entry({ tags: ["nightly"], queue: "lower" }),
    entry({ tags: "night" }, { in: "queue", queue: "low" }),
  ];
  assertEquals(matched({ tag: "night" }, jobs), [true, false, false]);
  assertEquals(matched({ queue: "low" }, jobs), [true, false, true]);
});

Deno.test("counts the age of a job from when it entered its state, by Sidekiq 7's seconds and 8's milliseconds", () => {
  const times = { created_at: 1, enqueued_at: 2, failed_at: 3, retried_at: 4 };
  const places = ["dead", "retry", "scheduled", "running"].map((name) => ({ in: name }) as Entry["place"]);
  const jobs = [...places, { in: "queue", queue: "q" } as const].map((place) => entry(times, place));
  assertEquals(matched({ before: 4_001 }, jobs), [false, true, true, false, true]);
  assertEquals(matched({ after: 2_000 }, jobs), [true, true, false, true, true]);
  assertEquals(matched({ before: 2_001, after: 2_000 }, jobs), [false, false, false, false, true]);
  const eight = entry({ failed_at: 1_800_000_000_000 }, { in: "retry" });
  assertEquals(matched({ after: 1_800_000_000_000 }, [eight]), [true]);
  assertEquals(matched({ before: Infinity }, [entry({}, { in: "retry" })]), [false], "a job of unknown age");
});

Deno.test("searches a text as it is shown, however JSON escapes it", () => {
  const php = entry(String.raw`{"class":"A","args":["caf\u00e9 \"b\" \/c \\d"],"jid":"a"}`);
  for (const text of ['Café "b"', "/C \\d", String.raw`\"b\"`]) assertEquals(matched({ q: text }, [php]), [true], text);
  assertEquals(["no such", "é", "a/b", 'a"', "E: m", '{"a":1}'].map(isPlainText), [true, ...Array(5).fill(false)]);
});

Deno.test("searches the payload, but not its packed stack", () => {
  const job = entry({ args: ["Bob"], error_backtrace: "bobsled" });
  assertEquals(matched({ q: "bob" }, [job]), [true]);
  assertEquals(wordsOf('  bob "no such  account" {"id": 5'), ["bob", "no such  account", '{"id":', "5"]);
  assertEquals([wordsOf(" "), wordsOf(""), wordsOf('"')], [[" "], [], ['"']]);
  assertEquals(matched({ q: "sled" }, [job]), [false]);
});

Deno.test("combines criteria with and; an unreadable payload has a queue and a text only", () => {
  const both = entry({ class: "A", queue: "low" });
  assertEquals(matched({ class: "A", queue: "low" }, [both]), [true]);
  assertEquals(matched({ class: "A", queue: "high" }, [both]), [false]);
  const unreadable = entry("{ broken A", { in: "queue", queue: "low" });
  assertEquals(matched({ queue: "low", q: "BROKEN" }, [unreadable]), [true]);
  assertEquals(matched({ class: "A" }, [unreadable]), [false]);
});

Deno.test("a star stands for any characters, in linear time", () => {
  const cases: [pattern: string, text: string, fits: boolean][] = [
    ["a*c", "abc", true],
    ["a*c", "ac", true],
    ["a*a", "a", false],
    ["*b*b*", "abab", true],
    ["*b*b*", "ab", false],
    ["a*bc*c", "abc", false],
    ["a.c", "abc", false],
    ["", "", true],
    ["", "a", false],
    ["a*\n", "a\n\n", true],
  ];
  for (const [pattern, text, fits] of cases) assertEquals(compileGlob(pattern)(text), fits, `${pattern} ${text}`);
  assertEquals(compileGlob("*a".repeat(5_000))("a".repeat(100_000) + "b"), false);
});

Deno.test("an empty filter matches everything", () => {
  assertEquals([isEmptyFilter({}), isEmptyFilter({ before: 0 })], [true, false]);
});
