import { assertEquals } from "@std/assert";
import { queueNamedIn, uncounted } from "./payload_edits.ts";

Deno.test("queueNamedIn: the queue, or default for what names none", () => {
  assertEquals(queueNamedIn('{"queue":"mail"}'), "mail");
  for (const text of ['{"queue":""}', '{"queue":{}}', "{}", "nonsense"]) assertEquals(queueNamedIn(text), "default");
});

Deno.test("uncounted: one failure less; what is no count is not touched", () => {
  assertEquals(uncounted('{"retry_count":3}'), { retry_count: "2" });
  for (const count of ["1e999", "1.5", '"3"', "null"]) assertEquals(uncounted(`{"retry_count":${count}}`), {});
});
