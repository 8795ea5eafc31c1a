/**
 * The worst cases of the scripts for workers, queues and cron entries, for `scripts.ts`.
 *
 * @module
 */
import { openScratch } from "../../src/store/open.ts";
import { HOUR_MS, workerRecord } from "../store_contract/jobs.ts";
import {
  type Case,
  DEEP,
  fill,
  limitTen,
  newJob,
  newJobs,
  queues,
  type Redis,
  register,
  take,
} from "./scripts_data.ts";
import type { Store } from "../../src/store/admin/store.ts";

let taken: Awaited<ReturnType<typeof take>>;

export const WORKER_CASES: readonly Case[] = [
  {
    script: "readOfflineLeases",
    what: "100 leases of 1,000 of an offline worker",
    prepare: lapse,
    run: ({ store }) => store.jobs.rescue({ worker: "host:1:rescuer", limit: 100, maxRescues: 3 }),
  },
  {
    script: "rescue",
    what: "100 leases to the front of the queue",
    prepare: lapse,
    run: ({ store }) => store.jobs.rescue({ worker: "host:1:rescuer", limit: 100, maxRescues: 3 }),
  },
  {
    script: "note",
    what: "1,000 suspects",
    prepare: takeThousand,
    run: ({ store }) =>
      store.workers.note(taken.worker, { running: { tokens: taken.leases.map(({ token }) => token), alone: false } }),
  },
  {
    script: "deregister",
    what: "a worker with 1,000 leases",
    prepare: takeThousand,
    run: ({ store }) => store.workers.deregister(taken.worker),
  },
  {
    script: "reconcileLeases",
    what: "a worker with 1,000 leases, after its connection broke",
    prepare: takeThousand,
    run: async ({ server, store }) => {
      await server.cli("CLIENT", "KILL", "TYPE", "normal");
      await store.admin.stats();
      await store.jobs.take({ queues: [DEEP], limit: 1, worker: taken.worker });
    },
  },
  {
    script: "stillLeased",
    what: "1,000 leases",
    prepare: takeThousand,
    run: ({ store }) => store.jobs.stillLeased(taken.worker, taken.leases.map(({ token }) => token)),
  },
  {
    script: "heartbeat",
    what: "a worker with 1,000 running jobs",
    run: ({ store }) =>
      store.workers.heartbeat(
        workerRecord("host:1:busy", {
          work: newJobs(1_000).map(({ queue, payload }, i) => ({
            task: `processor-${i}`,
            queue,
            payload,
            since: 1e12,
          })),
        }),
        HOUR_MS,
      ),
  },
  {
    script: "stats",
    what: "10,000 queues, 10 of them limited, and 100 workers",
    prepare: async (redis) => {
      await limitTen(redis);
      await fill(
        redis.server,
        10_000,
        `redis.call('SADD', 'queues', 'queue-' .. n)
        redis.call('LPUSH', 'queue:queue-' .. n, payload(n)) redis.call('LTRIM', 'queue:queue-' .. n, 0, 9)`,
      );
      for (let i = 0; i < 100; i++) await register(redis, `host:${i}:worker`);
    },
    run: ({ store }) => store.admin.stats(),
  },
  {
    script: "readQueueRows",
    what: "500 of 10,000 queues, 10 of them limited",
    prepare: limitTen,
    run: ({ store }) => store.admin.stats(),
  },
  {
    script: "readBlockedQueues",
    what: "11 queues, 10 of them limited",
    prepare: limitTen,
    run: async ({ store }) => {
      await store.jobs.enqueue([newJob(1, { queue: "queue-999" })]);
      await store.watch({ work: [...queues(10), "queue-999"] }, AbortSignal.timeout(5_000));
    },
  },
  {
    script: "limitQueue",
    what: "a queue, with 10,000 leases of 100 workers",
    prepare: (redis) => lease(redis, 10_000),
    run: ({ store }) => store.admin.configure("limited", { limit: { running: 10 } }),
  },
  {
    script: "limitQueue",
    what: "a queue, with 100,000 leases of 100 workers",
    prepare: (redis) => lease(redis, 100_000),
    run: ({ store }) => store.admin.configure("limited", { limit: { running: 10 } }),
  },
  {
    script: "countLeases",
    what: "100,000 leases of 100 workers, in groups",
    prepare: (redis) => lease(redis, 100_000, "grouped|acme"),
    run: ({ store }) => store.admin.configure("grouped", { eachGroup: true, limit: { running: 10 } }),
  },
  {
    script: "hasQueuedJobs",
    what: "1,000 queues",
    run: ({ store }) => store.jobs.hasQueuedJobs(queues(1_000)),
  },
  {
    script: "cronRead",
    what: "1,000 entries, all configured",
    prepare: ({ store }) => writeCron(store, 1_000),
    run: async ({ store }) => {
      const { entries } = await store.cron.page();
      await store.cron.survey(entries.map(({ name }) => name));
    },
  },
  {
    script: "cronWrite",
    what: "1,000 entries, each with a job",
    run: async ({ store }) => await writeCron(store, 1_000),
  },
  {
    script: "cronWrite",
    what: "the removal of an entry",
    prepare: ({ store }) => writeCron(store, 1),
    run: async ({ store }) => {
      const [entry] = (await store.cron.read(["entry-0"])).entries;
      await store.cron.write([{ ...entry!, remove: true }]);
    },
  },
  {
    script: "declareClasses",
    what: "1,000 classes, 5,000 known",
    prepare: ({ store }) => store.classes.declare(classes(5_000)),
    run: ({ store }) => store.classes.declare(classes(1_000)),
  },
  {
    script: "recordMetrics",
    what: "1,000 classes",
    run: ({ store }) =>
      store.series.add(
        "classes",
        classes(1_000).map(({ name }) => ({
          class: name,
          processed: 5,
          failed: 1,
          workedMs: 100,
          histogram: Array(26).fill(1),
        })),
      ),
  },
  {
    script: "claim",
    what: "a lease",
    run: ({ store }) => store.workers.claim("name", "host:1:taker", HOUR_MS),
  },
  { script: "send", what: "a command", run: ({ store }) => store.workers.send("host:1:taker", { verb: "dump" }) },
  { script: "reply", what: "a dump of 1 MB", run: ({ store }) => store.workers.send("id", "x".repeat(1e6)) },
  {
    script: "claimScratch",
    what: "a database with 100,000 records of a bench",
    run: async ({ server }) => {
      await using scratch = await openScratch(server.url, { queue: "bench", warn: () => {} });
      const database = new URL(scratch.url).searchParams.get("db")!;
      for (let from = 0; from < 100_000; from += 20_000) {
        const script = `for n = ${from}, ${from + 19_999} do redis.call('SET', 'jobs:result:' .. n, '{}') end`;
        await server.cli("-n", database, "EVAL", script, "0");
      }
      await server.cli("SLOWLOG", "RESET");
    },
  },
  { script: "pauseQueue", what: "a queue", run: ({ store }) => store.admin.configure("paused", { pause: HOUR_MS }) },
  { script: "forgetQueue", what: "a queue", run: ({ store }) => store.admin.configure("forgotten", { forget: true }) },
];

async function takeThousand(redis: Redis): Promise<void> {
  taken = await take(redis, 1_000);
}

/** Leases of 100 workers. @param name `QUEUE`, or `QUEUE|GROUP` */
async function lease({ server }: Redis, count: number, name = "deep"): Promise<void> {
  await server.cli("DEL", "jobs:workers");
  await fill(
    server,
    count,
    `local worker = 'host:' .. n % 100 .. ':limited'
     redis.call('ZADD', 'jobs:workers', 4e12, worker)
     redis.call('HSET', 'jobs:leases:' .. worker, string.format('%027x-10000:${name}', n), payload(n))`,
  );
}

/** A worker with 1,000 leases goes offline, by the score of its heartbeat. */
async function lapse(redis: Redis): Promise<void> {
  const { worker } = await take(redis, 1_000);
  await register(redis, "host:1:rescuer");
  await redis.server.cli("HSET", "jobs:worker:host:1:rescuer", "since", "1");
  await redis.server.cli("ZADD", "jobs:workers", "1", worker);
}

function classes(count: number): { name: string; options: string }[] {
  return Array.from({ length: count }, (_, i) => ({ name: `Class${i}`, options: '{"queue":"default","retry":5}' }));
}

async function writeCron(store: Store, count: number): Promise<void> {
  const { entries } = await store.cron.page();
  const versions = new Map(entries.map(({ name, version }) => [name, version]));
  await store.cron.write(Array.from({ length: count }, (_, i) => ({
    name: `entry-${i}`,
    version: versions.get(`entry-${i}`) ?? 0,
    definition: '{"cron":"* * * * *","class":"HardJob"}',
    state: "{}",
    jobs: [newJob(i)],
    awaited: false,
    records: ["{}"],
  })));
}
