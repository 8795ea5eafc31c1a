import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { OrphanGuard } from "./orphan_guard.ts";

const PARENT = 4_000;
const INIT = 1;

/** A guard whose parent and event loop are what the test makes of them. */
function guarded(timeoutMs: number) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const events: string[] = [];
  const state = { parent: PARENT, blocked: false };
  const guard: OrphanGuard = new OrphanGuard({
    parent: PARENT,
    timeoutMs,
    ping() {
      events.push("ping");
      if (!state.blocked) guard.replied();
    },
    clock,
    signal: stop.signal,
    parentNow: () => state.parent,
    kill: () => events.push("kill"),
  });
  const running = guard.run();
  const seconds = async (count: number) => {
    for (let i = 0; i < count; i++) {
      await clock.untilSleeping();
      await clock.advance(1_000);
    }
    return events.splice(0);
  };
  return { state, seconds, running, stop };
}

Deno.test("a process whose parent lives is left alone, blocked or not", async () => {
  const { state, seconds, running, stop } = guarded(2_000);
  state.blocked = true;
  assertEquals(await seconds(60), []);
  stop.abort();
  await running;
});

Deno.test("an orphan whose event loop stays blocked is killed after the timeout", async () => {
  const { state, seconds, running } = guarded(2_000);
  state.blocked = true;
  state.parent = INIT;
  assertEquals(await seconds(2), ["ping", "ping"]);
  assertEquals(await seconds(1), ["kill"]);
  await running;
});

Deno.test("an orphan whose event loop answers has all the time that its stop takes", async () => {
  const { state, seconds, running } = guarded(2_000);
  state.parent = INIT;
  assertEquals((await seconds(60)).includes("kill"), false);
  state.blocked = true;
  assertEquals(await seconds(2), ["ping", "kill"]);
  await running;
});
