import { assertEquals, assertThrows } from "@std/assert";
import { InvalidPayload } from "./errors.ts";
import type { JOB_OPTIONS } from "./options.ts";
import { jobOption, meantOption, optionNames, PUSH_FLAGS } from "./option_names.ts";
import { checkClassOptions, prepare } from "./payload.ts";

/** A valid and an invalid value of each option. */
const VALUES: Readonly<Record<keyof typeof JOB_OPTIONS, readonly [valid: unknown, invalid: unknown]>> = {
  queue: ["low", "a b"],
  group: ["acme", "|acme"],
  priority: ["high", 1],
  in: ["5m", "soon"],
  at: ["2030-01-01", "soon"],
  retry: [5, -1],
  retry_for: ["1h", 0],
  retry_queue: ["low", ""],
  backoff: [{ type: "fixed", base: 5 }, { type: "fixed" }],
  dead: [false, 0],
  timeout: ["30s", "soon"],
  expires_in: ["30s", -1],
  unique_for: ["10m", "soon"],
  unique_key: ["args[0]", ""],
  unique_until: ["start", "success"],
  on_duplicate: ["replace", "discard"],
  debounce: ["30s", "soon"],
  debounce_key: [7, false],
  debounce_max: ["5m", "soon"],
  throttle: ["1/1m", "1"],
  throttle_key: ["args[0].shop", ""],
  result_ttl: [-1, -2],
  failure_ttl: ["1d", "x"],
  backtrace: [20, "all"],
  log_level: ["warn", "loud"],
  tags: [["a"], [""]],
  notify: [["a"], 5],
  display_class: ["Mail", 5],
  wrapped: ["Mail", ""],
  batch: ["1a203f735340c7e1a8800001", ""],
  jid: ["a1", "a b"],
  id: ["order-7-email", ""],
  within: ["7d", 0],
  created_at: [1_700_000_000, "now"],
  schema: [[{ type: "string" }], "string"],
  isolate: [true, "yes"],
  retryIn: [() => 5, 5],
};

/** Options that belong to another. */
const WITH: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  within: { id: "a" },
  unique_key: { unique_for: "1h" },
  unique_until: { unique_for: "1h" },
  on_duplicate: { unique_for: "1h" },
  debounce_key: { debounce: "1s" },
  debounce_max: { debounce: "1s" },
  throttle_key: { throttle: "1/s" },
};

for (const [name, [valid, invalid]] of Object.entries(VALUES)) {
  const { on } = jobOption(name)!;
  Deno.test(`${name}: a valid value is accepted and an invalid one rejected wherever it may be set`, () => {
    const pushing = (value: unknown) => () => prepare({ class: "A", ...WITH[name], [name]: value });
    const declaring = (value: unknown) => () => checkClassOptions("A", { ...WITH[name], [name]: value });
    if (on.includes("push")) {
      pushing(valid)();
      assertThrows(pushing(invalid), InvalidPayload, name);
    }
    if (on.includes("class")) {
      declaring(valid)();
      assertThrows(declaring(invalid), InvalidPayload, name);
    } else assertThrows(declaring(valid), InvalidPayload, "no such option on a class");
  });
}

Deno.test("exec and cron entries accept the options of a class, except those that need a function or another field", () => {
  const ofClass = optionNames("class");
  const missing = (place: "exec" | "cron") => ofClass.filter((name) => !optionNames(place).includes(name));
  assertEquals(missing("exec"), ["display_class", "wrapped", "isolate", "retryIn"]);
  const keyed = [
    "unique_for",
    "unique_key",
    "unique_until",
    "on_duplicate",
    "debounce",
    "debounce_key",
    "debounce_max",
    "throttle",
    "throttle_key",
  ];
  assertEquals(missing("cron"), [...keyed, "wrapped", "schema", "isolate", "retryIn"]);
});

Deno.test("the text of a flag becomes the value of the option", () => {
  const read = (flag: string, text: string) => (PUSH_FLAGS.get(flag)!.option.kind.fromText ?? String)(text);
  assertEquals(read("retry", "5"), 5);
  assertEquals(read("retry", "false"), false);
  assertEquals(read("dead", "false"), false);
  assertEquals(read("tags", "a, b"), ["a", "b"]);
  assertEquals(read("at", "1700000000"), 1_700_000_000);
  assertEquals(read("backoff", "exponential,base=2s,max=1h,jitter=0.2"), {
    ...{ type: "exponential", base: "2s", max: "1h", jitter: 0.2 },
  });
  assertEquals(read("backoff", '{"type":"fixed","base":5}'), { type: "fixed", base: 5 });
});

Deno.test("meantOption finds misspelled names, other ways to join words, and names of other systems", () => {
  const pairs = [["retrys", "retry"], ["uniqueFor", "unique_for"], ["attempts", "retry"], ["delay", "in"]] as const;
  for (const [given, meant] of pairs) assertEquals(meantOption(given, "push"), meant);
  for (const own of ["retry", "tenant", "id2", "a"]) assertEquals(meantOption(own, "push"), undefined);
});

/** Returns whether a schema of an option accepts a JSON value. */
function accepts(schema: Readonly<Record<string, unknown>>, value: unknown): boolean {
  const { type, enum: words, const: only, anyOf, pattern, minimum = -Infinity, minLength = 0 } = schema as {
    type?: string | string[];
    enum?: unknown[];
    const?: unknown;
    anyOf?: Record<string, unknown>[];
    pattern?: string;
    minimum?: number;
    minLength?: number;
  };
  const types = Array.isArray(value) ? ["array"] : Number.isInteger(value) ? ["number", "integer"] : [typeof value];
  return (anyOf === undefined || anyOf.some((one) => accepts(one, value))) &&
    (type === undefined || [type].flat().some((one) => types.includes(one))) &&
    (words === undefined || words.includes(value)) && (!("const" in schema) || only === value) &&
    (typeof value !== "number" || value >= minimum) &&
    (typeof value !== "string" || value.length >= minLength && new RegExp(pattern ?? "").test(value));
}

Deno.test("the API's schema of an option accepts what the option accepts, and refuses values of another type", () => {
  const texts = ["30s", "1/1m", "mail", "args[0]", "high", "start", "replace", "warn", "a-jid"];
  const others = [true, false, 5, 1.5, [], ["a"], [1], {}, { type: "fixed", base: "1s" }, ""];
  for (const name of optionNames("push")) {
    const { kind } = jobOption(name)!;
    // The client checks times.
    if (name === "in" || name === "at" || name === "created_at") continue;
    for (const value of [...texts, ...others]) {
      let isValid = true;
      try {
        kind.write(name, value);
      } catch {
        isValid = false;
      }
      const isAccepted = accepts(kind.schema, value);
      if (isValid || typeof value === "boolean") {
        assertEquals(isAccepted, isValid, `${name}: ${JSON.stringify(value)}`);
      }
    }
  }
});
