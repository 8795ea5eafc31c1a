/**
 * Cron entries: their state changes together with the jobs that follow, or not at all.
 *
 * @module
 */
import { receiveCommands } from "../../src/store/ops/await.ts";
import { assert, assertAlmostEquals, assertEquals, assertNotEquals } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { systemClock } from "../../src/clock.ts";
import { getField, readWireTime } from "../../src/job/raw.ts";
import type { Place } from "../../src/store/port/entries.ts";
import { CLAIM_MS, type CronPageRequest, type CronWrite, type StoredCron } from "../../src/store/port/cron.ts";
import { MAX_CRON_RECORDS } from "../../src/store/port/logs.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import { type Cases, SLACK_MS } from "./harness.ts";
import {
  doom,
  entries,
  HOUR_MS,
  jid,
  job,
  logTexts,
  numbersIn,
  register,
  takeUpTo,
  woken,
  workerRecord,
} from "./jobs.ts";
import { openStore } from "../../src/store/open.ts";
import { migrateStore } from "../../src/store/ops/migrate/migrate.ts";
import type { ServerStore } from "../../src/store/port/store.ts";
import { cancelElsewhere, cancelJob } from "../../src/store/ops/cancel.ts";

const NIGHTLY = "nightly report";
const DEFAULT: Place = { in: "queue", queue: "default" };

/** Returns a change of an entry that doesn't exist yet, unless `more` says otherwise. */
function change(more: Partial<CronWrite> = {}): CronWrite {
  const definition = (more.version ?? 0) === 0 ? { definition: "d0" } : {};
  return { name: NIGHTLY, version: 0, state: "s0", jobs: [], awaited: false, records: [], ...definition, ...more };
}

/** Writes one change, and returns the new version. */
async function write(store: ServerStore, more: Partial<CronWrite> = {}): Promise<number> {
  const [version] = await store.cron.write([change(more)]);
  assert(version !== undefined, "it had moved on");
  return version;
}

/** Returns the stored entry. */
async function read(store: ServerStore, name = NIGHTLY): Promise<StoredCron | undefined> {
  return (await store.cron.read([name])).entries[0];
}

/** Writes an entry whose live job is the first one. */
async function withLive(store: ServerStore, awaited = false): Promise<void> {
  await write(store, { jobs: [job(1)], awaited });
}

/** Ends the only job. */
async function settle(store: ServerStore, make: (token: string) => Outcome): Promise<void> {
  const worker = await register(store);
  const [lease] = await takeUpTo(store, worker, 1);
  assertEquals((await store.jobs.settle(worker, [make(lease!.token)])).lost, []);
}

export const cron: Cases = {
  "an entry is read as it was written, and is seen now": async (open) => {
    await using t = await open();
    const version = await write(t.store, { definition: '{"é":1}', state: "{}" });
    const { now, entries } = await (await t.another()).cron.page();
    assertAlmostEquals(now, t.now(), SLACK_MS);
    const [{ seenAt, ...entry }] = entries as [StoredCron];
    assertEquals(entry, {
      ...{ name: NIGHTLY, version, definition: '{"é":1}', state: "{}", live: undefined },
      ...{ shared: false, tags: [], next: undefined },
    });
    assertAlmostEquals(seenAt, t.now(), SLACK_MS);
  },

  "reads all entries by name, or some": async (open) => {
    await using t = await open();
    for (const name of ["b", "a", "c"]) await write(t.store, { name });
    const names = async (some?: string[]) =>
      (some ? await t.store.cron.read(some) : await t.store.cron.page()).entries.map((entry) => entry.name);
    assertEquals(await names(), ["a", "b", "c"]);
    assertEquals(await names(["c", "none", "a"]), ["c", "a"]);
    assertEquals(await names([]), []);
  },

  "a state and its jobs appear together, in order, with the enqueue time": async (open) => {
    await using t = await open();
    const first = await write(t.store);
    const second = await write(t.store, { version: first, state: "s1", jobs: [job(1), job(2, { queue: "mail" })] });
    const { version, definition, state, live } = (await read(t.store))!;
    assertEquals({ version, definition, state, live }, {
      version: second,
      definition: "d0",
      state: "s1",
      live: jid(2),
    });
    assert(second > first);
    assertEquals(await numbersIn(t.store, { in: "queue", queue: "mail" }), [2]);
    const [entry] = await entries(t.store, DEFAULT);
    assertAlmostEquals(readWireTime(getField(entry!.payload, "enqueued_at"))!, t.now(), SLACK_MS);
    assertEquals((await t.store.admin.stats()).queues.map((queue) => queue.name), ["default", "mail"]);
  },

  "a write of a changed entry changes nothing, and others of the call are written": async (open) => {
    await using t = await open();
    const old = await write(t.store);
    const now = await write(t.store, { version: old, state: "s1" });
    const records = ["{}"];
    const results = await t.store.cron.write([
      change({ version: old, state: "late", jobs: [job(1)], records }),
      change({ version: 0, state: "new", jobs: [job(2)], records }),
      change({ name: "other", version: 7, jobs: [job(3)], records }),
      change({ name: "other", jobs: [job(4)] }),
    ]);
    assertEquals(results.slice(0, 3), [undefined, undefined, undefined]);
    assertEquals((await read(t.store))!.state, "s1");
    assertEquals((await read(t.store))!.version, now);
    assertEquals(await numbersIn(t.store, DEFAULT), [4]);
    assertEquals(await logTexts(t.store, `cron:${NIGHTLY}`, 10), []);
  },

  "one of several concurrent writes of the same version succeeds": async (open) => {
    await using t = await open();
    const version = await write(t.store);
    const others = [t.store, await t.another(), await t.another()];
    const writes = Array.from(
      { length: 12 },
      (_, i) => others[i % others.length]!.cron.write([change({ version, state: `by ${i}`, jobs: [job(i)] })]),
    );
    const results = (await Promise.all(writes)).map(([result]) => result);
    const winner = results.findIndex((result) => result !== undefined);
    assertEquals(results.filter((result) => result !== undefined).length, 1);
    assertEquals(await numbersIn(t.store, DEFAULT), [winner]);
    assertEquals((await read(t.store))!.state, `by ${winner}`);
  },

  "a write without a job keeps the live job": async (open) => {
    await using t = await open();
    await withLive(t.store);
    await write(t.store, { version: (await read(t.store))!.version, state: "s1" });
    assertEquals((await read(t.store))!.live, jid(1));
  },

  "the live job of an entry from another store is the one that the write names, until it ends": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([job(1)]);
    await write(t.store, { live: jid(1), awaited: true });
    assertEquals((await read(t.store))!.live, jid(1));
    await settle(t.store, (token) => ({ kind: "ack", token, jid: jid(1), occurrence: NIGHTLY }));
    assertEquals((await read(t.store))!.live, undefined);
    await write(t.store, { version: (await read(t.store))!.version, live: jid(1), jobs: [job(2)] });
    assertEquals((await read(t.store))!.live, jid(2));
  },

  "the live job ends when it is acknowledged, discarded or buried, with a new version": async (open) => {
    for (const kind of ["ack", "discard", "bury"] as const) {
      await using t = await open();
      await withLive(t.store);
      const before = (await read(t.store))!;
      assertEquals(before.live, jid(1));
      const { payload } = job(1);
      await settle(t.store, (token) => ({ kind, token, payload, jid: jid(1), occurrence: NIGHTLY }));
      const after = (await read(t.store))!;
      assertEquals(after.live, undefined, kind);
      assertNotEquals(after.version, before.version);
      assertEquals(await t.store.cron.write([change({ version: before.version })]), [undefined]);
    }
  },

  "the live job stays while it retries, snoozes or is released": async (open) => {
    for (const kind of ["retry", "snooze", "release"] as const) {
      await using t = await open();
      await withLive(t.store);
      await settle(t.store, (token) => ({ kind, token, delayMs: HOUR_MS, payload: job(1).payload }));
      assertEquals((await read(t.store))!.live, jid(1), kind);
    }
  },

  "the live job stays through rescues until it is doomed and buried": async (open) => {
    await using t = await open();
    await withLive(t.store);
    const { worker, token, payload } = await doom(t);
    assertEquals((await read(t.store))!.live, jid(1));
    await t.store.jobs.settle(worker, [{ kind: "bury", token, payload, jid: jid(1), occurrence: NIGHTLY }]);
    assertEquals((await read(t.store))!.live, undefined);
  },

  "the live job ends when it is deleted or killed": async (open) => {
    for (const edit of ["delete", "kill"] as const) {
      await using t = await open();
      await withLive(t.store);
      const [entry] = await entries(t.store, DEFAULT);
      assertEquals(await t.store.jobs.edit([entry!.ref], edit), 1);
      assertEquals((await read(t.store))!.live, undefined, edit);
    }
  },

  "a lost outcome and the end of an earlier job keep the live job": async (open) => {
    await using t = await open();
    await withLive(t.store);
    const worker = await register(t.store);
    const [lease] = await takeUpTo(t.store, worker, 1);
    const end = { kind: "ack", jid: jid(1), occurrence: NIGHTLY } as const;
    await t.store.jobs.settle(worker, [{ ...end, token: "nonsense" }]);
    assertEquals((await read(t.store))!.live, jid(1));
    await write(t.store, { version: (await read(t.store))!.version, jobs: [job(2)] });
    await t.store.jobs.settle(worker, [{ ...end, token: lease!.token }]);
    assertEquals((await read(t.store))!.live, jid(2));
  },

  "the history has the latest 100 records, newest first": async (open) => {
    await using t = await open();
    const records = Array.from({ length: MAX_CRON_RECORDS }, (_, i) => `${i}`);
    const version = await write(t.store, { records });
    await write(t.store, { version, records: ["new", "newest"] });
    await write(t.store, { name: "other", records: ["of another"] });
    assertEquals(await logTexts(t.store, `cron:${NIGHTLY}`, 3), ["newest", "new", `${MAX_CRON_RECORDS - 1}`]);
    const all = await logTexts(t.store, `cron:${NIGHTLY}`, 1_000);
    assertEquals([all.length, all.at(-1)], [MAX_CRON_RECORDS, "2"]);
    assertEquals(await logTexts(t.store, "cron:none", 10), []);
  },

  "removes the version that was read with its history, and a later entry of the name has another version": async (
    open,
  ) => {
    await using t = await open();
    const version = await write(t.store, { records: ["{}"], jobs: [job(1)] });
    const remove = (version: number) => t.store.cron.write([{ name: NIGHTLY, version, remove: true }]);
    assertEquals(await remove(version + 1), [undefined]);
    assertEquals(await remove(version), [version]);
    assertEquals(await remove(version), [undefined]);
    assertEquals((await t.store.cron.page()).entries, []);
    assertEquals(await numbersIn(t.store, DEFAULT), [1]);
    const again = await write(t.store);
    assert(again > version);
    assertEquals(await logTexts(t.store, `cron:${NIGHTLY}`, 10), []);
    assertEquals((await read(t.store))!.live, undefined);
    await settle(t.store, (token) => ({ kind: "ack", token, jid: jid(1), occurrence: NIGHTLY }));
    assertEquals((await read(t.store))!.version, again, "the job of the removed entry doesn't belong to it");
  },

  "an entry is seen when a worker carries or defines it, not by other writes": async (open) => {
    await using t = await open();
    const first = await write(t.store);
    t.advance(HOUR_MS);
    const second = await write(t.store, { version: first, state: "s1" });
    assertAlmostEquals((await read(t.store))!.seenAt, t.now() - HOUR_MS, SLACK_MS);
    const { entries } = await t.store.cron.survey([NIGHTLY, "none"]);
    assertEquals(entries.map(({ name, version }) => [name, version]), [[NIGHTLY, second]]);
    assertAlmostEquals(entries[0]!.seenAt, t.now(), SLACK_MS);
    t.advance(HOUR_MS);
    await write(t.store, { version: second, definition: "d1" });
    assertAlmostEquals((await read(t.store))!.seenAt, t.now(), SLACK_MS);
  },

  "a claim returns the shared entries that are due, and no other does until they are written or some seconds have passed":
    async (open) => {
      await using t = await open();
      const at = t.now();
      const shared = { shared: true, definition: "d" };
      await t.store.cron.write([
        ...["a", "b", "c"].map((name, i) => change({ name, ...shared, next: at - 1_000 + i })),
        change({ name: "later", ...shared, next: at + HOUR_MS }),
        change({ name: "never", ...shared }),
        change({ name: "own", next: at - 2_000 }),
      ]);
      const other = await t.another();
      const claim = async (store: ServerStore, limit = 10) => (await store.cron.claim(limit)).entries;
      const [first, second] = [await claim(t.store, 2), await claim(other)];
      assertEquals(first.map(({ name }) => name).sort(), ["a", "b"]);
      assertEquals(second.map(({ name }) => name), ["c"]);
      assertEquals(await claim(other), []);
      const { name, version } = first[0]!;
      await write(other, { name, version, state: "s1", next: at + 2 * HOUR_MS });
      assertEquals(await t.store.cron.write([change({ name, version, state: "late" })]), [undefined]);
      t.advance(CLAIM_MS + 1_000);
      const again = (await claim(t.store)).map(({ name }) => name).sort();
      assertEquals(again, ["a", "b", "c"].filter((one) => one !== name));
      t.advance(HOUR_MS);
      await claim(t.store);
      const { next } = await t.store.cron.claim(10);
      assertAlmostEquals(next!, t.now() + CLAIM_MS, SLACK_MS);
    },

  "an awaited end makes a shared entry due": async (open) => {
    await using t = await open();
    await write(t.store, { definition: "d", shared: true, next: t.now() + HOUR_MS, jobs: [job(1)], awaited: true });
    assertEquals((await t.store.cron.claim(10)).entries, []);
    await settle(t.store, (token) => ({ kind: "ack", token, jid: jid(1), occurrence: NIGHTLY }));
    assertEquals((await t.store.cron.claim(10)).entries.map(({ name, live }) => [name, live]), [[NIGHTLY, undefined]]);
  },

  "pages have entries by name, prefix and tag, or the next one to run first": async (open) => {
    await using t = await open();
    const at = t.now() + HOUR_MS;
    const names = ["a:1", "a:2", "a:3", "b:1", "é"];
    const writes = names.map((name, i) =>
      change({
        name,
        definition: "d",
        shared: i % 2 === 0,
        tags: i < 2 ? ["x", "y"] : ["y"],
        next: i === 4 ? undefined : at,
      })
    );
    await t.store.cron.write([...writes].reverse());
    const all = async (request: CronPageRequest) => {
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await t.store.cron.page({ ...request, limit: 2, cursor });
        found.push(...page.entries.map(({ name }) => name));
        cursor = page.next;
      } while (cursor !== undefined);
      return found;
    };
    assertEquals(await all({}), names);
    assertEquals(await all({ prefix: "a:" }), ["a:1", "a:2", "a:3"]);
    assertEquals(await all({ tag: "x" }), ["a:1", "a:2"]);
    assertEquals(await all({ tag: "y", prefix: "b" }), ["b:1"]);
    assertEquals(await all({ sort: "next" }), names);
    const { version } = (await read(t.store, "a:1"))!;
    await write(t.store, { name: "a:1", version, definition: "d", shared: true, tags: ["z"], next: at + 1 });
    assertEquals(await all({ tag: "x" }), ["a:2"]);
    assertEquals(await all({ tag: "z" }), ["a:1"]);
    assertEquals(await all({ sort: "next" }), ["a:2", "a:3", "b:1", "a:1", "é"]);
    const entry = (await read(t.store, "a:2"))!;
    await t.store.cron.write([{ name: "a:2", version: entry.version, remove: true }]);
    assertEquals([await all({ tag: "x" }), await all({ prefix: "a" })], [[], ["a:1", "a:3"]]);
  },

  "bounds and tags of an entry survive another connection, an edit and a migration": async (open) => {
    await using t = await open();
    const crontab = (store: ServerStore) =>
      new Crontab({ store, client: new Client({ store, onUnregistered: () => {} }) });
    const input = {
      ...{ name: NIGHTLY, rule: "0 9 * * *", timezone: "Europe/London", class: "HardJob", tags: ["reports"] },
      ...{ start: "2099-03-28T00:00:00Z", count: 3, spread: "10m" },
    };
    await crontab(t.store).add(input);
    const [first] = await crontab(t.store).next(NIGHTLY, 1);
    // One run is before a change of clocks, and two are after it.
    const times = [0, 23, 47].map((hours) => first! + hours * HOUR_MS);
    const check = async (store: ServerStore) => {
      assertEquals(await crontab(store).next(NIGHTLY, 10), times);
      assertEquals((await store.cron.page({ tag: "reports" })).entries.map(({ name, next }) => [name, next]), [
        [NIGHTLY, first],
      ]);
    };
    const other = await t.another();
    await check(other);
    await crontab(other).add({ ...input, memo: "for Ann" }, { replace: true });
    await check(t.store);
    await using target = await openStore("sqlite::memory:");
    await migrateStore(t.store, target);
    await check(target);
    assertEquals((await t.store.cron.page()).entries, []);
    await migrateStore(target, t.store);
    await check(t.store);
  },

  "a survey has the entries that aren't shared, and how late an entry was written": async (open) => {
    await using t = await open();
    const version = await write(t.store);
    await write(t.store, { name: "shared", shared: true });
    const { now, latest, entries } = await t.store.cron.survey([]);
    assertEquals(entries.map(({ name, version }) => [name, version]), [[NIGHTLY, version]]);
    assert(latest >= now - SLACK_MS, "an earlier store here may have been ahead");
  },

  "to plan again makes all shared entries due": async (open) => {
    await using t = await open();
    await write(t.store, { definition: "d", shared: true, next: t.now() + HOUR_MS });
    assertEquals((await t.store.cron.claim(10)).entries, []);
    await t.store.cron.replan();
    assertEquals((await t.store.cron.claim(10)).entries.map(({ name }) => name), [NIGHTLY]);
  },

  "wait resolves on a definition by any connection, and on a removal": async (open) => {
    await using t = await open();
    const other = await t.another();
    await t.store.cron.survey([]);
    await woken((signal) => t.store.watch("cron", signal), () => write(other));
    await t.store.cron.survey([]);
    const { version } = (await read(t.store))!;
    await woken((signal) => t.store.watch("cron", signal), () => write(t.store, { version, definition: "d1" }));
    await t.store.cron.survey([]);
    const entry = (await read(t.store))!;
    await woken((signal) => t.store.watch("cron", signal), () => other.cron.write([{ ...entry, remove: true }]));
  },

  "wait resolves on the end of an awaited job": async (open) => {
    await using t = await open();
    await withLive(t.store, true);
    await t.store.cron.survey([]);
    const other = await t.another();
    await woken(
      (signal) => t.store.watch("cron", signal),
      () => settle(other, (token) => ({ kind: "ack", token, jid: jid(1), occurrence: NIGHTLY })),
    );
  },

  "wait ignores changes that don't concern others, and resolves when it is aborted": async (open) => {
    await using t = await open();
    await withLive(t.store);
    await t.store.cron.survey([]);
    const enough = new AbortController();
    let ended = 0;
    const wait = () => t.store.watch("cron", enough.signal).then(() => ended++);
    const waiting = [wait()];
    await write(t.store, { version: (await read(t.store))!.version, state: "s1", records: ["{}"] });
    await settle(t.store, (token) => ({ kind: "ack", token, jid: jid(1), occurrence: NIGHTLY }));
    // A wait looks when it begins, and replies come in the order of the calls: a change that was announced would end it.
    waiting.push(wait());
    await logTexts(t.store, `cron:${NIGHTLY}`, 1);
    await systemClock.turn();
    assertEquals(ended, 0);
    enough.abort();
    await Promise.all(waiting);
  },

  "wait resolves on a change between the read and the wait": async (open) => {
    await using t = await open();
    await t.store.cron.survey([]);
    await write(await t.another());
    await woken((signal) => t.store.watch("cron", signal), () => Promise.resolve());
  },

  "cancel removes a waiting job and wakes waiters, and sends a running job's worker a command": async (open) => {
    await using t = await open();
    await withLive(t.store);
    await cancelJob(t.store, jid(1), t.now());
    assertEquals(await entries(t.store, DEFAULT), []);
    const { version, live } = (await read(t.store))!;
    assertEquals(live, undefined);
    const ended = JSON.parse((await t.store.results.read({ jids: [jid(1)] })).records[0]!);
    assertEquals([ended.state, ended.class, ended.payload.jid], ["cancelled", "HardJob", jid(1)]);
    assertAlmostEquals(ended.endedAt, t.now(), SLACK_MS);

    await write(t.store, { version, jobs: [job(2)] });
    const worker = "host:1:aaaaaaaaaaaa";
    await t.store.workers.heartbeat(workerRecord(worker), 60_000);
    await takeUpTo(t.store, worker);
    const commands = await woken((signal) => receiveCommands(t.store, worker, signal), async () => {
      assertEquals(
        await cancelElsewhere(t.store, jid(2), worker, t.now()),
        false,
        "no command to the worker that cancels",
      );
      assertEquals(await cancelElsewhere(t.store, jid(2), "host:2:bbbbbbbbbbbb", t.now()), true);
    });
    assertEquals(commands.map(({ verb, jid }) => [verb, jid]), [["cancel", jid(2)]]);
    assertEquals((await read(t.store))!.live, jid(2));
  },
};
