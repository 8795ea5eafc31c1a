import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import { acceptAll } from "./private_socket.ts";

/** A listener that returns these connections and throws these errors in turn, and then is closed. */
function listener(...answers: (Error | string)[]): { accept(): Promise<Deno.Conn> } {
  return {
    accept() {
      const answer = answers.shift() ?? new Deno.errors.BadResource("closed");
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as unknown as Deno.Conn);
    },
  };
}

/** The error of the system when too many files are open. */
const FULL = new Error("Too many open files (os error 24)");

Deno.test("connections are accepted again after a time with too many open files, with one message and without spinning", async () => {
  const clock = new FakeClock();
  const log = new KeptLog();
  const taken: unknown[] = [];
  const { signal } = new AbortController();
  const over = acceptAll(listener("a", FULL, FULL, "b", "c"), (one) => taken.push(one), { clock, log, signal });
  await clock.untilSleeping();
  assertEquals([taken, clock.sleeping], [["a"], [100]]);
  await clock.advance(100);
  await clock.untilSleeping();
  await clock.advance(100);
  await over;
  assertEquals(taken, ["a", "b", "c"]);
  assertEquals(log.said, [
    "error Can't accept a connection, retrying",
    "info Accepting connections again",
  ]);
});

Deno.test("a stop ends the pause after a failure", async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const options = { clock, log: new KeptLog(), signal: stop.signal };
  const over = acceptAll(listener(FULL, FULL), () => {}, options);
  await clock.untilSleeping();
  stop.abort();
  await over;
  assertEquals(clock.sleeping, []);
});
