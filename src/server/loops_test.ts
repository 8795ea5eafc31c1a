/**
 * How the loops of a worker rest, and how they continue after a failure of the store.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../tests/support/clock.ts";
import { KeptLog } from "../../tests/support/log.ts";
import { Registry } from "../handlers/registry.ts";
import { StoreError } from "../store/port/errors.ts";
import type { Topic } from "../store/port/watch.ts";
import type { ServerStore } from "../store/port/store.ts";
import { Loop, type LoopBody } from "./component.ts";
import { Tasks } from "./control/tasks.ts";
import { Rescuer } from "./liveness/rescuer.ts";
import { BatchTender } from "./schedule/batch_tender.ts";
import { Poller } from "./schedule/poller.ts";
import { ClassSync } from "./stats/class_sync.ts";
import { Counters } from "./stats/counters.ts";
import { MetricsRecorder } from "./stats/metrics_recorder.ts";
import { Announcer } from "./work/announcer.ts";

/** Runs a loop over a store that answers each call with the next of the answers. */
function run<Result>(answers: unknown[], make: (parts: Parts) => LoopBody<Result>) {
  const clock = new FakeClock();
  const log = new KeptLog();
  const calls: number[] = [];
  const answer = <Value>() => {
    calls.push(clock.monotonic());
    const next = answers.length > 1 ? answers.shift() : answers[0];
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next as Value);
  };
  const body = make({ clock, log, answer });
  const loop = new Loop(body, { clock, log, tasks: new Tasks(clock) });
  loop.start();
  return { clock, log, calls, loop };
}

interface Parts {
  readonly clock: FakeClock;
  readonly log: KeptLog;
  readonly answer: <Value>() => Promise<Value>;
}

const FAILURE = new StoreError("unavailable", "no store");

/** Asserts that a loop works until nothing is left, rests for exactly this long, and retries soon after a failure. */
async function restsAndRetries<Result>(
  make: (parts: Parts) => LoopBody<Result>,
  { more, none, restMs }: { readonly more: Result[]; readonly none: Result; readonly restMs: number },
) {
  const { clock, log, calls, loop } = run([...more, none, FAILURE, none], make);
  await clock.untilSleeping();
  const first = more.map(() => 0).concat(0);
  assertEquals(calls, first);
  await clock.advance(restMs - 1);
  assertEquals(calls, first);
  await clock.advance(1);
  assertEquals(calls, [...first, restMs]);
  assertEquals(log.said.at(-1), "warn Store failed, retrying");
  await clock.untilSleeping();
  await clock.advance(376);
  assertEquals(calls.length, first.length + 2);
  assertEquals(log.said.at(-1), "warn Working again");
  await clock.untilSleeping();
  await loop.stop();
  assertEquals(clock.sleeping, []);
}

/** Waits for a due job until its signal aborts. */
const never = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

const poller = ({ clock, log, answer }: Parts) =>
  new Poller({
    store: {
      jobs: { promote: answer },
      watch: (_: Topic, signal: AbortSignal) => never(signal),
    } as unknown as ServerStore,
    clock,
    log,
  });

Deno.test("the poller moves all due jobs, and sleeps until the next one is due, or for 15 s", async () => {
  const moved = { moved: 1_000, buried: 0 };
  await restsAndRetries(poller, {
    more: [{ ...moved, nextInMs: 0 }],
    none: { ...moved, moved: 1, nextInMs: 2_000 },
    restMs: 2_000,
  });
  await restsAndRetries(poller, { more: [], none: { moved: 0, buried: 0, nextInMs: 3_600_000 }, restMs: 15_000 });
});

Deno.test("the rescuer continues while there is more to rescue, and rests for one interval", async () => {
  const none = { rescued: 0, doomed: [], offline: [], more: false, waits: false };
  const rescuer = ({ clock, log, answer }: Parts) =>
    new Rescuer({
      store: { jobs: { rescue: answer } },
      burial: { bury: () => Promise.resolve(true) },
      worker: "me",
      clock,
      log,
      counters: new Counters(),
      intervalMs: 5_000,
      maxRescues: 3,
    });
  await restsAndRetries(rescuer, { more: [{ ...none, more: true }, { ...none, more: true }], none, restMs: 5_000 });
});

Deno.test("the batch tender continues while more is due, and rests for 15 s or until it is woken", async () => {
  let tender: BatchTender | undefined;
  const make = ({ clock, log, answer }: Parts) =>
    tender = new BatchTender({ store: { batches: { tend: answer } }, clock, log });
  const none = { abandoned: 0, removed: 0, more: false };
  await restsAndRetries(make, { more: [{ ...none, more: true }, { ...none, more: true }], none, restMs: 15_000 });
  const { clock, log, calls, loop } = run([none, { ...none, abandoned: 2 }], make);
  await clock.untilSleeping();
  tender!.wake();
  await clock.turn();
  assertEquals([calls, log.said], [[0, 0], ["warn Abandoned batches that were not closed in time"]]);
  await loop.stop();
});

Deno.test("class sync declares classes once a day, and its first attempt counts even if it fails", async () => {
  let sync: ClassSync | undefined;
  const make = ({ clock, answer }: Parts) =>
    sync = new ClassSync({
      store: { classes: { declare: answer }, workers } as unknown as ServerStore,
      registry: new Registry(),
      clock,
    });
  const workers = { losses: 0 };
  await restsAndRetries(make, { more: [], none: undefined, restMs: 86_400_000 });
  const { loop } = run([FAILURE], make);
  await sync!.attempted;
  await loop.stop();
});

Deno.test("class sync declares classes again with the first heartbeat after a loss of a connection", async () => {
  let sync: ClassSync | undefined;
  const workers = { losses: 1 };
  const { clock, calls, loop } = run([undefined, undefined, undefined], ({ clock, answer }) =>
    sync = new ClassSync({
      store: { classes: { declare: answer }, workers } as unknown as ServerStore,
      registry: new Registry(),
      clock,
    }));
  const beat = async () => {
    await clock.untilSleeping();
    sync!.beat();
    await clock.turn();
    return calls.length;
  };
  assertEquals(await beat(), 1);
  workers.losses++;
  assertEquals([await beat(), await beat()], [2, 2]);
  await loop.stop();
});

Deno.test("class sync and the announcer declare for their worker, and again once it was found offline", async () => {
  const declared: unknown[][] = [];
  const declare = (...given: unknown[]) => Promise.resolve(void declared.push(given));
  const webhooks = { declare, read: () => Promise.resolve([]) };
  const store = { classes: { declare }, webhooks, events: { keep: () => Promise.resolve() }, workers: { losses: 0 } };
  const clock = new FakeClock();
  const options = { store: store as unknown as ServerStore, clock, worker: "host:1:a" };
  const sync = new ClassSync({ ...options, registry: new Registry() });
  const announcer = new Announcer({ ...options, configured: [{ name: "a" }] });
  for (const body of [sync, announcer]) {
    await body.step();
    assertEquals(declared.splice(0).map(([, worker]) => worker), ["host:1:a"]);
    const resting = body.rest(undefined, new AbortController().signal);
    body.beat({ lapsed: false });
    await clock.untilSleeping();
    body.beat({ lapsed: true });
    await resting;
    await body.step();
    assertEquals(declared.splice(0).length, 1);
  }
});

Deno.test("the announcer reads the subscriptions every 15 s, and replaces them once if some are configured", async () => {
  const kept: number[] = [];
  const events = { keep: (ms: number) => Promise.resolve(void kept.push(ms)) };
  const make = ({ clock, answer }: Parts) =>
    new Announcer({ store: { webhooks: { read: answer, declare: answer }, events }, clock });
  await restsAndRetries(make, { more: [], none: undefined, restMs: 15_000 });
  const declared: unknown[] = [];
  const clock = new FakeClock();
  const webhooks = {
    read: () => Promise.resolve([]),
    declare: (given: unknown) => Promise.resolve(void declared.push(given)),
  };
  const configured = new Announcer({ store: { webhooks, events }, clock, configured: [{ name: "a" }], eventTtlMs: 5 });
  await configured.step();
  await configured.step();
  await configured.known;
  assertEquals(declared, [[{ name: "a" }]]);
  assertEquals(kept.slice(-2), [5, 5]);
});

Deno.test("a worker knows the subscriptions before its start ends, unless the store refuses to tell them", async () => {
  for (const code of ["unavailable", "denied"] as const) {
    let error: StoreError | undefined = new StoreError(code, "no");
    const webhooks = {
      read: () => error === undefined ? Promise.resolve([]) : Promise.reject(error),
      declare: () => Promise.resolve(),
    };
    const announcer = new Announcer({
      store: { webhooks, events: { keep: () => Promise.reject(new StoreError("unavailable", "no")) } },
      clock: new FakeClock(),
    });
    let isKnown = false;
    void announcer.known.then(() => isKnown = true);
    await assertRejects(() => announcer.step(), StoreError);
    assertEquals(isKnown, code === "denied");
    error = undefined;
    await assertRejects(() => announcer.step(), StoreError);
    assertEquals(isKnown, true);
  }
});

Deno.test("the metrics recorder stores counts late in each minute, and reports an outage once", async () => {
  const recorder = ({ clock, log, answer }: Parts) =>
    new MetricsRecorder({
      store: { series: { add: answer } },
      classCounters: { drain: () => [{}] as never },
      clock,
      log,
    });
  const { clock, log, calls, loop } = run([undefined, FAILURE, FAILURE, undefined], recorder);
  for (let minute = 0; minute < 3; minute++) {
    await clock.untilSleeping();
    await clock.advance(60_000);
  }
  const [start, ...later] = calls;
  assertEquals([start, later.length], [0, 3]);
  for (const [minute, at] of later.entries()) {
    const second = at - minute * 60_000;
    assert(second >= 50_000 && second <= 59_001, `${at}`);
  }
  assertEquals(log.said, ["warn Metrics of classes lost: not stored", "warn Metrics of classes are stored again"]);
  await loop.stop();
  assertEquals(calls.length, 5);
});
