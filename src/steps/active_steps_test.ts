import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/clock.ts";
import { runningJob } from "../../tests/support/job.ts";
import { ActiveSteps } from "./active_steps.ts";

Deno.test("the current step is the active one that began last", async () => {
  const steps = new ActiveSteps(runningJob({ class: "A", jid: "1", queue: "q" }), new FakeClock());
  const ends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  assertEquals(steps.current, undefined);
  const first = steps.use("charge", () => ends[0].promise);
  const second = steps.use("mail", () => ends[1].promise);
  assertEquals(steps.current, "mail");
  ends[1].resolve();
  await second;
  assertEquals(steps.current, "charge");
  ends[0].reject(new Error("declined"));
  await first.catch(() => {});
  assertEquals(steps.current, undefined);
});
