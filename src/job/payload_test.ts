import { assertEquals, assertThrows } from "@std/assert";
import { InvalidPayload } from "./errors.ts";
import { argsText, type JobRequest, payloadText, prepare } from "./payload.ts";

const NOW = 1_700_000_000_123;

/** Returns the stored payload, parsed. */
function stored(request: Record<string, unknown>, options?: Record<string, unknown>) {
  const text = payloadText(prepare({ class: "A", ...request } as JobRequest, options), argsText([]), "j", NOW, 7);
  return JSON.parse(text);
}

Deno.test("the payload has Sidekiq's fields, and times with a fraction", () => {
  const prepared = prepare({ class: `Billing::"Job"` });
  assertEquals(
    payloadText(prepared, argsText(["bob", 5]), "0123", NOW, 7),
    `{"class":"Billing::\\"Job\\"","args":["bob",5],"jid":"0123","queue":"default","retry":true,"created_at":1700000000.123}`,
  );
  assertEquals(payloadText(prepared, "[]", "0123", NOW, 8).endsWith(`"created_at":1700000000123}`), true);
});

Deno.test("options of the push override those of the class, which override the defaults", () => {
  const options = { queue: "low", retry: 3, tags: ["x"], retryIn: () => 5, timeout: "1m", unknown: 1 };
  assertEquals(stored({}, options), {
    class: "A",
    args: [],
    jid: "j",
    queue: "low",
    retry: 3,
    tags: ["x"],
    timeout: 60,
    unknown: 1,
    created_at: 1700000000.123,
  });
  const { queue, retry, tags, unknown } = stored({ queue: "high", retry: false, unknown: null }, options);
  assertEquals([queue, retry, tags, unknown], ["high", false, ["x"], null]);
});

Deno.test("an undefined option counts as absent, and the option of the class applies", () => {
  const request = { queue: undefined, retry: undefined, tags: undefined, x: undefined, jid: undefined, at: undefined };
  const { queue, retry, ...rest } = stored(request, { queue: "low", retry: 0 });
  assertEquals([queue, retry, "x" in rest, "tags" in rest], ["low", 0, false, false]);
});

Deno.test("unknown fields are kept, and fields that only a store writes are dropped", () => {
  const request = JSON.parse(`{"__proto__":{"x":1},"constructor":2,"a \\"b\\"":[1]}`);
  const payload = stored({ ...request, enqueued_at: 5, unique_key: "x".repeat(43) }, { x: 1 });
  assertEquals(Object.getOwnPropertyDescriptor(payload, "__proto__")?.value, { x: 1 });
  assertEquals([payload.constructor, payload['a "b"']], [2, [1]]);
  assertEquals(["enqueued_at" in payload, "unique_key" in payload], [false, false]);
});

Deno.test("durations are stored as seconds, and that of a unique lock is also returned in milliseconds", () => {
  const { retry_for, timeout, unique_for } = stored({ retry_for: "1h", timeout: 2.5, unique_for: "5m" });
  const { result_ttl, failure_ttl } = stored({ result_ttl: "1h", failure_ttl: "-1" });
  assertEquals([result_ttl, failure_ttl], [3_600, -1]);
  assertEquals([retry_for, timeout, unique_for], [3_600, 2.5, 300]);
  assertEquals(prepare({ class: "A", unique_for: "5m" }).keys?.unique?.ttlMs, 300_000);
  assertEquals(prepare({ class: "A", unique_for: false }, { unique_for: 60 }).keys, undefined);
  assertEquals("unique_for" in stored({ unique_for: false }, { unique_for: 60 }), false);
});

Deno.test("in and at are not fields of the payload", () => {
  const prepared = prepare({ class: "A", in: "5m" });
  assertEquals([prepared.delayMs, prepared.at, prepared.tail.includes(`"in"`)], [300_000, undefined, false]);
  assertEquals(prepare({ class: "A", at: NOW / 1_000 }).at, NOW);
});

Deno.test("created_at keeps the time of a copied job", () => {
  assertEquals(stored({ created_at: 1600000000.5 }).created_at, 1600000000.5);
  assertEquals(stored({ created_at: 1600000000500 }).created_at, 1600000000.5);
});

Deno.test("large integers in arguments and fields keep their digits", () => {
  const text = payloadText(
    prepare({ class: "A", big: 2n ** 63n }),
    argsText([{ id: 2n ** 60n }, 2 ** 60]),
    "j",
    NOW,
    7,
  );
  assertEquals(text.includes(`"args":[{"id":1152921504606846976},1.152921504606847e+18]`), true, text);
  assertEquals(text.includes(`"big":9223372036854775808`), true, text);
});

Deno.test("an invalid field is rejected with field, value and expectation", () => {
  const refused: [Record<string, unknown>, string][] = [
    [{ class: undefined }, "class is undefined; expected the name of the class that performs it"],
    [{ class: "" }, `class is ""`],
    [{ class: 5 }, "class is 5"],
    [{ class: "A\ud83d" }, "class is "],
    [{ queue: "" }, `queue is ""; expected a name of letters, digits and _ : . -`],
    [{ queue: "a b" }, `queue is "a b"`],
    [{ queue: "a/b" }, `queue is "a/b"`],
    [{ queue: "low\n" }, `queue is "low\\n"`],
    [{ queue: "q".repeat(256) }, `queue is "qqq`],
    [{ queue: null }, "queue is null"],
    [{ queue: ["a"] }, `queue is ["a"]`],
    [{ retry: -1 }, "retry is -1; expected true, false, or a whole number from 0"],
    [{ retry: 1.5 }, "retry is 1.5"],
    [{ retry: "5" }, `retry is "5"`],
    [{ retry: null }, "retry is null"],
    [{ jid: "" }, `jid is ""`],
    [{ jid: 'a"b' }, "jid is "],
    [{ jid: 5 }, "jid is 5"],
    [{ tags: "a" }, `tags is "a"; expected a list of words`],
    [{ tags: ["a", 1] }, `tags is ["a",1]`],
    [{ tags: ["\ud83d"] }, "tags[0] is "],
    [{ retry_for: 0 }, "retry_for is 0; expected seconds, or a duration"],
    [{ retry_for: 2e9 }, "retry_for is 2000000000; expected seconds, or a duration"],
    [{ retry_for: true }, "retry_for is true"],
    [{ retry_queue: "a b" }, `retry_queue is "a b"`],
    [{ timeout: "soon" }, `timeout is "soon"; expected seconds, or a duration`],
    [{ timeout: -1 }, "timeout is -1"],
    [{ unique_for: "x" }, `unique_for is "x"`],
    [{ unique_for: -1 }, "unique_for is -1"],
    [{ backtrace: "all" }, `backtrace is "all"; expected true, false, or a number of lines`],
    [{ dead: 0 }, "dead is 0; expected true or false"],
    [{ wrapped: 5 }, "wrapped is 5; expected the name of a class"],
    [{ created_at: "now" }, `created_at is "now"; expected epoch seconds or milliseconds`],
    [{ in: "soon" }, `in is "soon"`],
    [{ at: "soon" }, `at is "soon"; expected a Date, ISO 8601 text`],
    [{ in: 5, at: 5 }, `in is 5; expected either "in" or "at", not both`],
    [{ mine: { when: new Date(0) } }, `mine.when is a Date "1970-01-01T00:00:00.000Z"`],
    [{ mine: () => 1 }, "mine is the function mine"],
    [{ "my field": NaN }, "my field is NaN"],
  ];
  for (const [request, message] of refused) {
    const error = assertThrows(() => stored(request), InvalidPayload, message);
    assertEquals(
      message.startsWith(error.field) && error.message.endsWith(`; expected ${error.expected}`),
      true,
      message,
    );
  }
  for (const options of [{ queue: "a b" }, { retry: -1 }, { tags: "x" }]) {
    assertThrows(() => stored({}, options), InvalidPayload);
  }
  for (const request of [null, undefined, "A"]) {
    assertThrows(() => prepare(request as never), InvalidPayload, "job is ");
  }
});

Deno.test("arguments that are not a JSON array are rejected with the path", () => {
  for (const args of [undefined, null, "x", {}, new Set(), { length: 1 }]) {
    assertThrows(() => argsText(args), InvalidPayload, "expected an array of the handler's arguments");
  }
  assertThrows(() => argsText([1, { user: { born: new Date() } }]), InvalidPayload, "args[1].user.born is a Date");
  assertThrows(() => argsText(["a", undefined]), InvalidPayload, "args[1] is undefined");
  const deepest = JSON.parse("[".repeat(99) + "]".repeat(99));
  assertEquals(argsText(deepest).length, 198);
  assertThrows(() => argsText([deepest]), InvalidPayload, "at most 100 levels");
});
