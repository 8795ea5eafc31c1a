import { assertEquals, assertThrows } from "@std/assert";
import { InvalidPayload } from "../errors.ts";
import { jsonArgs } from "../json_args.ts";
import { argsCheck, storedSchema } from "./args_schema.ts";

/** Returns the message about arguments; "ok" if they fit. */
function verdict(schema: unknown, args: unknown): string {
  return thrown(() => argsCheck(schema, "schema")(args));
}

function thrown(run: () => unknown): string {
  try {
    run();
    return "ok";
  } catch (error) {
    if (!(error instanceof InvalidPayload)) throw error;
    return error.message;
  }
}

const PERSON = {
  type: "object",
  properties: {
    email: { type: "string", pattern: "@" },
    age: { type: "integer", minimum: 0 },
    tags: { type: "array", items: { enum: ["a", "b"] }, maxItems: 2, uniqueItems: true },
    home: { $ref: "#/$defs/Address" },
  },
  required: ["email"],
  additionalProperties: false,
  $defs: { Address: { type: "object", required: ["street"], properties: { next: { $ref: "#/$defs/Address" } } } },
};

Deno.test("arguments that don't fit are rejected with the path, the value and what was expected", () => {
  const cases: [args: unknown, message: string][] = [
    [[{ email: "a@b" }], "ok"],
    [[{ email: 5 }], "args[0].email is 5; expected string"],
    [[{ email: "x" }], 'args[0].email is "x"; expected a text that matches @'],
    [[{}], "args[0].email is undefined; expected a value, which is required"],
    [[{ email: "@", emaill: 1 }], 'args[0].emaill is 1; expected no property of this name; did you mean "email"?'],
    [[{ email: "@", age: -1 }], "args[0].age is -1; expected a number from 0"],
    [[{ email: "@", age: 1.5 }], "args[0].age is 1.5; expected integer"],
    [[{ email: "@", tags: ["a", "c"] }], 'args[0].tags[1] is "c"; expected one of ["a","b"]'],
    [[{ email: "@", tags: ["a", "a"] }], 'args[0].tags[1] is "a"; expected no item twice'],
    [[{ email: "@", tags: ["a", "b", "b"] }], 'args[0].tags is ["a","b","b"]; expected at most 2 items'],
    [
      [{ email: "@", home: { street: 1, next: { street: 2, next: {} } } }],
      [
        "args[0].home.next.next.street is undefined; expected a value, which is required",
      ].join(),
    ],
    [[], "args.length is 0; expected 1, as many as its class has schemas"],
    [[{ email: "@" }, 2], "args.length is 2; expected 1, as many as its class has schemas"],
  ];
  for (const [args, message] of cases) assertEquals(verdict([PERSON], args), message);
});

Deno.test("a schema of the list of arguments checks all of them together", () => {
  const schema = { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }], items: false, minItems: 1 };
  assertEquals(verdict(schema, ["a"]), "ok");
  assertEquals(verdict(schema, []), "args is []; expected at least 1 item");
  assertEquals(verdict(schema, ["a", "b"]), 'args[1] is "b"; expected integer');
  assertEquals(verdict(schema, ["a", 1, 2]), "args[2] is 2; expected no value here");
});

Deno.test("a value that fits no alternative is rejected with all that would fit, or with the deepest problem", () => {
  const scalar = { anyOf: [{ type: "string" }, { type: "null" }] };
  assertEquals(verdict([scalar], [1]), "args[0] is 1; expected string or null");
  const kinds = ["Mail", "Text"].map((kind) => ({ properties: { kind: { const: kind }, to: { type: "string" } } }));
  assertEquals(verdict([{ oneOf: kinds }], [{ kind: "Text", to: 1 }]), 'args[0].kind is "Text"; expected "Mail"');
  assertEquals(verdict([{ oneOf: kinds }], [{}]), "args[0] is {}; expected a value of exactly one alternative");
});

Deno.test("an integer beyond 2^53 and a number such as 2.0 are checked as they were written", () => {
  const schema = [{ type: "integer", maximum: 1e19 }];
  assertEquals(
    verdict(schema, jsonArgs("[12345678901234567890]")),
    [
      "args[0] is 12345678901234567890n; expected a number up to 10000000000000000000",
    ].join(),
  );
  assertEquals(verdict(schema, jsonArgs("[2.0]")), "ok");
  assertEquals(verdict(schema, [9007199254740993n]), "ok");
});

Deno.test("an invalid schema is rejected with the path of the wrong part", () => {
  const deep = (levels: number): unknown => levels === 0 ? {} : { items: deep(levels - 1) };
  const cases: [schema: unknown, message: string][] = [
    [[{ type: "strin" }], 'schema[0].type is "strin"; expected string, number, integer, boolean, object, array, null'],
    [[{ properties: { a: { minimum: "1" } } }], 'schema[0].properties.a.minimum is "1"; expected a number'],
    [
      [{ $ref: "https://example.com/a.json" }],
      [
        'schema[0].$ref is "https://example.com/a.json"; expected a reference within the schema, such as #/$defs/Address',
      ].join(),
    ],
    [[{ $ref: "#/$defs/A" }], 'schema[0].$ref is "#/$defs/A"; expected a reference to a part of this schema'],
    [[{ $ref: "#" }], 'schema[0] is "#"; expected no reference that leads back to itself for the same value'],
    [
      [{ pattern: "(a)\\1" }],
      [
        String.raw`schema[0].pattern is "(a)\\1"; expected a regular expression (backreferences aren't supported)`,
      ].join(),
    ],
    [[{ unevaluatedProperties: false }], "schema[0].unevaluatedProperties is false; expected no keyword of this name"],
    [[{ items: [{}] }], "schema[0].items is [{}]; expected one schema; a list of them is prefixItems"],
    [
      { type: "object" },
      [
        'schema.type is "object"; expected array: the schema is that of the list of arguments; [schema] is that of one',
      ].join(),
    ],
    [
      "text",
      'schema is "text"; expected a JSON Schema or a Standard Schema of the list of arguments, or a list with one ' +
      "of each argument",
    ],
    [[{ description: "x".repeat(40_000) }], "schema[0] is 40018; expected at most 32768 characters"],
    [[deep(63)], "ok"],
  ];
  for (const [schema, message] of cases) assertEquals(thrown(() => argsCheck(schema, "schema")), message);
  assertThrows(() => argsCheck([deep(64)], "schema"), InvalidPayload, "at most 64 levels of schemas");
});

Deno.test("a check that takes too long is ended, and the arguments are rejected", () => {
  const tree = {
    $ref: "#/$defs/T",
    $defs: { T: { anyOf: [1, 2, 3].map(() => ({ items: { $ref: "#/$defs/T" }, minItems: 1 })) } },
  };
  let args: unknown = [];
  for (let i = 0; i < 20; i++) args = [args];
  assertThrows(() => argsCheck([tree], "schema")([args]), InvalidPayload, "the check takes too long");
});

/** A schema of a library. */
function standard(validate: (value: unknown) => unknown, more: object = {}) {
  return { "~standard": { version: 1, vendor: "test", validate }, ...more };
}

Deno.test("a schema of a library checks by the rules of the library, and is stored as its JSON Schema", () => {
  const issue = { message: "Invalid address\n(second line)", path: [{ key: "email" }] };
  const schema = standard(() => ({ issues: [issue] }), { toJSONSchema: () => ({ type: "object" }) });
  const message = "args[0].email is 5; expected what its schema accepts (Invalid address)";
  assertEquals(verdict([schema], [{ email: 5 }]), message);
  assertEquals(storedSchema([schema], "schema"), [{ type: "object" }]);
  const input = () => ({ type: "array" });
  const later = { "~standard": { version: 1, validate: () => ({ value: 1 }), jsonSchema: { input } } };
  assertEquals([verdict(later, [1]), storedSchema(later, "schema")], ["ok", { type: "array" }]);
  assertEquals(storedSchema([standard(() => ({})), { type: "string" }], "schema"), undefined);
  const failing = standard(() => ({}), {
    toJSONSchema: () => {
      throw new Error("Date cannot be represented");
    },
  });
  assertThrows(() => argsCheck([failing], "schema"), InvalidPayload, "Date cannot be represented");
  assertThrows(() => argsCheck([standard(() => Promise.resolve({}))], "schema")([1]), InvalidPayload, "asynchronous");
});
