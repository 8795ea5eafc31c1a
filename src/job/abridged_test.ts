import { assert, assertEquals } from "@std/assert";
import { abridged } from "./abridged.ts";

Deno.test("abridged returns a payload of ordinary size unchanged", () => {
  for (const payload of ['{"class":"A", "args":[1.0]}', "{not json", "x".repeat(4_000)]) {
    assertEquals(abridged(payload), payload);
  }
});

Deno.test("abridged keeps the small fields of a large payload, and replaces the others with their size", () => {
  const large = "x".repeat(50_000);
  const payload = `{"class":"A", "args":["${large}"],"jid":"j1","big":12345678901234567890,"note":"${large}"}`;
  assertEquals(
    abridged(payload),
    '{"class":"A","args":["(50004 characters)"],"jid":"j1","big":12345678901234567890,"note":"(50002 characters)"}',
  );
});

Deno.test("abridged limits text that isn't a JSON object, and payloads with thousands of fields", () => {
  assertEquals(abridged(`[${"1,".repeat(50_000)}1]`).length, 4_000);
  const fields = Array.from({ length: 5_000 }, (_, i) => `"field ${i}":${i}`).join(",");
  const short = abridged(`{"class":"A","jid":"j1",${fields}}`);
  assert(short.length <= 4_100, `${short.length}`);
  assertEquals(JSON.parse(short).jid, "j1");
});
