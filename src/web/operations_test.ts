import { assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../tests/support/clock.ts";
import { logger } from "../log/log.ts";
import { HttpError } from "./http/body.ts";
import { Operations, type Progress } from "./operations.ts";

Deno.test("waits for a short operation; a long one continues, reports its progress, and is listed for 30 s more", async () => {
  const clock = new FakeClock();
  const operations = new Operations(clock, logger("test", clock));
  const plan = { label: "retry all", total: 3, waitMs: 1_000 };
  assertEquals(await operations.run(plan, (progress) => Promise.resolve(progress(3))), 3);
  assertEquals(operations.list(), []);

  const gate = Promise.withResolvers<void>();
  let step: Progress = () => {};
  const answer = operations.run(plan, async (progress) => {
    step = progress;
    progress(1);
    await gate.promise;
    progress(2);
  });
  await clock.untilSleeping();
  await clock.advance(1_000);
  assertEquals(await answer, undefined);
  assertEquals(operations.list().map(({ changed, state }) => [changed, state]), [[1, "running"]]);
  gate.resolve();
  await clock.turn();
  assertEquals(operations.list().map(({ changed, state }) => [changed, state]), [[3, "succeeded"]]);
  await clock.advance(30_001);
  assertEquals(operations.list(), []);
  assertEquals(typeof step, "function");
  await operations.close();
});

Deno.test("refuses another operation with 503 while 20 are running", async () => {
  const clock = new FakeClock();
  const operations = new Operations(clock, logger("test", clock));
  const gate = Promise.withResolvers<void>();
  const run = () => operations.run({ label: "kill all", total: 0, waitMs: 10 }, () => gate.promise);
  const running = Array.from({ length: 20 }, run);
  await clock.untilSleeping();
  await clock.advance(10);
  assertEquals(await Promise.all(running), Array.from({ length: 20 }, () => undefined));
  const refused = await assertRejects(run, HttpError, "Too many operations are running");
  assertEquals(refused.status, 503);
  gate.resolve();
  await clock.turn();
  assertEquals(await operations.run({ label: "kill all", total: 0, waitMs: 10 }, () => Promise.resolve()), 0);
  await operations.close();
});

Deno.test("throws an early failure, lists a later one, and ends the others when it closes", async () => {
  const clock = new FakeClock();
  const operations = new Operations(clock, logger("test", clock));
  const plan = { label: "kill all", total: 0, waitMs: 10 };
  await assertRejects(() => operations.run(plan, () => Promise.reject(new Error("no store"))), Error, "no store");
  const gate = Promise.withResolvers<void>();
  const answer = operations.run(plan, async (progress) => {
    for (;;) {
      await gate.promise;
      progress(1);
    }
  });
  await clock.untilSleeping();
  await clock.advance(10);
  assertEquals(await answer, undefined);
  const closed = operations.close();
  gate.resolve();
  await closed;
  assertEquals(operations.list().map(({ state, error }) => [state, error]), [["failed", "The dashboard stops"]]);
});
