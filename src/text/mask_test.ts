import { assertEquals } from "@std/assert";
import { Mask, MASKED, MAX_VALUES } from "./mask.ts";

Deno.test("masks the values of secret fields at any depth, also those of given names", () => {
  const mask = new Mask(["iban", "a.b"]);
  assertEquals(
    mask.value({ user: "bob", Password: "x", list: [{ api_key: 1, "a.b": 2, aXb: 3 }], IBAN: null, accessToken: {} }),
    {
      user: "bob",
      Password: MASKED,
      list: [{ api_key: MASKED, "a.b": MASKED, aXb: 3 }],
      IBAN: MASKED,
      accessToken: MASKED,
    },
  );
});

Deno.test("masks what looks like a secret within a text", () => {
  const mask = new Mask();
  const rows = [
    ["redis://bob:hunter2@host/0", `redis://bob:${MASKED}@host/0`],
    ["redis://:hunter2@host/0", `redis://:${MASKED}@host/0`],
    ["Authorization: Bearer abcdefghijk.lmn", `Authorization: Bearer ${MASKED}`],
    ["key AKIAABCDEFGHIJKLMNOP.", `key ${MASKED}.`],
    ["-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----!", `${MASKED}!`],
    ["eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln", MASKED],
    ["https://example.com/a:b@c", "https://example.com/a:b@c"],
    ["bob@example.com", "bob@example.com"],
  ];
  for (const [text, masked] of rows) assertEquals(mask.text(text!), masked);
});

Deno.test("cuts a text, which bounds the search for secrets in it", () => {
  assertEquals(new Mask().text("eyJ-".repeat(1_000_000)).length, 20_001);
});

Deno.test("masks the last argument of an encrypted job", () => {
  assertEquals(new Mask().payload({ args: [1, "cipher"], encrypt: true }).args, [1, MASKED]);
});

Deno.test("restores the secrets of an edited value that were not changed", () => {
  const mask = new Mask();
  const original = [{ name: "bob", password: "hunter2", url: "redis://:pw@h" }, "Bearer abcdefghij"];
  const shown = mask.value(original) as typeof original;
  assertEquals(mask.restore(shown, original), original);
  const edited = [{ ...(shown[0] as object), name: "ann" }, "new"];
  assertEquals(mask.restore(edited, original), [{ name: "ann", password: "hunter2", url: "redis://:pw@h" }, "new"]);
  assertEquals(mask.restore([MASKED], undefined), [MASKED]);
});

Deno.test("cuts a value of 100,000 levels", () => {
  let bomb: unknown = "x";
  for (let i = 0; i < 100_000; i++) bomb = [bomb];
  assertEquals(JSON.stringify(new Mask().value(bomb)).length < 200, true);
});

Deno.test("shows at most 20,000 values, and all fields of a payload that aren't arrays or objects", () => {
  const mask = new Mask();
  const masked = mask.payload({ args: [Array(500_000).fill(1)], more: { a: [1] }, jid: "j1", password: "x" });
  assertEquals((masked.args[0] as unknown[]).length, MAX_VALUES);
  assertEquals((masked.args[0] as unknown[]).at(-1), "…");
  assertEquals([masked.more, masked.jid, masked.password], ["…", "j1", MASKED] as unknown);
  const names = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`f${i}`, i]));
  assertEquals(Object.keys(mask.value(names) as object).length, MAX_VALUES + 1);
  assertEquals(Object.keys(mask.payload({ args: [], ...names })).length, MAX_VALUES);
});

Deno.test("detects whether a value is shown completely, and restores values that are too deep to be shown", () => {
  const mask = new Mask();
  let deep: unknown = { password: "x" };
  for (let i = 0; i < 100; i++) deep = [deep];
  const list = (length: number) => Array(length).fill({});
  assertEquals([1, "x", null, {}, list(9_999)].map((value) => mask.showsWhole(value)), Array(5).fill(true));
  assertEquals([deep, list(MAX_VALUES + 1)].map((value) => mask.showsWhole(value)), [false, false]);
  assertEquals(mask.restore(mask.value(deep), deep), deep);
});

Deno.test("masks secret fields in a text that isn't parsed", () => {
  const mask = new Mask();
  const rows = [
    [`{"password":"hunter2","a":1}`, `{"password":"${MASKED}","a":1}`],
    [`{"user" : {"api_key" : 12345, "b":"c"}`, `{"user" : {"api_key":"${MASKED}", "b":"c"}`],
    [`{"pass\\u0077ord":"hunter2"}`, `{"pass\\u0077ord":"${MASKED}"}`],
    [`{"secret":"a\\"b hunter2`, `{"secret":"${MASKED}"`],
    [`{"a":1,"token":{"x":"hunter2"},"b":2}`, `{"a":1,"token":"${MASKED}"…`],
    [`{"a":"password","b":"see \\"password\\": no"}`, `{"a":"password","b":"see \\"password\\": no"}`],
    [`no JSON redis://:hunter2@host`, `no JSON redis://:${MASKED}@host`],
  ];
  for (const [text, masked] of rows) assertEquals(mask.json(text!), masked);
  assertEquals(mask.json(`{"password": `.repeat(100_000)).length < 30_000, true);
});
