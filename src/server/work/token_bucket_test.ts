import { assertEquals } from "@std/assert";
import { type Clock, systemClock } from "../../clock.ts";
import { TokenBucket } from "./token_bucket.ts";

Deno.test("gives out a full bucket at once, then tokens at its rate, and never saves more than its capacity", () => {
  let now = 5_000;
  const clock: Clock = { ...systemClock, monotonic: () => now };
  const bucket = new TokenBucket({ clock, perSecond: 10, capacity: 3 });
  const take = (times: number) => Array.from({ length: times }, () => bucket.take()).filter(Boolean).length;
  assertEquals(take(5), 3);
  now += 99;
  assertEquals(take(1), 0);
  now += 1;
  assertEquals(take(2), 1);
  now += 3_600_000;
  assertEquals(take(10), 3);
});
