/**
 * The findings of alerts and `jobs doctor` on real stores: incidents that unfold over minutes of the store's clock.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { systemClock } from "../../src/clock.ts";
import type { Alert } from "../../src/operator/alerts/alert.ts";
import { alertsOf } from "../../src/operator/alerts/alerts.ts";
import { readSituation, sampleOf, type SituationSource } from "../../src/operator/alerts/situation.ts";
import type { RunningJobRecord } from "../../src/store/port/workers.ts";
import type { Cases, TestStore } from "./harness.ts";
import { job, jobs, TTL_MS, workerRecord } from "./jobs.ts";

/** Returns the state. */
async function situationOf(t: TestStore, more: Partial<SituationSource> = {}) {
  const { now } = await t.store.admin.health();
  return await readSituation({ store: t.store, clock: { ...systemClock, now: () => now }, classes: [], ...more });
}

async function findingsOf(t: TestStore, more: Partial<SituationSource> = {}): Promise<Alert[]> {
  return alertsOf(await situationOf(t, more));
}

function running(name: string, queue: string, since: readonly number[]): RunningJobRecord[] {
  return since.map((at, i) => ({
    task: `processor-${i + 1}`,
    queue,
    payload: JSON.stringify({ class: name, jid: `${name}${i}` }),
    since: at,
  }));
}

export const findings: Cases = {
  "explains the queues of a worker by its hung jobs, in one finding": async (open) => {
    await using t = await open();
    await t.store.jobs.enqueue([...jobs(1, 3, { queue: "hang" }), ...jobs(4, 9, { queue: "mail" })]);
    const work = running("Hang", "hang", [1, 2, 3, 4, 5].map((second) => t.now() + second * 1_000));
    t.advance(290_000);
    const [hung, other] = ["hang:1:a", "free:1:b"].map((id) =>
      workerRecord(id, { queues: ["mail", "hang"], concurrency: 5 })
    ) as [ReturnType<typeof workerRecord>, ReturnType<typeof workerRecord>];
    await t.store.workers.heartbeat({ ...hung, busy: 5, work }, TTL_MS);
    await t.store.workers.heartbeat(other, TTL_MS);
    const [found, ...others] = await findingsOf(t);
    assertEquals(others, []);
    assertMatch(found!.title, /^Queue "hang": its 5 running jobs have not ended for \d+m/);
    assertMatch(
      found!.detail!,
      /The longest: Hang Hang0 has run for .* Queue "mail" is \d+m\S* behind \(6 jobs waiting\)/,
    );
    assertEquals(found!.command, "jobs dump hang:1:a");
  },

  "names a worker whose clock differs from the store's": async (open) => {
    await using t = await open();
    const { now } = await t.store.admin.health();
    await t.store.workers.heartbeat(workerRecord("right:1:a", { clockAt: now }), TTL_MS);
    assertEquals(await findingsOf(t), []);
    await t.store.workers.heartbeat(workerRecord("slow:1:b", { hostname: "slow", clockAt: now - 720_000 }), TTL_MS);
    const [found, ...others] = await findingsOf(t);
    assertMatch(found!.title, /^The clock of a worker is 12m\S* behind the store's$/);
    assertMatch(found!.detail!, /^slow 12m/);
    assertEquals(others, []);
  },

  "states how many jobs come to a queue and leave it": async (open) => {
    await using t = await open();
    const worker = "w:1:a";
    await t.store.workers.heartbeat(workerRecord(worker), TTL_MS);
    await t.store.jobs.enqueue(jobs(1, 100));
    t.advance(120_000);
    await t.store.workers.heartbeat(workerRecord(worker), TTL_MS);
    const before = sampleOf(await t.store.admin.stats(), (await t.store.admin.health()).now);
    t.advance(30_000);
    const leases = await t.store.jobs.take({ queues: ["default"], limit: 20, worker });
    await t.store.jobs.settle(worker, leases.map(({ token }) => ({ kind: "ack" as const, token })));
    await t.store.jobs.enqueue(jobs(101, 150));
    const { rates } = (await situationOf(t, { samples: [before] })).backlogs.get("default")!;
    const seconds = rates!.overMs / 1_000;
    assertEquals([rates!.in * seconds, rates!.out * seconds].map(Math.round), [50, 20]);
  },

  "names the group that floods a queue, and the limit of it": async (open) => {
    await using t = await open();
    const grouped = (n: number, group: string) =>
      job(n, { group, payload: job(n).payload.replace("{", `{"group":"${group}",`) });
    await t.store.jobs.enqueue(jobs(1, 40).map((_, i) => grouped(i + 1, "acme")));
    t.advance(60_000);
    await t.store.jobs.enqueue([grouped(41, "bob"), grouped(42, "bob")]);
    await t.store.workers.heartbeat(workerRecord("w:1:a"), TTL_MS);
    const [found] = await findingsOf(t);
    assertMatch(found!.title, /^Queue "default" is 1m\S* behind \(42 jobs waiting\)/);
    assertMatch(found!.detail!, /^40 of 42 are of group acme; the others wait \d+(\.\d+)?m?s\./);
    assertEquals(found!.command, "jobs limit default --group acme --running 5");
  },
};
