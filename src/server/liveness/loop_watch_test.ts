import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { systemClock } from "../../clock.ts";
import { LoopWatch } from "./loop_watch.ts";

/** A watch whose event loop is what the test makes of it. */
function watched() {
  const clock = new FakeClock();
  const stop = new AbortController();
  const events: string[] = [];
  const state = { blocked: false, rest: false };
  const watch: LoopWatch = new LoopWatch({
    clock,
    signal: stop.signal,
    ping: () => state.blocked ? events.push("ping") : watch.replied(),
    rest: () => state.rest,
    onBlocked: () => events.push("blocked"),
    onUnblocked: (ms) => events.push(`unblocked ${ms}`),
  });
  return { clock, stop, events, state, watch };
}

Deno.test("an event loop that doesn't reply for a second is blocked, until it replies", async () => {
  const { clock, events, state, watch, stop } = watched();
  void watch.watch();
  await clock.advance(10_000);
  assertEquals([events.splice(0), watch.silentMs], [[], undefined]);
  state.blocked = true;
  await clock.advance(1_249);
  assertEquals([events.splice(0), watch.silentMs], [["ping"], 999]);
  await clock.advance(1);
  assertEquals([events.splice(0), watch.silentMs], [["blocked"], 1_000]);
  await clock.advance(500);
  assertEquals([events.splice(0), watch.silentMs], [["blocked", "blocked"], 1_500]);
  state.blocked = false;
  watch.replied();
  assertEquals([events.splice(0), watch.silentMs], [["unblocked 1500"], undefined]);
  watch.replied();
  await clock.advance(10_000);
  assertEquals(events, []);
  stop.abort();
});

Deno.test("rests when there is nothing to watch, but not while the event loop is blocked", async () => {
  const { clock, events, state, watch, stop } = watched();
  state.rest = true;
  await Promise.all([watch.watch(), clock.advance(250)]);
  assertEquals(clock.sleeping, []);
  state.rest = false;
  state.blocked = true;
  const watching = watch.watch();
  void watch.watch(); // it is one watch
  await clock.advance(1_250);
  assertEquals(events.splice(0), ["ping", "blocked"]);
  state.rest = true;
  await clock.advance(250);
  assertEquals(events, ["blocked"]);
  watch.replied();
  await Promise.all([watching, clock.advance(250)]);
  assertEquals(clock.sleeping, []);
  stop.abort();
});

Deno.test("replies resolves with whether the event loop replies in time, and at once while it is blocked", async () => {
  const { clock, events, state, watch, stop } = watched();
  assertEquals(await watch.replies(300), true);
  state.blocked = true;
  const late = watch.replies(300);
  const second = watch.replies(500);
  await clock.advance(300);
  assertEquals([await late, events], [false, ["ping"]]);
  watch.replied();
  assertEquals(await second, true);
  void watch.watch();
  await clock.advance(1_250);
  assertEquals([await watch.replies(300), watch.silentMs], [false, 1_000]);
  stop.abort();
});

Deno.test("a thread that was frozen itself gives the main thread another second", async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  let sleeps = 0;
  let blocked = 0;
  const watch: LoopWatch = new LoopWatch({
    // Every sleep takes four seconds, whatever its duration.
    clock: {
      ...systemClock,
      monotonic: () => clock.monotonic(),
      sleep: async (_ms, signal) => {
        await clock.advance(4_000);
        if (++sleeps >= 3 && !signal?.aborted) watch.replied();
        if (sleeps >= 6) stop.abort();
      },
    },
    signal: stop.signal,
    ping: () => {},
    rest: () => false,
    onBlocked: () => blocked++,
    onUnblocked: () => {},
  });
  await watch.watch();
  assertEquals([blocked, sleeps >= 6], [0, true]);
});
