import { assertEquals } from "@std/assert";
import { goneText } from "./workers.ts";

Deno.test("states that a worker is offline, or that two of its heartbeats are missing", () => {
  const now = 1_000_000;
  const text = (alive: boolean, ageMs: number) =>
    goneText({ alive, heartbeatAt: now - ageMs, heartbeatMs: 6_000 }, now);
  assertEquals(text(true, 11_999), undefined);
  assertEquals(
    text(true, 12_000),
    "sent its last heartbeat 12s ago: it has ended, or it is frozen or cut off from the store",
  );
  assertEquals(
    text(false, 180_000),
    "is offline, its last heartbeat was 3m ago: an online worker rescues its jobs within seconds",
  );
});
