import { assertEquals } from "@std/assert";
import { queueNamedIn, uncounted } from "./payload_edits.ts";

Deno.test("queueNamedIn returns the queue, or default if the payload has none", () => {
  assertEquals(queueNamedIn('{"queue":"mail"}'), "mail");
  for (const text of ['{"queue":""}', '{"queue":{}}', "{}", "nonsense"]) assertEquals(queueNamedIn(text), "default");
});

Deno.test("uncounted subtracts one failure, and leaves an invalid count unchanged", () => {
  assertEquals(uncounted('{"retry_count":3}'), { retry_count: "2" });
  for (const count of ["1e999", "1.5", '"3"', "null"]) assertEquals(uncounted(`{"retry_count":${count}}`), {});
});
