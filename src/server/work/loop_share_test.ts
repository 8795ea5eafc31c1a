import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { LoopShare } from "./loop_share.ts";

Deno.test("processors wait in line for the loop to turn once handlers have held it, and continue one at a time", async () => {
  const clock = new FakeClock();
  const share = new LoopShare(clock);
  share.held(199);
  assertEquals(share.pass(), undefined);
  share.held(2);
  const passed: number[] = [];
  const waiting = [1, 2].map((number) => share.pass()!.then(() => passed.push(number)));
  await clock.advance(0);
  assertEquals(passed, []);
  await clock.advance(1);
  assertEquals(passed, [1]);
  share.held(230);
  await clock.advance(1);
  await Promise.all(waiting);
  assertEquals(passed, [1, 2]);
  await clock.advance(1);
  assertEquals(share.pass(), undefined);
});

Deno.test("short calls continue without a turn, each after the one before", async () => {
  const clock = new FakeClock();
  const share = new LoopShare(clock);
  share.held(200);
  const passed: number[] = [];
  for (const number of [1, 2, 3]) void share.pass()!.then(() => passed.push(number));
  await clock.advance(1);
  assertEquals(passed, [1]);
  share.held(40);
  await clock.turn();
  assertEquals(passed, [1, 2]);
  share.held(170);
  await clock.turn();
  assertEquals(passed, [1, 2], "together they have held it for long enough");
  await clock.advance(1);
  assertEquals(passed, [1, 2, 3]);
});
