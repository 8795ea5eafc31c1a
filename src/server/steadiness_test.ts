import { assertEquals } from "@std/assert";
import { type Clock, systemClock } from "../clock.ts";
import { Steadiness } from "./steadiness.ts";

const TTL_MS = 20_000;

function watched(): { steadiness: Steadiness; pass: (ms: number, wall?: number) => void } {
  let [now, monotonic] = [1_700_000_000_000, 50];
  const clock: Clock = { ...systemClock, now: () => now, monotonic: () => monotonic };
  return {
    steadiness: new Steadiness(clock, TTL_MS),
    pass: (ms, wall = ms) => {
      monotonic += ms;
      now += wall;
    },
  };
}

Deno.test("A process that starts, and one that beats in time, may take others for dead", () => {
  const { steadiness, pass } = watched();
  assertEquals(steadiness.steady, true);
  for (let i = 0; i < 10; i++) {
    steadiness.beat();
    pass(TTL_MS - 1);
    assertEquals(steadiness.steady, true);
  }
});

Deno.test("After a gap it may not, until beats have gone on for as long as one counts", () => {
  const { steadiness, pass } = watched();
  steadiness.beat();
  pass(TTL_MS);
  assertEquals(steadiness.steady, false, "nobody beats yet");
  for (let passed = 0; passed < TTL_MS; passed += 5_000) {
    steadiness.beat();
    assertEquals(steadiness.steady, false);
    pass(5_000);
  }
  assertEquals(steadiness.steady, true);
});

Deno.test("A machine that slept is a gap, though the clock that never jumps stood still; a wall clock set back is none", () => {
  const { steadiness, pass } = watched();
  steadiness.beat();
  pass(10, TTL_MS);
  assertEquals(steadiness.steady, false);
  const other = watched();
  other.steadiness.beat();
  other.pass(5_000, -3_600_000);
  assertEquals(other.steadiness.steady, true);
});
