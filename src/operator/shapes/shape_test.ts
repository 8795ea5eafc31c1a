import { assertEquals, assertThrows } from "@std/assert";
import { rowsOf } from "./rows.ts";
import {
  InvalidInput,
  list,
  map,
  named,
  nullable,
  object,
  oneOf,
  optional,
  schemaOf,
  type Shape,
  textsInput,
  type TypeOf,
  type Written,
} from "./shape.ts";
import { any, boolean, choice, integer, number, span, text, time } from "./values.ts";

const pauseShape = object("a pause", {
  queue: text("the queue"),
  group: optional(text("the group", { expected: "the name of a group", matches: /^\w+$/ })),
  for: optional(span("until when")),
  running: optional(integer("the maximum", [1, 9])),
  tags: optional(list("words", text(""))),
  force: optional(boolean("whether it is forced")),
});

/** Returns the message and the field of the refusal. */
function refused(shape: Shape<unknown>, raw: unknown): [message: string, field: string | undefined] {
  const error = assertThrows(() => shape.read(raw), InvalidInput);
  return [error.message, error.field];
}

Deno.test("reads the fields of an object, with the type of each", () => {
  const pause: TypeOf<typeof pauseShape> = pauseShape.read({ queue: "mail", for: "10m", running: 3, force: undefined });
  const forMs: number | undefined = pause.for;
  assertEquals([pause, forMs], [{ queue: "mail", for: 600_000, running: 3 }, 600_000]);
  const _written: Written<TypeOf<typeof pauseShape>> = { queue: "mail", group: undefined };
  // @ts-expect-error: a pause has a queue
  const _withoutQueue: TypeOf<typeof pauseShape> = { group: "acme" };
});

Deno.test("refuses an unknown, a missing and an invalid field by its path, and says what is expected", () => {
  assertEquals(refused(pauseShape, { queue: "mail", group: "a b" }), [
    'Invalid "group": "a b"; expected the name of a group',
    "group",
  ]);
  assertEquals(refused(pauseShape, { group: "acme" }), ['Missing field "queue": expected a string', "queue"]);
  assertEquals(refused(pauseShape, { queue: null }), ['Invalid "queue": null; expected a string', "queue"]);
  assertEquals(refused(pauseShape, { queue: "mail", until: 1 }), [
    'Unknown field "until"; expected queue, group, for, running, tags, force',
    "until",
  ]);
  assertEquals(refused(pauseShape, { queue: "mail", for: "0s" })[0].split("; ")[0], 'Invalid "for": "0s"');
  assertEquals(refused(pauseShape, { queue: "mail", for: "soon" })[1], "for");
  assertEquals(refused(pauseShape, { queue: "mail", running: 0 }), [
    'Invalid "running": 0; expected a whole number from 1 to 9',
    "running",
  ]);
  assertEquals(refused(pauseShape, { queue: "mail", tags: ["a", 2] }), [
    'Invalid "tags[1]": 2; expected a string',
    "tags[1]",
  ]);
  assertEquals(refused(pauseShape, { queue: "mail", tag: [] }), ['Unknown field "tag"; did you mean "tags"?', "tag"]);
  assertEquals(refused(object("", { all: pauseShape }), { all: { queu: 1 } }), [
    'Unknown field "all.queu"; did you mean "queue"?',
    "all.queu",
  ]);
  assertEquals(refused(object("", { all: pauseShape }), { all: { x: 1, queue: "a" } })[1], "all.x");
  assertEquals(refused(object("", {}), { x: 1 }), ['Unknown field "x"; expected no fields', "x"]);
  assertEquals(refused(pauseShape, [1]), ["Expected an object, not [1]", undefined]);
  const long = { queue: "q".repeat(500), ["x".repeat(500)]: 1 };
  assertEquals(refused(pauseShape, long)[1], "x".repeat(80));
  assertEquals(
    refused(object("", { big: boolean("") }), { big: 2n ** 70n })[0].includes("1180591620717411303424"),
    true,
  );
});

Deno.test("keeps values as they are, and names of objects that a prototype has", () => {
  const anyMap = map("", any(""));
  const raw = JSON.parse('{"__proto__": [1], "constructor": {"a": 2}}');
  const big = 2n ** 70n;
  assertEquals(Object.entries(anyMap.read({ ...raw, big })), [["__proto__", [1]], ["constructor", { a: 2 }], [
    "big",
    big,
  ]]);
  assertEquals(refused(pauseShape, JSON.parse('{"queue": "a", "__proto__": 1}'))[1], "__proto__");
  assertEquals(refused(object("", { toString: text("") }), {})[0], 'Missing field "toString": expected a string');
  assertEquals(nullable(text("")).read(null), null);
  assertEquals(any("").read(null), null);
  assertEquals(refused(object("", { data: any("") }), {})[0], 'Missing field "data": expected a value');
  assertEquals(time("").read("2026-11-25T10:00:00.000Z"), "2026-11-25T10:00:00.000Z");
  assertEquals(refused(time(""), "2026-11-25")[1], undefined);
  const either = oneOf("", integer(""), text(""));
  assertEquals([either.read(1), either.read("more")], [1, "more"]);
  assertEquals(refused(either, true)[0], "Expected a string, not true");
});

Deno.test("reads texts of a form or of flags, and takes empty ones as absent", () => {
  const texts = { queue: "mail", group: "", for: "1h", running: "7", tags: "a, b", force: "true" };
  assertEquals(pauseShape.read(textsInput(pauseShape, texts)), {
    queue: "mail",
    for: 3_600_000,
    running: 7,
    tags: ["a", "b"],
    force: true,
  });
  assertEquals(
    assertThrows(() => pauseShape.read(textsInput(pauseShape, { queue: "mail", running: "many" })), InvalidInput)
      .message,
    'Invalid "running": "many"; expected a whole number from 1 to 9',
  );
  assertEquals(refused(pauseShape, { queue: "mail", running: "7" })[1], "running");
});

Deno.test("lists the fields for the page of --json, with those of objects, lists and maps", () => {
  const shape = object("", {
    state: choice(["open", "done"], "of the batch"),
    limit: optional(object("its limit", { running: number("the maximum") })),
    jobs: list("the jobs", object("", { jid: text("the ID"), at: optional(time("the time")) })),
    totals: map("class → counts", object("", { failed: integer("failures") })),
  });
  assertEquals(rowsOf(shape), [
    ["state", "text", "`open` or `done`; of the batch"],
    ["limit?", "object", "its limit"],
    ["limit.running?", "number", "the maximum"],
    ["jobs", "list", "the jobs"],
    ["jobs[].jid", "text", "the ID"],
    ["jobs[].at?", "time", "the time"],
    ["totals", "object", "class → counts"],
    ["totals.{}.failed", "number", "failures"],
  ]);
  assertEquals(rowsOf(list("", object("", { jid: text("the ID") }))), [["[].jid", "text", "the ID"]]);
});

Deno.test("gives the JSON schema, which names what is required", () => {
  const shape = object("a pause", { queue: text("the queue"), for: optional(span("its time")) });
  assertEquals(schemaOf(shape), {
    type: "object",
    description: "a pause",
    required: ["queue"],
    properties: {
      queue: { type: "string", description: "the queue" },
      for: { type: ["string", "number"], description: "its time" },
    },
  });
  assertEquals(named("Pause", shape).component, { Pause: schemaOf(shape) });
  assertEquals(schemaOf(list("", named("Pause", shape))), {
    type: "array",
    items: { $ref: "#/components/schemas/Pause" },
  });
});
