import { assertEquals } from "@std/assert";
import { KeptLog } from "../../../tests/support/log.ts";
import { systemClock } from "../../clock.ts";
import { control } from "./control.ts";
import { type Asked, Inbox } from "./signals.ts";
import { Tasks } from "./tasks.ts";

/** Returns how often the worker was told to stop after each request, by one origin after the other. */
async function stopsAfter(...origins: readonly string[]): Promise<number[]> {
  const inbox = new Inbox();
  const stopped = Promise.withResolvers<void>();
  let stops = 0;
  const controls = {
    stop: () => {
      stops++;
      return stopped.promise;
    },
    quiet: () => {},
    resume: () => {},
    dump: () => [],
    reopen: () => {},
    reload: () => {},
  };
  const ended = control(inbox, controls, { tasks: new Tasks(systemClock), log: new KeptLog() });
  const counted: number[] = [];
  for (const by of origins) {
    inbox.put({ verb: "stop", by });
    // Requests are handled in order.
    await new Promise<void>((resolve) => {
      const dump: Asked = { verb: "dump", by: "command", reply: () => Promise.resolve(resolve()) };
      inbox.put(dump);
    });
    counted.push(stops);
  }
  stopped.resolve();
  await ended;
  return counted;
}

Deno.test("a second signal or command hurries a stop, and a program that calls stop again waits for it", async () => {
  assertEquals(await stopsAfter("SIGTERM", "SIGTERM"), [1, 2]);
  assertEquals(await stopsAfter("program", "program", "program"), [1, 1, 1]);
  assertEquals(await stopsAfter("SIGTERM", "program"), [1, 1]);
  assertEquals(await stopsAfter("program", "SIGTERM"), [1, 2]);
});
