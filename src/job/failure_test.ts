import { assertEquals } from "@std/assert";
import { deflateSync } from "node:zlib";
import { describeError } from "./describe_error.ts";
import { decodeBacktrace, encodeBacktrace, failedPayload, type FailureFacts, readCauses } from "./failure.ts";
import { parsePayload } from "./job.ts";
import { attemptNumbers, type PastError } from "./past_errors.ts";

const NOW = 1_700_000_000_123;
const ERROR = { class: "Net::Timeout", message: "no answer", causes: [], stack: ["at a (<x>:1:2)", "at b", "at c"] };

/** Returns the text of the payload after a failure. */
function failed(raw: string, more: Partial<FailureFacts> = {}): string {
  return failedPayload(parsePayload(raw)!, { error: ERROR, queue: "low", now: NOW, wire: 7, ...more });
}

Deno.test("failedPayload writes the first failure, and leaves every other byte unchanged", () => {
  const raw = `{"class":"A","args":[1.0,12345678901234567890], "queue":"low","x":1e2,"enqueued_at":1.5,"jid":"j"}`;
  assertEquals(
    failed(raw),
    `{"class":"A","args":[1.0,12345678901234567890], "queue":"low","x":1e2,"jid":"j"` +
      `,"error_class":"Net::Timeout","error_message":"no answer","retry_count":0,"failed_at":1700000000.123` +
      `,"errors":[{"at":1700000000.123,"error_class":"Net::Timeout","error_message":"no answer","try":1}]}`,
  );
});

Deno.test("A later failure increases the count, keeps failed_at and sets retried_at", () => {
  const raw = `{"class":"A","args":[],"queue":"low","retry_count":4,"failed_at":1600000000.5,"retried_at":1.0}`;
  assertEquals(
    failed(raw, { wire: 8 }),
    `{"class":"A","args":[],"queue":"low","retry_count":5,"failed_at":1600000000.5,"retried_at":1700000000123` +
      `,"error_class":"Net::Timeout","error_message":"no answer"` +
      `,"errors":[{"at":1700000000123,"error_class":"Net::Timeout","error_message":"no answer","try":6}]}`,
  );
  const lost = JSON.parse(failed(`{"class":"A","args":[],"retry_count":1}`));
  assertEquals([lost.failed_at, lost.retried_at], [1700000000.123, 1700000000.123]);
});

Deno.test("each failure keeps its worker and its duration, and later ones don't change them", () => {
  const first = failed(`{"class":"A","args":[]}`, { attempt: { worker: "web1:7:a", ms: 2_100.4 } });
  const second = JSON.parse(failed(first, { attempt: { worker: `${"x".repeat(300)}` } })).errors;
  assertEquals(second.map(({ worker, ms }: PastError) => [worker, ms]), [["web1:7:a", 2_100], [
    "x".repeat(200),
    undefined,
  ]]);
  const foreign = [{ at: 1.5, error_class: "E", error_message: "", worker: 7, ms: "long" }];
  const [kept] = JSON.parse(failed(JSON.stringify({ class: "A", args: [], errors: foreign }))).errors;
  assertEquals([kept.worker, kept.ms], [undefined, undefined]);
});

Deno.test("The payload keeps the last ten failures in order, with shortened messages", () => {
  let raw = `{"class":"A","args":[],"errors":[7,{"at":"x"},null]}`;
  for (let n = 1; n <= 12; n++) {
    const error = { class: `E${n}`, message: `${n} `.padEnd(5_000, "\u{1f600}"), causes: [], stack: [] };
    raw = failed(raw, { error, now: NOW + 1_000 * n });
  }
  const { errors } = JSON.parse(raw);
  assertEquals(
    errors.map(({ at, error_class }: PastError) => [at, error_class]),
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((n) => [Number((NOW / 1_000 + n).toFixed(3)), `E${n}`]),
  );
  for (const { error_message } of errors) {
    assertEquals([error_message.length, error_message.isWellFormed()], [1_000, true]);
  }
  assertEquals(JSON.parse(failed(`{"class":"A","args":[],"errors":"mine"}`)).errors.length, 1);
});

Deno.test("Each failure has the number of its attempt, also after a retry by hand, which resets the count", () => {
  let raw = `{"class":"A","args":[]}`;
  for (let n = 1; n <= 3; n++) raw = failed(raw);
  raw = failed(JSON.stringify({ ...JSON.parse(raw), retry_count: 0 }));
  const { errors, retry_count } = JSON.parse(raw);
  assertEquals([retry_count, errors.map((one: PastError) => one.try)], [1, [1, 2, 3, 4]]);
  const old = errors.map(({ try: _, ...one }: PastError) => one);
  assertEquals(attemptNumbers(errors, 2), [1, 2, 3, 4]);
  assertEquals(attemptNumbers(old, 2), [1, 2, 3, 4]);
  assertEquals(attemptNumbers(old, 20), [17, 18, 19, 20]);
  const after = JSON.parse(failed(JSON.stringify({ class: "A", args: [], errors: old, retry_count: 0 }))).errors;
  assertEquals(attemptNumbers(after, 2), [1, 2, 3, 4, 5]);
});

Deno.test("A retry goes to retry_queue, or else to the queue that the job was taken from", () => {
  const queue = (raw: string, retryQueue?: string) => JSON.parse(failed(raw, { retryQueue })).queue;
  assertEquals(queue(`{"class":"A","args":[],"queue":"old"}`), "low");
  assertEquals(queue(`{"class":"A","args":[],"queue":"old"}`, "slow"), "slow");
  assertEquals(queue(`{"class":"A","args":[],"queue":"old","retry_queue":"mine"}`, "slow"), "mine");
  assertEquals(queue(`{"class":"A","args":[],"retry_queue":7}`), "low");
});

Deno.test("The payload keeps the requested number of stack lines, without markup", () => {
  const kept = (backtrace: FailureFacts["backtrace"]) =>
    decodeBacktrace(JSON.parse(failed(`{"class":"A","args":[]}`, { backtrace })).error_backtrace);
  assertEquals(kept(true), ["at a (‹x›:1:2)", "at b", "at c"]);
  assertEquals(kept(2)?.length, 2);
  for (const none of [undefined, false, 0, -1]) assertEquals(kept(none), undefined);
});

Deno.test("The payload is readable after any thrown value", () => {
  for (
    const thrown of [null, "\ud800", new Error(`"\\\u0000\ud83d`), Object.create(null), new Error("x".repeat(20_000))]
  ) {
    const text = failed(`{"class":"A","args":[]}`, { error: describeError(thrown) });
    const job = parsePayload(text)!;
    assertEquals([job.attempt, text.isWellFormed(), job.payload.error_message!.length <= 10_000], [2, true, true]);
    assertEquals(job.payload.error_message!.isWellFormed(), true);
  }
});

Deno.test("decodeBacktrace returns the packed lines", () => {
  const lines = ["at perform (jobs.js:1:2)", "at ünïcode 😀", ""];
  assertEquals(decodeBacktrace(encodeBacktrace(lines)), lines);
});

Deno.test("decodeBacktrace ignores the line breaks of Ruby's MIME encoding", () => {
  const packed = encodeBacktrace(Array.from({ length: 30 }, (_, i) => `at ${i * 7919}`));
  assertEquals(decodeBacktrace(packed.replace(/.{60}/g, "$&\n") + "\n")?.length, 30);
});

Deno.test("decodeBacktrace rejects invalid text and compression bombs", () => {
  const pack = (text: string | Uint8Array) => deflateSync(text).toString("base64");
  for (const text of [undefined, 5, "", "!", "aGVsbG8=", pack("{}"), pack("[1]"), pack("[")]) {
    assertEquals(decodeBacktrace(text), undefined);
  }
  assertEquals(decodeBacktrace(pack(`["${"x".repeat(5 * 1024 * 1024)}"]`)), undefined);
});

Deno.test("The payload keeps the causes of the failure and of its history, and removes them after a failure without causes", () => {
  const causes = ["caused by Error: " + "x".repeat(400), "a", "b", "c"];
  const first = failed('{"class":"A","args":[]}', { error: { ...ERROR, causes } });
  const { error_causes, errors } = JSON.parse(first);
  assertEquals(error_causes, causes);
  assertEquals(errors[0].causes, [causes[0]!.slice(0, 200), "a", "b"]);
  const second = JSON.parse(failed(first));
  assertEquals([second.error_causes, second.errors[0].causes.length, second.errors[1].causes], [
    undefined,
    3,
    undefined,
  ]);
  assertEquals([readCauses("no"), readCauses([1]), readCauses(error_causes).length], [[], [], 4]);
});
