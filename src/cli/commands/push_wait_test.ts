import { assertEquals } from "@std/assert";
import { failedAttempt } from "./push_wait.ts";

const NOW = 1_800_000_000_000;

Deno.test("describes the last failed attempt of a job that will run again", () => {
  const text = (fields: Record<string, unknown>, place: "retry" | "dead" | "queue" = "retry") => {
    const error = { retry_count: 0, error_class: "Error", error_message: "no route" };
    const payload = JSON.stringify({ class: "A", args: [], jid: "a", retry: 4, ...error, ...fields });
    const where = place === "queue" ? { in: place, queue: "default" } as const : { in: place };
    return failedAttempt({ payload, ref: "a", place: where, at: NOW + 20_000 }, NOW, 25)?.text;
  };
  assertEquals(text({}), "failed attempt 1 of 5, retry in 20s: Error: no route");
  assertEquals(text({ retry_count: 3 }, "queue"), "failed attempt 4 of 5: Error: no route");
  assertEquals(text({ retry: true }), "failed attempt 1 of 26, retry in 20s: Error: no route");
  assertEquals(text({ retry_for: 60 }), "failed attempt 1, retry in 20s: Error: no route");
  assertEquals(
    text({ error_message: "GET /?token=abc" }),
    "failed attempt 1 of 5, retry in 20s: Error: GET /?token=••••••",
  );
  assertEquals([text({}, "dead"), text({ retry_count: undefined }), text({ error_class: undefined })], [
    undefined,
    undefined,
    undefined,
  ]);
});
