import { assert, assertEquals } from "@std/assert";
import { LOOKS, Mask, MASKED, MAX_CHARS, MAX_VALUES } from "./mask.ts";

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
    ["Login user=ann password=hunter2 rows=3", `Login user=ann password=${MASKED} rows=3`],
    [
      'Call apiKey="a \\"b" url=https://x.test/?token=abc&page=2',
      `Call apiKey=${MASKED} url=https://x.test/?token=${MASKED}&page=2`,
    ],
    ['Login opts={"n":1,"token":"a \\" b","pin":2}', `Login opts={"n":1,"token":"${MASKED}","pin":2}`],
    ["redis://bob:hunter2@host/0", `redis://bob:${MASKED}@host/0`],
    ["redis://:hunter2@host/0", `redis://:${MASKED}@host/0`],
    ["Authorization: Bearer abcdefghijk.lmn", `Authorization: Bearer ${MASKED}`],
    ["key AKIAABCDEFGHIJKLMNOP.", `key ${MASKED}.`],
    ["-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----!", `${MASKED}!`],
    ["eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln", MASKED],
    [`secret whsec_${"QUJD".repeat(8)}== of`, `secret ${MASKED} of`],
    [`key jobs_${"aB3-".repeat(8)}.`, `key ${MASKED}.`],
    [`ann:operator:scrypt$15p3$${"a".repeat(22)}$${"b".repeat(43)}`, `ann:operator:${MASKED}`],
    ["jobs_session_12ab34cd jobs_dead_total", "jobs_session_12ab34cd jobs_dead_total"],
    ["POST https://hooks.slack.com/services/T0/B0/XyZ failed", `POST https://hooks.slack.com/${MASKED} failed`],
    ["https://discord.com/api/webhooks/123/a-B_c?x=1", `https://discord.com/api/webhooks/${MASKED}?x=1`],
    ["https://example.com/a:b@c", "https://example.com/a:b@c"],
    ["bob@example.com", "bob@example.com"],
  ];
  for (const [text, masked] of rows) assertEquals(mask.text(text!), masked);
});

Deno.test("cuts a text, which bounds the search for secrets in it", () => {
  assertEquals(new Mask().text("eyJ-".repeat(1_000_000)).length, 20_001);
});

/** Returns the time per character of a search, the shortest of a few. */
function cost(search: (text: string) => unknown, text: string): number {
  const times = Array.from({ length: 5 }, () => {
    const began = performance.now();
    search(text);
    return performance.now() - began;
  });
  return Math.min(...times) / text.length;
}

Deno.test("a search for secrets takes time in proportion to the text, on the worst text of each pattern", () => {
  const mask = new Mask();
  const fill = (unit: string) => unit.repeat(Math.ceil(20_000 / unit.length));
  const units = [
    ...LOOKS.flatMap(({ worst }) => worst),
    "a=",
    "?a=",
    '{"',
    ',"a":"',
    '{"a":a',
    'a="',
    "a.",
    "token=",
    '"',
    '\\"',
    '"\\\\',
    '"a" ',
    '"password" ',
  ];
  const searches = { text: (text: string) => mask.text(text), json: (text: string) => mask.json(text) };
  for (const [name, search] of Object.entries(searches)) {
    for (let i = 0; i < 20; i++) search(fill("Lorem ipsum dolor "));
    const usual = cost(search, fill("Lorem ipsum dolor "));
    for (const unit of units) {
      const ratio = cost(search, fill(unit)) / usual;
      assert(ratio < 40, `mask.${name} takes ${Math.round(ratio)} times as long for ${unit.slice(0, 40)}`);
    }
  }
});

Deno.test("masks a secret that crosses the end of a text that is cut", () => {
  const token = `eyJhbGciOiJIUzI1.eyJzdWIiOiIx.${"c".repeat(900)}`;
  const masked = new Mask().text(`${"a ".repeat(9_998)}${token} ${"b".repeat(9_000)}`);
  assertEquals(masked.slice(19_990), `a a a ${MASKED.slice(0, 4)}…`);
});

Deno.test("searches and shows a bounded number of characters of a value, and tells when it shows all", () => {
  const mask = new Mask();
  const texts = Array.from({ length: 100 }, (_, i) => String(i % 10).repeat(10_000));
  const shown = mask.value(texts) as string[];
  assertEquals(shown.map((text) => text.length), [...Array(MAX_CHARS / 10_000).fill(10_000), ...Array(75).fill(1)]);
  assertEquals(mask.restore(shown, texts), texts);
  assertEquals(
    [texts, texts.slice(0, 25), { [texts.join("")]: 1, b: texts.slice(0, 25) }].map((one) => mask.showsWhole(one)),
    [
      false,
      true,
      false,
    ],
  );
  const payload = mask.payload({ args: texts, jid: "j1", queue: "q".repeat(30_000), more: texts });
  assertEquals([payload.jid, payload.queue.length, payload.more[0]], ["j1", 20_001, "…"]);
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
