import { assertEquals } from "@std/assert";
import { isExpired } from "./expiry.ts";
import type { Payload } from "./job.ts";

const NOW = 1_800_000_000_000;

function payload(more: Record<string, unknown>): Payload {
  return { class: "A", args: [], jid: "a", queue: "default", ...more };
}

Deno.test("a job expires so many seconds after it was enqueued, and not before", () => {
  const enqueued_at = NOW / 1_000 - 60;
  assertEquals(isExpired(payload({ expires_in: 59, enqueued_at }), NOW), true);
  assertEquals(isExpired(payload({ expires_in: 60, enqueued_at }), NOW), false);
  assertEquals(isExpired(payload({ enqueued_at }), NOW), false);
});

Deno.test("a scheduled job's time begins when its time has come, not when it was pushed", () => {
  const times = { created_at: NOW / 1_000 - 3_600, enqueued_at: NOW / 1_000 - 5 };
  assertEquals(isExpired(payload({ expires_in: 10, ...times }), NOW), false);
});

Deno.test("what has started before does not expire", () => {
  const old = { expires_in: 1, enqueued_at: NOW / 1_000 - 60 };
  assertEquals(isExpired(payload({ ...old, retry_count: 0 }), NOW), false);
  assertEquals(isExpired(payload({ ...old, suspected: 1 }), NOW), false);
});

Deno.test("what makes no sense does not expire", () => {
  assertEquals(isExpired(payload({ expires_in: "soon", enqueued_at: 1 }), NOW), false);
  assertEquals(isExpired(payload({ expires_in: 1, enqueued_at: "then" }), NOW), false);
});
