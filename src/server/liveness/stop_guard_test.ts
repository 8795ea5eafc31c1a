import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { StopGuard } from "./stop_guard.ts";

const PARENT = 4_000;
const INIT = 1;

/** A guard whose parent and event loop are what the test makes of them. */
function guarded(timeoutMs: number) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const state = { parent: PARENT, blocked: false, ended: 0, asked: 0 };
  const guard = new StopGuard({
    clock,
    signal: stop.signal,
    watch: {
      replies: () => {
        state.asked++;
        return Promise.resolve(!state.blocked);
      },
    },
    timeoutMs,
    end: () => void state.ended++,
  });
  return { clock, state, guard, stop };
}

Deno.test("ends a process whose event loop is blocked when the shutdown timeout has expired", async () => {
  const { clock, state, guard } = guarded(25_000);
  state.blocked = true;
  guard.request();
  await clock.advance(24_999);
  assertEquals([state.ended, state.asked], [0, 0]);
  await clock.advance(1);
  assertEquals(state.ended, 1);
  await clock.advance(60_000);
  assertEquals(state.ended, 1);
});

Deno.test("a second request ends it at once", async () => {
  const { clock, state, guard } = guarded(25_000);
  state.blocked = true;
  guard.request();
  await clock.advance(1_000);
  assertEquals(state.ended, 0);
  guard.request();
  await clock.advance(0);
  assertEquals(state.ended, 1);
});

Deno.test("an event loop that turns has all the time that its stop takes, and none when it is blocked again", async () => {
  const { clock, state, guard, stop } = guarded(2_000);
  guard.request();
  await clock.advance(60_000);
  assertEquals([state.ended, state.asked > 1], [0, true]);
  state.blocked = true;
  await clock.advance(250);
  assertEquals(state.ended, 1);
  stop.abort();
});

Deno.test("a shutdown timeout that changes during the stop applies to it", async () => {
  const { clock, state, guard } = guarded(25_000);
  state.blocked = true;
  guard.request();
  guard.setTimeout(5_000);
  await clock.advance(4_999);
  assertEquals(state.ended, 0);
  await clock.advance(1);
  assertEquals(state.ended, 1);
});

Deno.test("the end of the parent requests a stop, unless one has been requested", async () => {
  const { clock, state, guard, stop } = guarded(2_000);
  state.blocked = true;
  void guard.watchParent(PARENT, () => state.parent);
  await clock.advance(60_000);
  assertEquals([guard.isStopping, state.ended], [false, 0]);
  state.parent = INIT;
  await clock.advance(1_000);
  assertEquals([guard.isStopping, state.ended], [true, 0]);
  await clock.advance(2_000);
  assertEquals(state.ended, 1);
  stop.abort();
  const other = guarded(2_000);
  other.state.blocked = true;
  other.guard.request();
  void other.guard.watchParent(PARENT, () => INIT);
  await other.clock.advance(1_999);
  assertEquals(other.state.ended, 0, "it isn't a second request");
  await other.clock.advance(1);
  assertEquals(other.state.ended, 1);
});
