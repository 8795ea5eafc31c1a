import { assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../tests/support/clock.ts";
import { KeptLog } from "../../tests/support/log.ts";
import { Inbox } from "./control/signals.ts";
import { NAMED_AFTER_MS, StartEnded, StartupSteps } from "./startup_steps.ts";

Deno.test("logs a step that hangs, again and again, until it has ended", async () => {
  const clock = new FakeClock();
  const log = new KeptLog();
  const starting = new StartupSteps({ clock, log, inbox: new Inbox() });
  const hanging = Promise.withResolvers<string>();
  const step = starting.step("heartbeat", hanging.promise);
  await clock.advance(NAMED_AFTER_MS - 1);
  assertEquals(log.lines, []);
  await clock.advance(NAMED_AFTER_MS + 1);
  assertEquals(log.lines.map(({ level, message, fields }) => [level, message, fields]), [
    ["warn", "Still starting", { step: "heartbeat", seconds: 10 }],
    ["warn", "Still starting", { step: "heartbeat", seconds: 20 }],
  ]);
  hanging.resolve("there");
  assertEquals(await step, "there");
  assertEquals(clock.sleeping, [], "no longer watched");
});

Deno.test("passes on the error of a step, and stops watching it", async () => {
  const clock = new FakeClock();
  const starting = new StartupSteps({ clock, log: new KeptLog(), inbox: new Inbox() });
  await assertRejects(() => starting.step("name", Promise.reject(new Error("taken"))), Error, "taken");
  assertEquals(clock.sleeping, []);
});

Deno.test("a stop request ends the current step, and stays in the inbox", async () => {
  const clock = new FakeClock();
  const inbox = new Inbox();
  const starting = new StartupSteps({ clock, log: new KeptLog(), inbox });
  inbox.put({ verb: "reopen", by: "SIGUSR2" });
  const step = starting.step("store", new Promise(() => {}));
  inbox.put({ verb: "stop", by: "SIGTERM" });
  await assertRejects(() => step, StartEnded, "Stopped by SIGTERM while starting (store)");
  assertEquals(clock.sleeping, []);
  assertEquals((await inbox.next()).verb, "reopen");
  assertEquals((await inbox.next()).verb, "stop");
});
