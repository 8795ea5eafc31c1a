/**
 * The worst cases of the scripts for workers, queues and the crontab, for `scripts.ts`.
 *
 * @module
 */
import { openScratch } from "../../src/store/open_scratch.ts";
import type { OpenStore } from "../../src/store/open.ts";
import { HOUR_MS, processRecord } from "../store_contract/jobs.ts";
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

let taken: Awaited<ReturnType<typeof take>>;

export const WORKER_CASES: readonly Case[] = [
  {
    script: "orphans",
    what: "100 leases of 1,000 of an offline worker",
    prepare: lapse,
    run: ({ store }) => store.rescue({ owner: "host:1:rescuer", limit: 100, maxRescues: 3 }),
  },
  {
    script: "rescue",
    what: "100 leases to the front of the queue",
    prepare: lapse,
    run: ({ store }) => store.rescue({ owner: "host:1:rescuer", limit: 100, maxRescues: 3 }),
  },
  {
    script: "suspects",
    what: "1,000 suspects",
    prepare: takeThousand,
    run: ({ store }) =>
      store.noteSuspects(taken.owner, { tokens: taken.leases.map(({ token }) => token), alone: false }),
  },
  { script: "death", what: "a worker", run: ({ store }) => store.noteDeath("host:1:taker", "killed by signal 9") },
  {
    script: "deregister",
    what: "a worker with 1,000 leases",
    prepare: takeThousand,
    run: ({ store }) => store.deregister(taken.owner),
  },
  {
    script: "reconcile",
    what: "a worker with 1,000 leases, after its connection broke",
    prepare: takeThousand,
    run: async ({ server, store }) => {
      await server.cli("CLIENT", "KILL", "TYPE", "normal");
      await store.stats();
      await store.take({ queues: [DEEP], limit: 1, owner: taken.owner });
    },
  },
  {
    script: "held",
    what: "1,000 leases",
    prepare: takeThousand,
    run: ({ store }) => store.held(taken.owner, taken.leases.map(({ token }) => token)),
  },
  {
    script: "beat",
    what: "a worker with 1,000 running jobs",
    run: ({ store }) =>
      store.beat(
        processRecord("host:1:busy", {
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
    run: ({ store }) => store.stats(),
  },
  {
    script: "queues",
    what: "500 of 10,000 queues, 10 of them limited",
    prepare: limitTen,
    run: ({ store }) => store.stats(),
  },
  {
    script: "closed",
    what: "11 queues, 10 of them limited",
    prepare: limitTen,
    run: async ({ store }) => {
      await store.enqueue([newJob(1, { queue: "queue-999" })]);
      await store.waitForWork([...queues(10), "queue-999"], AbortSignal.timeout(5_000));
    },
  },
  {
    script: "limit",
    what: "a queue, with 10,000 leases of 100 workers",
    prepare: (redis) => lease(redis, 10_000),
    run: ({ store }) => store.limit("limited", { running: 10 }),
  },
  {
    script: "limit",
    what: "a queue, with 100,000 leases of 100 workers",
    prepare: (redis) => lease(redis, 100_000),
    run: ({ store }) => store.limit("limited", { running: 10 }),
  },
  {
    script: "hasQueuedJobs",
    what: "1,000 queues",
    run: ({ store }) => store.hasQueuedJobs(queues(1_000)),
  },
  {
    script: "cronRead",
    what: "1,000 entries, all carried",
    prepare: ({ store }) => writeCron(store, 1_000),
    run: async ({ store }) => {
      const { entries } = await store.cronRead();
      await store.cronRead({ carried: entries.map(({ name }) => name) });
    },
  },
  {
    script: "cronWrite",
    what: "1,000 entries, each with a job",
    run: async ({ store }) => await writeCron(store, 1_000),
  },
  {
    script: "cronRemove",
    what: "an entry",
    prepare: ({ store }) => writeCron(store, 1),
    run: async ({ store }) => {
      const [entry] = (await store.cronRead({ names: ["entry-0"] })).entries;
      await store.cronRemove("entry-0", entry!.version);
    },
  },
  {
    script: "declare",
    what: "1,000 classes, 5,000 known",
    prepare: ({ store }) => store.declareClasses(classes(5_000)),
    run: ({ store }) => store.declareClasses(classes(1_000)),
  },
  {
    script: "measure",
    what: "1,000 classes",
    run: ({ store }) =>
      store.measure(
        classes(1_000).map(({ name }) => ({
          class: name,
          processed: 5,
          failed: 1,
          workedMs: 100,
          histogram: Array(26).fill(1),
        })),
      ),
  },
  { script: "claim", what: "a lease", run: ({ store }) => store.claim("name", "host:1:taker", HOUR_MS) },
  { script: "holder", what: "a lease", run: ({ store }) => store.holder("name") },
  { script: "release", what: "a lease", run: ({ store }) => store.release("name", "host:1:taker") },
  { script: "send", what: "a command", run: ({ store }) => store.send("host:1:taker", { verb: "dump" }) },
  { script: "reply", what: "a dump of 1 MB", run: ({ store }) => store.reply("id", "x".repeat(1e6)) },
  {
    script: "scratch",
    what: "a database with 100,000 records of a bench",
    run: async ({ server }) => {
      await using scratch = await openScratch(server.url, { queue: "bench", say: () => {} });
      const database = new URL(scratch.url).searchParams.get("db")!;
      for (let from = 0; from < 100_000; from += 20_000) {
        const script = `for n = ${from}, ${from + 19_999} do redis.call('SET', 'jobs:result:' .. n, '{}') end`;
        await server.cli("-n", database, "EVAL", script, "0");
      }
      await server.cli("SLOWLOG", "RESET");
    },
  },
  { script: "pause", what: "a queue", run: ({ store }) => store.pause("paused", HOUR_MS) },
  { script: "pauses", what: "1,000 queues", run: ({ store }) => store.pauses(queues(1_000)) },
  { script: "forget", what: "a queue", run: ({ store }) => store.forgetQueue("forgotten") },
];

async function takeThousand(redis: Redis): Promise<void> {
  taken = await take(redis, 1_000);
}

/** Leases of 100 workers, none of the queue that is to be limited. */
async function lease({ server }: Redis, count: number): Promise<void> {
  await server.cli("DEL", "jobs:owners");
  await fill(
    server,
    count,
    `local owner = 'host:' .. n % 100 .. ':limited'
     redis.call('ZADD', 'jobs:owners', 4e12, owner)
     redis.call('HSET', 'jobs:leases:' .. owner, string.format('%027x-10000:deep', n), payload(n))`,
  );
}

/** A worker with 1,000 leases goes offline, by the score of its heartbeat. */
async function lapse(redis: Redis): Promise<void> {
  const { owner } = await take(redis, 1_000);
  await register(redis, "host:1:rescuer");
  await redis.server.cli("HSET", "jobs:owner:host:1:rescuer", "since", "1");
  await redis.server.cli("ZADD", "jobs:owners", "1", owner);
}

function classes(count: number): { name: string; options: string }[] {
  return Array.from({ length: count }, (_, i) => ({ name: `Class${i}`, options: '{"queue":"default","retry":5}' }));
}

async function writeCron(store: OpenStore, count: number): Promise<void> {
  const { entries } = await store.cronRead();
  const versions = new Map(entries.map(({ name, version }) => [name, version]));
  await store.cronWrite(Array.from({ length: count }, (_, i) => ({
    name: `entry-${i}`,
    version: versions.get(`entry-${i}`) ?? 0,
    definition: '{"cron":"* * * * *","class":"HardJob"}',
    state: "{}",
    jobs: [newJob(i)],
    awaited: false,
    records: ["{}"],
  })));
}
