import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { Wakeup } from "./wakeup.ts";

/** Whether the promise has settled when everything that is ready has run. */
async function isOver(wait: Promise<void>): Promise<boolean> {
  let over = false;
  void wait.then(() => over = true);
  await new FakeClock().turn();
  return over;
}

const never = new AbortController().signal;

Deno.test("a wait lasts until the bell rings", async () => {
  const wake = new Wakeup();
  const wait = wake.wait(never);
  assertEquals(await isOver(wait), false);
  wake.ring();
  assertEquals(await isOver(wait), true);
});

Deno.test("a ring while nobody waits ends the next wait, and only that", async () => {
  const wake = new Wakeup();
  wake.ring();
  wake.ring();
  assertEquals(await isOver(wake.wait(never)), true);
  const second = wake.wait(never);
  assertEquals(await isOver(second), false);
  wake.ring();
  await second;
});

Deno.test("a ring that ended a wait does not end the next", async () => {
  const wake = new Wakeup();
  const first = wake.wait(never);
  wake.ring();
  wake.ring();
  await first;
  const second = wake.wait(never);
  assertEquals(await isOver(second), false);
  wake.ring();
  await second;
});

Deno.test("a wait ends when its signal aborts, before or meanwhile", async () => {
  const wake = new Wakeup();
  const stop = new AbortController();
  const wait = wake.wait(stop.signal);
  assertEquals(await isOver(wait), false);
  stop.abort();
  assertEquals(await isOver(wait), true);
  assertEquals(await isOver(wake.wait(stop.signal)), true);
});

Deno.test("a wait with a clock ends after its time, or when rung, and leaves no sleeper behind", async () => {
  const wake = new Wakeup();
  const clock = new FakeClock();
  const first = wake.wait(never, clock, 1_000);
  await clock.advance(999);
  assertEquals(await isOver(first), false);
  await clock.advance(1);
  assertEquals(await isOver(first), true);
  const second = wake.wait(never, clock, 1_000);
  assertEquals(clock.sleeping, [1_000]);
  wake.ring();
  assertEquals(await isOver(second), true);
  assertEquals(clock.sleeping, []);
});

Deno.test("waiting for something else ends with it, or aborts it when rung", async () => {
  const wake = new Wakeup();
  await wake.until(never, () => Promise.resolve());
  wake.ring(); // the wait is over: this is for the next
  assertEquals(await isOver(wake.wait(never)), true);
  let aborted = false;
  const wait = wake.until(never, (either) =>
    new Promise((resolve) => {
      either.addEventListener("abort", () => {
        aborted = true;
        resolve();
      });
    }));
  assertEquals(await isOver(wait), false);
  wake.ring();
  await wait;
  assertEquals(aborted, true);
});

Deno.test("when the bell has rung already, nothing is begun", async () => {
  const wake = new Wakeup();
  wake.ring();
  let begun = false;
  await wake.until(never, () => {
    begun = true;
    return Promise.resolve();
  });
  assertEquals(begun, false);
});
