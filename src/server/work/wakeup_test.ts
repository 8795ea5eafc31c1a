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

Deno.test("waits until rung", async () => {
  const wake = new Wakeup();
  const wait = wake.wait(never);
  assertEquals(await isOver(wait), false);
  wake.ring();
  assertEquals(await isOver(wait), true);
});

Deno.test("a ring without a wait ends the next wait, and only that one", async () => {
  const wake = new Wakeup();
  wake.ring();
  wake.ring();
  assertEquals(await isOver(wake.wait(never)), true);
  const second = wake.wait(never);
  assertEquals(await isOver(second), false);
  wake.ring();
  await second;
});

Deno.test("a ring that has ended a wait doesn't end the next one", async () => {
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

Deno.test("a wait ends when its signal aborts, or if it has aborted before", async () => {
  const wake = new Wakeup();
  const stop = new AbortController();
  const wait = wake.wait(stop.signal);
  assertEquals(await isOver(wait), false);
  stop.abort();
  assertEquals(await isOver(wait), true);
  assertEquals(await isOver(wake.wait(stop.signal)), true);
});

Deno.test("a wait with a time limit ends after that time or when rung, and leaves no timer", async () => {
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

Deno.test("a wait for something else ends with it, or aborts it when rung", async () => {
  const wake = new Wakeup();
  await wake.until(never, () => Promise.resolve());
  wake.ring(); // the wait is over: this is for the next
  assertEquals(await isOver(wake.wait(never)), true);
  let aborted = false;
  const wait = wake.until(never, (either) =>
    new Promise<void>((resolve) => {
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

Deno.test("a ring before a wait for something else keeps that from starting", async () => {
  const wake = new Wakeup();
  wake.ring();
  let begun = false;
  await wake.until(never, () => {
    begun = true;
    return Promise.resolve();
  });
  assertEquals(begun, false);
});
