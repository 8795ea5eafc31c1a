import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { InvalidPayload } from "./errors.ts";
import type { Payload } from "./job.ts";
import { isExpired, readMoment, readRetention, readSpan, requireZone } from "./time.ts";
import { denoCommand, outputOf } from "../../scripts/deno_command.ts";

Deno.test("in: seconds or a duration; 0 or less is at once", () => {
  const read: [unknown, ReturnType<typeof readMoment>][] = [
    [90, { delayMs: 90_000 }],
    [0.25, { delayMs: 250 }],
    ["5m", { delayMs: 300_000 }],
    ["90", { delayMs: 90_000 }],
    [0, {}],
    [-5, {}],
    [2e9, { delayMs: 2e12 }],
    ["36525d", { delayMs: 36_525 * 86_400_000 }],
    [undefined, {}],
  ];
  for (const [value, moment] of read) assertEquals(readMoment(value, undefined), moment);
  for (const value of ["soon", NaN, Infinity, 1e300, 36_526 * 86_400, "36526d", null, {}, new Date(), true]) {
    const error = assertThrows(() => readMoment(value, undefined), InvalidPayload);
    assertStringIncludes(error.message, "expected seconds, or a duration such as 30s, ");
    const isLong = value === "36526d" || typeof value === "number" && value > 1e9;
    assertEquals(error.message.endsWith(", at most 36525d (100 years)"), isLong, String(value));
  }
});

Deno.test("at: a Date, ISO 8601 text, epoch seconds or milliseconds, or a number from now", () => {
  const moment = Date.UTC(2030, 0, 2, 3, 4, 5);
  const read: [unknown, ReturnType<typeof readMoment>][] = [
    [new Date(moment), { at: moment }],
    ["2030-01-02T03:04:05Z", { at: moment }],
    ["2030-01-02 03:04:05Z", { at: moment }],
    ["2030-01-02T03:04:05,5Z", { at: moment + 500 }],
    ["2030-01-02T05:04:05+02:00", { at: moment }],
    ["2030-01-02T05:04:05+0200", { at: moment }],
    ["2030-01-02T03:04", { at: new Date(2030, 0, 2, 3, 4).getTime() }],
    ["2030-01-02", { at: new Date(2030, 0, 2).getTime() }],
    ["2028-02-29T00:00Z", { at: Date.UTC(2028, 1, 29) }],
    [moment / 1_000, { at: moment }],
    [moment / 1_000 + 0.123, { at: moment + 123 }],
    [moment, { at: moment }],
    [1e9, { at: 1e12 }],
    [999_999_999, { delayMs: 999_999_999_000 }],
    [0, {}],
    [-60, {}],
    [new Date(-5), { at: -5 }],
    ["1999-01-01T00:00Z", { at: Date.UTC(1999, 0, 1) }],
  ];
  for (const [value, expected] of read) assertEquals(readMoment(undefined, value), expected, String(value));
});

Deno.test("at: a time without a zone is in the zone of the machine, also a date alone", async () => {
  const texts = ["2030-01-02", "2030-01-02T00:00", "2030-01-02 00:00:00"];
  const program = `import { readMoment } from "${new URL("./time.ts", import.meta.url)}";
    console.log(JSON.stringify(${JSON.stringify(texts)}.map((text) => readMoment(undefined, text).at)));`;
  // A separate process: the zone applies to a whole process, which other tests share.
  const { stdout, stderr } = await outputOf(denoCommand("eval", program), { env: { TZ: "Asia/Tokyo" } });
  assertEquals(stderr, "");
  assertEquals(JSON.parse(stdout), texts.map(() => Date.UTC(2030, 0, 1, 15)));
});

Deno.test("at: an invalid time is rejected", () => {
  const no = [
    "",
    "tomorrow",
    "5",
    "2030",
    "2030-1-2",
    "2030-13-01",
    "2030-02-30",
    "2029-02-29",
    "2030-01-02T25:00",
    "Jan 2 2030",
    "2030-01-02T03:04:05 Europe/London",
    "12030-01-02",
    new Date("+010000-01-01T00:00:00Z"),
    253_402_300_800_000,
    NaN,
    Infinity,
    1e300,
    new Date(NaN),
    null,
    {},
    true,
    5n,
  ];
  for (const value of no) {
    assertThrows(() => readMoment(undefined, value), InvalidPayload, "expected a Date, ISO 8601 text", String(value));
  }
});

Deno.test("at: a program on another machine must give the zone", () => {
  for (const at of ["2030-01-02", "2030-01-02T03:04", "2030-01-02 03:04:05.5"]) {
    assertThrows(() => requireZone(at), InvalidPayload, `at is "${at}"; expected a time with its zone`);
  }
  const zoned = ["2030-01-02T03:04Z", "2030-01-02T03:04:05-0800", "2030-01-02 03:04+01:00", 1_900_000_000, undefined];
  for (const at of [...zoned, "tomorrow", new Date()]) requireZone(at);
});

Deno.test("a retention has a bound, or -1 for none", () => {
  assertEquals([-1, "-1", 0, "36525d"].map((value) => readRetention("result_ttl", value)), [-1, -1, 0, 3_155_760_000]);
  for (const value of ["36526d", 1e12]) {
    assertThrows(() => readRetention("result_ttl", value), InvalidPayload, "at most 36525d (100 years)");
  }
});

Deno.test("in and at together are rejected", () => {
  assertThrows(() => readMoment(5, 5), InvalidPayload, 'in is 5; expected either "in" or "at", not both');
});

Deno.test("a span is more than 0, and not a point in time", () => {
  assertEquals([readSpan("timeout", "1h"), readSpan("timeout", 0.5)], [3_600, 0.5]);
  for (const value of [0, -1, "0s", 1e9 + 1, "soon", null, undefined]) {
    assertThrows(() => readSpan("timeout", value), InvalidPayload, "timeout is ");
  }
});

const NOW = 1_800_000_000_000;

function payload(more: Record<string, unknown>): Payload {
  return { class: "A", args: [], jid: "a", queue: "default", ...more };
}

Deno.test("a job expires expires_in seconds after it was enqueued, and not before", () => {
  const enqueued_at = NOW / 1_000 - 60;
  assertEquals(isExpired(payload({ expires_in: 59, enqueued_at }), NOW), true);
  assertEquals(isExpired(payload({ expires_in: 60, enqueued_at }), NOW), false);
  assertEquals(isExpired(payload({ enqueued_at }), NOW), false);
});

Deno.test("expires_in of a scheduled job counts from its time, not from the push", () => {
  const times = { created_at: NOW / 1_000 - 3_600, enqueued_at: NOW / 1_000 - 5 };
  assertEquals(isExpired(payload({ expires_in: 10, ...times }), NOW), false);
});

Deno.test("a job that has started before does not expire", () => {
  const old = { expires_in: 1, enqueued_at: NOW / 1_000 - 60 };
  assertEquals(isExpired(payload({ ...old, retry_count: 0 }), NOW), false);
  assertEquals(isExpired(payload({ ...old, suspected: 1 }), NOW), false);
  assertEquals(isExpired(payload({ ...old, has_steps: true }), NOW), false);
});

Deno.test("a job with an invalid expires_in does not expire", () => {
  assertEquals(isExpired(payload({ expires_in: "soon", enqueued_at: 1 }), NOW), false);
  assertEquals(isExpired(payload({ expires_in: 1, enqueued_at: "then" }), NOW), false);
});
