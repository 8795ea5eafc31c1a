/** Waits of a worker leave no listener on a signal that lives as long as the worker: each would stay in memory. */
import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/clock.ts";
import { countingSignal } from "../../tests/support/counting_signal.ts";
import { KeptLog } from "../../tests/support/log.ts";
import { systemClock } from "../clock.ts";
import type { Topic } from "../store/port/watch.ts";
import type { ServerStore } from "../store/port/store.ts";
import { Poller } from "./schedule/poller.ts";
import { LeaseBuffer } from "./work/lease_buffer.ts";
import { Manager } from "./work/manager.ts";
import type { ProcessorServices } from "./work/processor_services.ts";
import { Wakeup } from "./work/wakeup.ts";

/** Waits that have begun, each with what ends it other than its signal. */
const WAITS: Readonly<Record<string, (signal: AbortSignal) => { readonly wait: Promise<unknown>; end(): unknown }>> = {
  // Long enough that it isn't over when it begins, on a machine that stalls.
  "a sleep": (signal) => ({ wait: systemClock.sleep(100, signal), end: () => {} }),
  "a wait until rung": (signal) => {
    const wake = new Wakeup();
    return { wait: wake.wait(signal), end: () => wake.ring() };
  },
  "a wait until rung or for a time": (signal) => {
    const clock = new FakeClock();
    return { wait: new Wakeup().wait(signal, clock, 5), end: () => clock.advance(5) };
  },
  "a wait for a job": (signal) => {
    const buffer = new LeaseBuffer({
      clock: new FakeClock(),
      settler: { add: () => {} },
      leaseGuard: { isSure: true },
      onFinished: () => {},
      onHandedOut: () => {},
      onIdle: () => {},
      onUnsure: () => {},
      onReleased: () => {},
    });
    return { wait: buffer.wait(signal), end: () => buffer.add([{ token: "t", queue: "default", payload: "{}" }]) };
  },
  "a rest of the poller": (signal) => {
    const clock = new FakeClock();
    const store = {
      watch: (_: Topic, either: AbortSignal) => new Wakeup().wait(either),
    } as unknown as ServerStore;
    const poller = new Poller({ store, clock, log: new KeptLog() });
    return { wait: poller.rest({ moved: 0, buried: 0, nextInMs: 5 }, signal), end: () => clock.advance(5) };
  },
  "a stop of the manager": (signal) => {
    const settler = { flush: () => Promise.resolve(), unsettled: 0 };
    const services = { settler, clock: new FakeClock() } as unknown as ProcessorServices & { settler: never };
    const manager = new Manager(services, { concurrency: 0, log: new KeptLog() });
    return { wait: manager.stop(60_000, signal), end: () => {} };
  },
};

for (const [what, begin] of Object.entries(WAITS)) {
  Deno.test(`${what} leaves no listener on its signal`, async () => {
    const counting = countingSignal();
    const { wait, end } = begin(counting.signal);
    assertEquals(counting.listeners, 1);
    await end();
    await wait;
    assertEquals(counting.listeners, 0);
  });
}
