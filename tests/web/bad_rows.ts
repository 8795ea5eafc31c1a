/**
 * A store with two rows of everything, for tests that damage one of them.
 *
 * @module
 */
import { recordEvent } from "../../src/store/admin/audit.ts";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { endedText } from "../../src/job/result.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { bury, fail, push, workerRecord } from "./site.ts";

/** Fills a store. Each good row contains `good`, each row to damage `evil`; both have a jid of that name, with a suffix. */
export async function fillStore(store: Store): Promise<void> {
  const client = new Client({ store, onUnregistered: () => {} });
  const crontab = new Crontab({ store, client });
  await store.classes.declare(["Good", "Evil"].map((name) => ({ name, options: '{"retry":3}' })));
  for (const name of ["good", "evil"]) {
    const worker = `${name}:7:abc`;
    const payload = (jid: string) => ({ class: "Hard", args: [1], jid, queue: name });
    const work = [{ task: "p", queue: name, payload: JSON.stringify(payload(`${name}-w`)), since: 1 }];
    await store.workers.heartbeat(
      workerRecord(worker, {
        work,
        busy: 1,
        queues: [name],
        weights: { [name]: 0 },
        totals: { Hard: { succeeded: 1, failed: 0, workedMs: 5 } as never },
      }),
      3_600_000,
    );
    // One job with steps that sleeps, one that is running, one that has succeeded.
    for (const part of ["sleeps", "runs", "ended"]) await push(store, `${name}-${part}`, { queue: `${name}-x` });
    const leases = await store.jobs.take({ queues: [`${name}-x`], limit: 3, worker });
    for (const { token, payload } of leases) {
      const { jid } = JSON.parse(payload);
      const lease = { worker, token, jid };
      if (jid === `${name}-runs`) continue;
      if (jid === `${name}-ended`) {
        const record = {
          jid,
          ttlMs: 3_600_000,
          body: endedText(
            {
              jid,
              class: "Hard",
              queue: name,
              state: "succeeded",
              attempt: 1,
              startedAt: Date.now() - 5,
              endedAt: Date.now(),
              elapsedMs: 5,
              worker,
              payload: JSON.parse(payload),
            } as never,
          ),
        };
        await store.jobs.settle(worker, [{ kind: "ack", token, jid, record } as never]);
        continue;
      }
      for (const step of ["good", "evil"]) {
        const state = `{"state":"succeeded","since":1,"ended":2,"kind":"step","attempts":1,"value":1}`;
        await store.steps.remember(lease, { name: `${step}-step`, record: state });
      }
      await store.steps.wait(lease, {
        name: "evil-wait",
        about: `"kind":"wait","key":"k"`,
        forMs: 3_600_000,
        key: "k",
      });
      const marked = JSON.stringify({ ...JSON.parse(payload), has_steps: true });
      await store.jobs.settle(worker, [
        { kind: "snooze", token, jid, steps: true, delayMs: 3_600_000, payload: marked } as never,
      ]);
    }
    await push(store, `${name}-queued`, { queue: name });
    await push(store, `${name}-later`, { queue: name }, 3_600_000);
    await fail(store, `${name}-retry`);
    await bury(store, `${name}-dead`);
    await store.jobs.enqueue([{
      jid: `${name}-g`,
      queue: "grouped",
      group: name,
      payload: JSON.stringify({ ...payload(`${name}-g`), queue: "grouped", group: name }),
    }]);
    await store.admin.configure(name, { limit: { running: 2, starts: { count: 5, perMs: 1_000 } } } as never);
    await store.admin.configure("grouped", { group: name, limit: { running: 1 } } as never);
    await store.admin.configure("grouped", { group: name, pause: 3_600_000 });
    await store.admin.configure(`${name}-paused`, { pause: 3_600_000 });
    await store.admin.configure(`${name}-stopped`, { pause: true });
    await crontab.add({ name, every: "1h", class: "Hard", queue: `${name}-cron` });
    await crontab.run(name);
    await client.batch({ name: `${name}-batch`, success: { class: "Hard" } } as never, async (add) => {
      await add({ class: "Hard", args: [], queue: `${name}-b` } as never);
    });
    await client.flow(`${name}-flow`, {
      [`${name}-one`]: { job: { class: "Hard", args: [], queue: `${name}-f` } },
      [`${name}-two`]: { job: { class: "Hard", args: [], queue: `${name}-f` }, after: `${name}-one` },
    } as never);
    await recordEvent(store, { user: name, by: "token", from: "x", action: "retry", target: `${name}-target` });
    await store.steps.signal({ key: `${name}-kept`, data: "1", ttlMs: 3_600_000 });
  }
  await store.series.add("queues", ["good", "evil"].map((queue) => ({ queue, size: 3, latencyMs: 5 })));
  await store.series.add(
    "classes",
    ["good", "evil"].map((name) => ({
      class: name,
      processed: 2,
      failed: 1,
      workedMs: 5,
      histogram: Array.from({ length: 26 }, () => 1),
    })) as never,
  );
}

/** Every page and every route of the API that reads the store. */
export const READS: readonly string[] = [
  "/",
  "/running",
  "/queued",
  "/queued/good",
  "/queued/evil",
  "/queues",
  "/queues/good",
  "/queues/evil",
  "/queues/grouped",
  "/scheduled",
  "/signals",
  "/retrying",
  "/dead",
  "/finished",
  "/batches",
  "/flows",
  "/cron",
  "/cron/good",
  "/cron/evil",
  "/cron/evil/edit",
  "/classes",
  "/classes/Hard",
  "/workers",
  "/audit",
  "/settings",
  "/push",
  "/metrics",
  "/search?q=evil",
  ...["w", "sleeps", "runs", "ended", "queued", "later", "retry", "dead", "g"].flatMap((part) => [
    `/jobs/evil-${part}`,
    `/api/v1/jobs/evil-${part}`,
    `/api/v1/jobs/evil-${part}/steps`,
  ]),
  "/jobs/evil-dead/edit",
  "/api/v1/jobs/evil-ended/result",
  ...["queued", "scheduled", "retrying", "dead", "running"].map((state) => `/api/v1/jobs?in=${state}`),
  "/api/v1/signals",
  "/api/v1/finished",
  "/api/v1/stats",
  "/api/v1/history",
  "/api/v1/audit",
  "/api/v1/queues",
  "/api/v1/queues/grouped/groups",
  "/api/v1/workers",
  "/api/v1/classes",
  "/api/v1/cron",
  "/api/v1/cron/good",
  "/api/v1/cron/evil",
  "/api/v1/batches",
  "/api/v1/flows",
];
