import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import { openStore } from "../../store/open.ts";
import { StoreError } from "../../store/port/errors.ts";
import type { JobStore } from "../../store/port/jobs.ts";
import { Client } from "../../client/client.ts";
import { Tasks } from "./tasks.ts";
import { Cancellations } from "./remote_commands.ts";

const WORKER = "host:1:aaaaaaaaaaaa";

/** A store with one job that `WORKER` has taken, and the cancellations of that worker. */
async function lab(cancelHere: () => boolean) {
  const clock = new FakeClock();
  const store = await openStore("sqlite::memory:");
  const client = new Client({ store, onUnregistered: () => {} });
  const jid = (await client.push("Report", []))!;
  const [lease] = await store.jobs.take({ queues: ["default"], limit: 1, worker: WORKER });
  const tasks = new Tasks(clock);
  const log = new KeptLog();
  const failures: Error[] = [];
  const find: JobStore["find"] = async (jids) => {
    const failure = failures.shift();
    if (failure) throw failure;
    return await store.jobs.find(jids);
  };
  const cancellations = new Cancellations({
    store: { ...store, jobs: { ...store.jobs, find } },
    clock,
    tasks,
    log,
    worker: WORKER,
    cancelHere,
  });
  const release = () => store.jobs.settle(WORKER, [{ kind: "release", token: lease!.token }]);
  const places = async () => (await store.jobs.find([jid])).map(({ place }) => place.in);
  const dispose = () => store[Symbol.asyncDispose]();
  return { clock, store, jid, tasks, log, failures, cancellations, release, places, [Symbol.asyncDispose]: dispose };
}

Deno.test("a job that was released before its cancel request arrived is removed from its queue, with a record", async () => {
  await using t = await lab(() => false);
  await t.release();
  await t.cancellations.cancel(t.jid);
  assertEquals(await t.places(), []);
  const { records } = await t.store.results.read();
  assertEquals(records.length, 1);
});

Deno.test("a job that is taken and has not arrived yet is cancelled when it does", async () => {
  let calls = 0;
  await using t = await lab(() => ++calls === 3);
  const cancelled = t.cancellations.cancel(t.jid);
  await t.clock.untilSleeping();
  assertEquals(calls, 2);
  await t.clock.advance(50);
  await cancelled;
  assertEquals([calls, await t.places()], [3, ["running"]]);
});

Deno.test("a job that is released while its worker looks for it is removed", async () => {
  await using t = await lab(() => false);
  const cancelled = t.cancellations.cancel(t.jid);
  await t.clock.untilSleeping();
  await t.release();
  await t.clock.advance(50);
  await cancelled;
  assertEquals(await t.places(), []);
});

Deno.test("a stop ends the search, and the task with it", async () => {
  await using t = await lab(() => false);
  const cancelled = t.cancellations.cancel(t.jid);
  await t.clock.untilSleeping();
  t.cancellations.stop();
  await cancelled;
  assertEquals(t.tasks.list().length, 0);
});

Deno.test("a cancel request survives an outage of the store, and another error of the store ends it", async () => {
  await using t = await lab(() => false);
  await t.release();
  t.failures.push(new StoreError("unavailable", "unreachable"), new StoreError("unavailable", "unreachable"));
  const cancelled = t.cancellations.cancel(t.jid);
  await t.clock.untilSleeping();
  await t.clock.advance(50);
  await t.clock.untilSleeping();
  await t.clock.advance(100);
  await cancelled;
  assertEquals([await t.places(), t.log.said], [[], []]);

  t.failures.push(new Error("rejected"));
  await t.cancellations.cancel("another");
  assertEquals([t.tasks.list().length, t.log.said], [0, ["warn Job not cancelled"]]);
});
