import { assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { CooperativeQueue } from "./cooperative_queue.ts";

Deno.test("pauses as long as a slice took while other slices wait", async () => {
  const clock = new FakeClock();
  const slices = new CooperativeQueue(clock);
  const done: string[] = [];
  const work = (name: string, tookMs: number) =>
    slices.run(() => {
      void clock.advance(tookMs);
      done.push(name);
    });
  const all = [work("first", 30), work("second", 10), work("third", 20)];
  await all[0];
  await clock.untilSleeping();
  assertEquals([done, clock.sleeping], [["first"], [30]]);
  await clock.advance(29);
  assertEquals(done, ["first"]);
  await clock.advance(1);
  await all[1];
  assertEquals([done, clock.sleeping], [["first", "second"], [10]]);
  await clock.advance(10);
  await all[2];
  assertEquals([done, clock.sleeping], [["first", "second", "third"], []]);
});

Deno.test("doesn't pause after a single slice; a failed slice doesn't block the next", async () => {
  const clock = new FakeClock();
  const slices = new CooperativeQueue(clock);
  for (let i = 0; i < 3; i++) {
    await slices.run(() => void clock.advance(50));
    assertEquals(clock.sleeping, []);
  }
  const fail = () => {
    throw new Error("broken");
  };
  const both = [slices.run(fail), slices.run(() => "fine")] as const;
  await assertRejects(() => both[0], Error, "broken");
  assertEquals(await both[1], "fine");
});

Deno.test("maps a list in slices by the length of its texts", async () => {
  const clock = new FakeClock();
  let turns = 0;
  const slices = new CooperativeQueue({
    monotonic: () => clock.monotonic(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    turn: () => Promise.resolve(void turns++),
  });
  const map = (texts: readonly string[]) =>
    slices.map(texts, { weigh: ({ length }) => length, map: ({ length }) => length });
  assertEquals(await map([]), []);
  assertEquals(turns, 0);
  assertEquals(await map(Array(100).fill("abc")), Array(100).fill(3));
  assertEquals(turns, 1);
  assertEquals(await map(Array(5).fill("x".repeat(1_000_000))), Array(5).fill(1_000_000));
  assertEquals(turns, 6);
  await map(Array(1_000).fill(""));
  assertEquals(turns, 10);
});

Deno.test("ends a slice by time when its texts take longer than their length suggests", async () => {
  const clock = new FakeClock();
  const slices = new CooperativeQueue(clock);
  const done: string[] = [];
  const slow = slices.map(["a", "b", "c", "d", "e"], {
    weigh: () => 1,
    map: (name) => {
      void clock.advance(15);
      return done.push(name);
    },
  });
  const other = slices.run(() => void done.push("other"));
  await clock.untilSleeping();
  assertEquals([done, clock.sleeping], [["a", "b"], [30]]);
  await clock.advance(30);
  await other;
  assertEquals(done, ["a", "b", "other"]);
  assertEquals(await slow, [1, 2, 4, 5, 6]);
});
