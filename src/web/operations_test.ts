import { assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../tests/support/clock.ts";
import { logger } from "../log/log.ts";
import { type Progress, Refused } from "../operator/actions/action.ts";
import { Operations, WAIT_MS } from "./operations.ts";

const at = (changed: number, total = 3): Progress => ({ changed, total, answer: { first: true } });

Deno.test("waits for a short operation; a long one continues, reports its progress, and is listed for 30 s more", async () => {
  const clock = new FakeClock();
  const operations = new Operations(clock, logger("test", clock));
  assertEquals(await operations.run("retry all", (show) => Promise.resolve((show(at(3)), "done"))), "done");
  assertEquals(operations.list(), []);

  const gate = Promise.withResolvers<void>();
  const answer = operations.run("retry all", async (show) => {
    show(at(1));
    await gate.promise;
    show(at(3));
    return { first: true, changed: 3 };
  });
  await clock.untilSleeping();
  await clock.advance(WAIT_MS);
  assertEquals(await answer, { first: true }, "the part that is known");
  assertEquals(operations.list().map(({ changed, state }) => [changed, state]), [[1, "running"]]);
  gate.resolve();
  await clock.turn();
  assertEquals(operations.list().map(({ changed, state }) => [changed, state]), [[3, "succeeded"]]);
  await clock.advance(30_001);
  assertEquals(operations.list(), []);
  await operations.close();
});

Deno.test("refuses another operation while 20 are running", async () => {
  const clock = new FakeClock();
  const operations = new Operations(clock, logger("test", clock));
  const gate = Promise.withResolvers<void>();
  const run = () => operations.run("kill all", () => gate.promise.then(() => ({})));
  const running = Array.from({ length: 20 }, run);
  await clock.untilSleeping();
  await clock.advance(WAIT_MS);
  assertEquals(await Promise.all(running), Array.from({ length: 20 }, () => ({})));
  const refused = await assertRejects(run, Refused, "Too many operations are running");
  assertEquals(refused.kind, "unavailable");
  gate.resolve();
  await clock.turn();
  assertEquals(await operations.run("kill all", () => Promise.resolve("done")), "done");
  await operations.close();
});

Deno.test("throws an early failure, lists a later one, and ends the others when it closes", async () => {
  const clock = new FakeClock();
  const operations = new Operations(clock, logger("test", clock));
  await assertRejects(() => operations.run("kill all", () => Promise.reject(new Error("no store"))), Error, "no store");
  const gate = Promise.withResolvers<void>();
  const answer = operations.run("kill all", async (show) => {
    for (;;) {
      await gate.promise;
      show(at(1));
    }
  });
  await clock.untilSleeping();
  await clock.advance(WAIT_MS);
  assertEquals(await answer, {});
  const closed = operations.close();
  gate.resolve();
  await closed;
  assertEquals(operations.list().map(({ state, error }) => [state, error]), [["failed", "The dashboard stops"]]);
});
