import { assertEquals, assertThrows } from "@std/assert";
import { InvalidPayload } from "./errors.ts";
import { jsonArgs } from "./json_args.ts";
import { keyText, pushKeys } from "./push_keys.ts";

Deno.test("a push has the keys that its options request, in milliseconds", () => {
  assertEquals(pushKeys({ unique_for: "1h", unique_key: "args[0]" }), { unique: { key: "args[0]", ttlMs: 3_600_000 } });
  assertEquals(pushKeys({ debounce: 30, debounce_max: "5m" }), {
    debounce: { key: undefined, waitMs: 30_000, maxMs: 300_000 },
  });
  for (const text of ["3/m", "3/1m", " 3 / 60s"]) {
    assertEquals(pushKeys({ throttle: text })?.throttle, { key: undefined, count: 3, perMs: 60_000 });
  }
  assertEquals(pushKeys({ unique_for: false, unique_key: "x", debounce: false, throttle: false }), undefined);
});

Deno.test("a key without its option and options that contradict each other are refused", () => {
  for (
    const [fields, message] of [
      [{ unique_key: "a" }, 'unique_key is "a"'],
      [{ throttle_key: "a" }, '"throttle" with it'],
      [{ debounce_max: "5m" }, '"debounce" with it'],
      [{ debounce: "5s", in: "1m" }, 'no "in" together with "debounce"'],
      [{ debounce: "5s", unique_for: 5 }, 'no "unique_for" together'],
      [{ throttle: "0/1m" }, "COUNT/DURATION such as 1/1m"],
      [{ throttle: "10001/1m" }, "COUNT/DURATION"],
      [{ throttle: "1/31d" }, "COUNT/DURATION"],
    ] as const
  ) assertThrows(() => pushKeys(fields), InvalidPayload, message);
});

Deno.test("the text of a key is that of the arguments, of the option, or of the value at a path", () => {
  const text = '[{"shop":7},2.0]';
  const args = jsonArgs(text);
  const key = (option?: string | number) => keyText("unique_key", option, args, text);
  assertEquals([key(), key("all"), key(7), key("args[0].shop")], [text, '"all"', '"7"', '"7"']);
  assertThrows(() => key("args[3]"), InvalidPayload, "unique_key (args[3])");
});
