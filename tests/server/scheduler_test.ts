/** The scheduler, step by step, on a real file with a clock that the test moves. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { checkCron } from "../../src/cli/commands/doctor_cron.ts";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import type { PushMiddleware } from "../../src/client/middleware.ts";
import { readDefinition } from "../../src/cron/definition.ts";
import type { Store } from "../../src/store/admin/store.ts";
import type { CronWrite } from "../../src/store/port/cron.ts";
import {
  carry,
  finish,
  history,
  HOUR,
  Lab,
  MINUTE,
  minutely,
  NOON,
  outcomes,
  queued,
  SECOND,
} from "../support/cron_lab.ts";

Deno.test("scheduler: a run is enqueued at its time, once, whichever worker checks", async () => {
  await using lab = new Lab();
  const stores = [await lab.open(), await lab.open(), await lab.open()];
  const processes = stores.map((store) => lab.process(store, [minutely()]));
  const all = () => Promise.all(processes.map(({ scheduler }) => scheduler.step()));
  assertEquals(Math.max(...await all()), 15 * SECOND, "nothing earlier than the next look");
  for (let i = 0; i < 12; i++) {
    await lab.clock.advance(15 * SECOND);
    await all();
  }
  assertEquals(await queued(stores[0]!), [1, 2, 3]);
  assertEquals(
    processes.map(({ said }) => said.filter((line) => line === "Occurrence enqueued").length).reduce((a, b) => a + b),
    3,
  );
  assertEquals((await history(stores[0]!)).map(({ decidedAt, scheduledAt }) => decidedAt - scheduledAt), [0, 0, 0]);
});

Deno.test("scheduler: a store's clock that jumps back repeats no run, and one that jumps ahead loses none", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  const { scheduler } = lab.process(store, [minutely({ catchUp: "all" })]);
  const run = async (seconds: number) => {
    for (let i = 0; i < seconds; i += 5) {
      await lab.clock.advance(5 * SECOND);
      await scheduler.step();
    }
  };
  await scheduler.step();
  await run(150);
  lab.clock.set(NOON + 30 * SECOND);
  await run(90);
  assertEquals(await queued(store), [1, 2]);
  await run(60);
  assertEquals(await queued(store), [1, 2, 3]);
  lab.clock.set(NOON + 10 * MINUTE + 30 * SECOND);
  await run(15);
  assertEquals(await queued(store), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

Deno.test("scheduler: a store's clock that was ahead for hours and is set back is reported once, until when no entry runs", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  const { scheduler, said } = lab.process(store, [minutely({}), { ...minutely({}), name: "other" }]);
  await scheduler.step();
  lab.clock.set(NOON + 5 * 60 * MINUTE);
  for (let i = 0; i < 3; i++) await lab.clock.advance(30 * SECOND), await scheduler.step();
  lab.clock.set(NOON + 2 * MINUTE);
  for (let i = 0; i < 3; i++) await lab.clock.advance(30 * SECOND), await scheduler.step();
  const held = "Store's clock was set back: cron entries wait until it has caught up";
  assertEquals(said.filter((message) => message === held).length, 1, said.join("\n"));
  const [finding, ...others] = await checkCron(store);
  assertEquals(others, []);
  assertMatch(finding!.message, /^cron entries have no runs for 4h5[5-9]m.*: the store's clock was ahead/);
  lab.clock.set(NOON + 6 * 60 * MINUTE);
  await scheduler.step();
  assertEquals(await checkCron(store), []);
});

Deno.test("scheduler: a check returns the time until the next check", async () => {
  await using lab = new Lab();
  const { scheduler } = lab.process(await lab.open(), [minutely({ every: "10s" })]);
  assertEquals(await scheduler.step(), 10 * SECOND);
  await lab.clock.advance(9 * SECOND);
  assertEquals(await scheduler.step(), SECOND);
  await lab.clock.advance(SECOND);
  assertEquals(await scheduler.step(), 5 * SECOND, "all are looked at");
});

Deno.test("scheduler: runs that were missed while no worker was up are caught up and counted", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  await lab.process(store, [minutely({ catchUp: "all", catchUpWindow: "3m" })]).scheduler.step();
  await lab.clock.advance(5 * MINUTE);
  const late = lab.process(store, [minutely({ catchUp: "all", catchUpWindow: "3m" })]);
  await late.scheduler.step();
  assertEquals(await queued(store), [2, 3, 4, 5]);
  const entry = (await new Crontab({ store, client: new Client({ store }) }).get("a"))!;
  assertEquals(entry.state?.counts, { enqueued: 4, late: 2, missed: 1 });
  assert(late.said.includes("Occurrences missed") && late.said.includes("Occurrence enqueued late"));
});

Deno.test("scheduler: a job contains its run, and is built as by a push", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  const mark: PushMiddleware = (context, next) => {
    context.job = { ...context.job, mark: 1 };
    return next();
  };
  const { scheduler } = lab.process(store, [minutely({ args: [1], retry: 3, options: { tenant: "x" } })], [mark]);
  await scheduler.step();
  await lab.clock.advance(MINUTE + 7);
  await scheduler.step();
  const { payload } = (await store.admin.page({ in: "queue", queue: "default" })).entries[0]!;
  const { class: name, args, retry, tenant, mark: marked, occurrence, jid } = JSON.parse(payload);
  assertEquals({ name, args, retry, tenant, marked }, { name: "Act", args: [1], retry: 3, tenant: "x", marked: 1 });
  assertEquals(occurrence, { name: "a", scheduledAt: "2026-06-15T12:01:00.000Z", lateMs: 7 });
  assertEquals((await store.cron.page()).entries[0]?.live, jid);
});

Deno.test("scheduler: a run that middleware stops is skipped with the reason, and blocks no other run", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  const { scheduler } = lab.process(store, [minutely({ singleton: true })], [() => Promise.resolve(undefined)]);
  await scheduler.step();
  for (let i = 0; i < 2; i++) {
    await lab.clock.advance(MINUTE);
    await scheduler.step();
  }
  assertEquals(await queued(store), []);
  assertEquals((await history(store)).map(({ outcome, reason, jid }) => [outcome, reason, jid]), [
    ["skipped", "stopped by middleware", undefined],
    ["skipped", "stopped by middleware", undefined],
  ]);
  assertEquals((await store.cron.page()).entries[0]?.live, undefined);
});

Deno.test("scheduler: an entry that fails is retried, and does not delay the others", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  let isBroken = true;
  const breaks: PushMiddleware = (context, next) => {
    if (isBroken && context.job.class === "Bad") throw new Error("no network");
    return next();
  };
  const { scheduler, said } = lab.process(store, [minutely({ class: "Bad" }), minutely({ name: "b" })], [breaks]);
  await scheduler.step();
  await lab.clock.advance(MINUTE);
  await scheduler.step();
  assertEquals(await queued(store), [1]);
  assert(said.includes("Cron entry failed, retrying"));
  isBroken = false;
  await lab.clock.advance(SECOND);
  await scheduler.step();
  assertEquals(await queued(store), [1, 1]);
});

Deno.test("scheduler: skip skips runs while the previous job has not ended", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  const { scheduler } = lab.process(store, [minutely({ overlap: "skip" })]);
  await scheduler.step();
  for (let i = 1; i <= 3; i++) {
    if (i === 3) await finish(store);
    await lab.clock.advance(MINUTE);
    await scheduler.step();
  }
  assertEquals(await outcomes(store), ["enqueued", "skipped", "enqueued"]);
});

Deno.test("scheduler: queue-one enqueues the waiting run as soon as the previous job has ended", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  const { scheduler } = lab.process(store, [minutely({ overlap: "queue-one" })]);
  await scheduler.step();
  for (let i = 0; i < 3; i++) {
    await lab.clock.advance(MINUTE);
    await scheduler.step();
  }
  assertEquals(await queued(store), [1]);
  const resting = scheduler.rest(HOUR, new AbortController().signal);
  await finish(store);
  await resting;
  await scheduler.step();
  assertEquals(await queued(store), [2]);
  assertEquals(await outcomes(store), ["enqueued", "skipped", "waiting", "enqueued"]);
});

Deno.test("scheduler: a run that waits isn't enqueued while the entry is paused", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  const { scheduler } = lab.process(store, [minutely({ overlap: "queue-one" })]);
  const crontab = new Crontab({ store, client: new Client({ store, clock: lab.clock }), clock: lab.clock });
  const run = async () => {
    await lab.clock.advance(MINUTE);
    await scheduler.step();
  };
  await scheduler.step();
  await run();
  await run();
  assertEquals(await outcomes(store), ["waiting", "enqueued"]);
  await crontab.pause("a");
  await run();
  await finish(store);
  await run();
  assertEquals([await queued(store), await outcomes(store)], [[], ["skipped", "waiting", "enqueued"]]);
  await crontab.resume("a");
  await run();
  assertEquals(await queued(store), [5], "the next run after the pause");
});

Deno.test("scheduler: replace cancels the previous job, and then enqueues the latest run", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  const { scheduler } = lab.process(store, [minutely({ overlap: "replace" })]);
  await scheduler.step();
  await lab.clock.advance(MINUTE);
  await scheduler.step();
  await lab.clock.advance(MINUTE);
  await scheduler.step();
  assertEquals(await queued(store), [], "the one that waited in its queue is deleted");
  await lab.clock.advance(SECOND);
  await scheduler.step();
  assertEquals(await queued(store), [2]);
});

Deno.test("scheduler: the definition of the worker that started last applies until no worker has it", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  const old = lab.process(store, [minutely()]);
  await old.scheduler.step();
  const fresh = lab.process(store, [minutely({ class: "Fresh" })]);
  await fresh.scheduler.step();
  assertEquals(fresh.said, ["Cron entry changed"]);
  for (let i = 0; i < 6; i++) {
    await lab.clock.advance(15 * SECOND);
    await old.scheduler.step();
    if (i < 2) await fresh.scheduler.step();
  }
  assertEquals(await classOf(store), "Fresh");
  assertEquals(await queued(store), [1], "the other one enqueues for it");
  for (let i = 0; i < 4; i++) {
    await lab.clock.advance(15 * SECOND);
    await old.scheduler.step();
  }
  assertEquals(await classOf(store), "Act", "it has died");
});

Deno.test("scheduler: a new definition is stored although a run is decided at the same moment", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  const old = lab.process(store, [minutely()]);
  await old.scheduler.step();
  await lab.clock.advance(MINUTE);
  const other = await lab.open();
  const write = other.cron.write.bind(other.cron);
  let isFirst = true;
  other.cron.write = async (writes: readonly CronWrite[]) => {
    if (isFirst) await old.scheduler.step();
    isFirst = false;
    return await write(writes);
  };
  const fresh = lab.process(other, [minutely({ class: "Fresh" })]);
  await fresh.scheduler.step();
  assertEquals(await classOf(store), "Fresh");
  assertEquals(await queued(store), [1]);
});

Deno.test("scheduler: entries that are read again while one is being written are stored at once", async () => {
  for (const isFirst of [true, false]) {
    await using lab = new Lab();
    const store = await lab.open();
    const { scheduler } = lab.process(store, [
      minutely({ every: "1d", anchor: new Date(NOON + MINUTE).toISOString() }),
    ]);
    if (!isFirst) await scheduler.step();
    await lab.clock.advance(MINUTE);
    const write = store.cron.write.bind(store.cron);
    store.cron.write = async (writes: readonly CronWrite[]) => {
      store.cron.write = write;
      carry(scheduler, [minutely({ class: "Fresh" })]);
      return await write(writes);
    };
    await scheduler.step(); // the first definition, or a run
    assertEquals(await classOf(store), "Act");
    await scheduler.step();
    assertEquals(await classOf(store), "Fresh");
    await lab.clock.advance(MINUTE);
    await scheduler.step();
    assertEquals((await queued(store)).at(-1), 2);
  }
});

Deno.test("scheduler: a changed schedule keeps the due runs of the old one, and begins at the change", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  await lab.process(store, [minutely({ every: "10m" })]).scheduler.step();
  await lab.clock.advance(12 * MINUTE);
  const { scheduler } = lab.process(store, [minutely({ every: "7m" })]);
  await scheduler.step();
  assertEquals(await queued(store), [10]);
  const next = (await new Crontab({ store, client: new Client({ store }) }).next("a", 1))[0]!;
  await lab.clock.advance(next - lab.clock.now());
  await scheduler.step();
  assertEquals((await queued(store)).at(-1), (next - NOON) / MINUTE);
});

Deno.test("scheduler: an entry that is switched off or in no configuration is removed with its waiting run; one added at run time stays", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  const { scheduler } = lab.process(store, [minutely(), minutely({ name: "b" })]);
  await scheduler.step();
  await new Crontab({ store, client: new Client({ store }) }).add(minutely({ name: "by hand" }));
  carry(scheduler, [minutely({ enable: false })]);
  await scheduler.step();
  assertEquals((await store.cron.page()).entries.map(({ name }) => name), ["by hand"]);
  await lab.clock.advance(MINUTE);
  await scheduler.step();
  assertEquals((await queued(store)).length, 1);
});

Deno.test("scheduler: an entry that was not loaded for long is loaded when a worker that has it checks", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  const crontab = new Crontab({ store, client: new Client({ store }) });
  const isLoaded = async () => (await crontab.get("a"))!.isLoaded;
  await lab.process(store, [minutely()]).scheduler.step();
  assertEquals(await isLoaded(), true);
  await lab.clock.advance(HOUR);
  assertEquals(await isLoaded(), false);
  await lab.process(store, [minutely()]).scheduler.step();
  assertEquals(await isLoaded(), true);
});

Deno.test("scheduler: an entry of other workers stays, and is removed when no worker has had it for a week", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  await lab.process(store, [minutely()]).scheduler.step();
  const stranger = lab.process(store, []);
  await stranger.scheduler.step();
  await lab.clock.advance(7 * 24 * HOUR);
  await stranger.scheduler.step();
  assertEquals((await store.cron.page()).entries.length, 1);
  assertEquals(await queued(store), []);
  await lab.clock.advance(MINUTE);
  await stranger.scheduler.step();
  assertEquals((await store.cron.page()).entries, []);
});

Deno.test("scheduler: entries return to a store that has lost them, after a delay", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  const { scheduler } = lab.process(store, [minutely()]);
  await scheduler.step();
  const { version } = (await store.cron.page()).entries[0]!;
  await store.cron.write([{ name: "a", version, remove: true }]);
  for (let i = 0; i < 6; i++) {
    await lab.clock.advance(15 * SECOND);
    await scheduler.step();
  }
  assertEquals((await store.cron.page()).entries, []);
  await lab.clock.advance(15 * SECOND);
  await scheduler.step();
  assertEquals((await store.cron.page()).entries.length, 1);
});

Deno.test("scheduler: every worker performs an everyProcess entry, and none does while it is paused", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  const crontab = [minutely({ everyProcess: true, overlap: "skip" })];
  const processes = [lab.process(store, crontab), lab.process(await lab.open(), crontab)];
  const all = async () => {
    for (const { scheduler } of processes) await scheduler.step();
  };
  await all();
  await lab.clock.advance(MINUTE);
  await all();
  assertEquals(processes.map(({ local }) => local.length), [1, 1]);
  assertEquals(await queued(store), []);
  const { retry, dead } = JSON.parse(processes[0]!.local[0]!.payload);
  assertEquals({ retry, dead }, { retry: false, dead: false });
  await lab.clock.advance(MINUTE);
  await all();
  assertEquals(processes.map(({ local }) => local.length), [1, 1], "the one before still runs");
  for (const { local } of processes) local.length = 0;
  const crontabOf = new Crontab({ store, client: new Client({ store }) });
  await crontabOf.pause("a");
  await lab.clock.advance(MINUTE);
  await all();
  assertEquals(processes.map(({ local }) => local.length), [0, 0]);
  await crontabOf.resume("a");
  await lab.clock.advance(15 * SECOND);
  await all();
  await lab.clock.advance(45 * SECOND);
  await all();
  assertEquals(processes.map(({ local }) => local.length), [1, 1]);
});

Deno.test("scheduler: many missed runs are all enqueued, in order", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  const entry = minutely({ every: "1s", catchUp: "all", catchUpWindow: "1d" });
  await lab.process(store, [entry]).scheduler.step();
  await lab.clock.advance(2_500 * SECOND);
  const { scheduler } = lab.process(store, [entry]);
  while (await scheduler.step() === 0);
  const times = await queued(store);
  assertEquals(times.length, 2_500);
  assertEquals(times, times.toSorted((a, b) => a - b));
});

Deno.test("scheduler: an entry that this version can't read is named once, and the others run", async () => {
  await using lab = new Lab();
  const store = await lab.open();
  const future = {
    name: "future",
    version: 0,
    definition: '{"rule":9}',
    state: "{}",
    jobs: [],
    awaited: false,
    records: [],
  };
  await store.cron.write([future]);
  const { scheduler, said } = lab.process(store, [minutely()]);
  for (let i = 0; i < 5; i++) {
    await scheduler.step();
    await lab.clock.advance(15 * SECOND);
  }
  await scheduler.step();
  assertEquals(said.filter((line) => line === "Cron entry skipped: this version can't read it").length, 1);
  assertEquals(await queued(store), [1]);
});

/** Returns the class in the stored definition of the first entry. */
async function classOf(store: Store): Promise<string | undefined> {
  return readDefinition((await store.cron.page()).entries[0]!)?.class;
}
