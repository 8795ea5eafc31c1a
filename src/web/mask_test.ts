import { assertEquals } from "@std/assert";
import { Mask, MASKED } from "./mask.ts";

Deno.test("What stands under a telling name is masked, at any depth, and more names can be given", () => {
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

Deno.test("What looks like a secret is masked within a text", () => {
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

Deno.test("A text is cut where nobody reads on, so that looking for secrets in it has a bound", () => {
  assertEquals(new Mask().text("eyJ-".repeat(1_000_000)).length, 20_001);
});

Deno.test("The last argument of an encrypted job is masked", () => {
  assertEquals(new Mask().payload({ args: [1, "cipher"], encrypt: true }).args, [1, MASKED]);
});

Deno.test("What was edited keeps the secrets that were not touched", () => {
  const mask = new Mask();
  const original = [{ name: "bob", password: "hunter2", url: "redis://:pw@h" }, "Bearer abcdefghij"];
  const shown = mask.value(original) as typeof original;
  assertEquals(mask.restore(shown, original), original);
  const edited = [{ ...(shown[0] as object), name: "ann" }, "new"];
  assertEquals(mask.restore(edited, original), [{ name: "ann", password: "hunter2", url: "redis://:pw@h" }, "new"]);
  assertEquals(mask.restore([MASKED], undefined), [MASKED]);
});

Deno.test("A depth bomb is cut", () => {
  let bomb: unknown = "x";
  for (let i = 0; i < 100_000; i++) bomb = [bomb];
  assertEquals(JSON.stringify(new Mask().value(bomb)).length < 200, true);
});
