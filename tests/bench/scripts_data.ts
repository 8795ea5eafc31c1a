/**
 * A temporary Redis with a million jobs in a queue and in each set, for `scripts.ts`.
 *
 * @module
 */
import { openStore } from "../../src/store/open.ts";
import type { SCRIPTS } from "../../src/store/redis/client/scripts.ts";
import type { Lease, NewJob } from "../../src/store/port/jobs.ts";
import { HOUR_MS, workerRecord } from "../store_contract/jobs.ts";
import { type RedisServer, startRedis } from "../support/redis.ts";
import type { Store } from "../../src/store/admin/store.ts";

/** Everything that the cases work with. */
export interface Redis extends AsyncDisposable {
  readonly server: RedisServer;
  readonly store: Store;
  /** Jobs in the queue `deep` and in each set. */
  readonly jobs: number;
}

/** One case. */
export interface Case {
  readonly script: keyof typeof SCRIPTS;
  readonly what: string;
  /** Runs before each round, and is not measured. */
  readonly prepare?: (redis: Redis) => Promise<unknown>;
  readonly run: (redis: Redis) => Promise<unknown>;
}

/** The queue with all the jobs. */
export const DEEP = "deep";
const PIECE = 20_000;
const TTL_MS = 3_600_000;

/** Lua: the payload of job `n`, about 200 bytes. */
export const PAYLOAD = `
  local function payload(n)
    return string.format('{"class":"HardJob","args":[%d,"account-%d"],"retry":true,"queue":"deep","jid":"%024x",' ..
      '"created_at":1700000000.125,"enqueued_at":1700000000.125,"padding":"............................"}', n, n, n)
  end`;

/** Starts Redis and fills it. */
export async function startFull(jobs: number): Promise<Redis> {
  const server = await startRedis({ config: { "slowlog-log-slower-than": "0", "slowlog-max-len": "100000" } });
  const store = await openStore(server.url, { deadMaxJobs: 2 * jobs });
  await server.cli("SADD", "queues", DEEP);
  const inTenYears = Math.floor(Date.now() / 1_000) + 315_360_000;
  const anHourAgo = Math.floor(Date.now() / 1_000) - 3_600;
  await fill(server, jobs, `redis.call('LPUSH', 'queue:${DEEP}', payload(n))`);
  await fill(server, jobs, `redis.call('ZADD', 'schedule', ${inTenYears} + n / 1000, payload(n))`);
  await fill(server, jobs, `redis.call('ZADD', 'retry', ${inTenYears} + n / 1000, payload(n))`);
  await fill(server, jobs, `redis.call('ZADD', 'dead', ${anHourAgo} + n / 1000, payload(n))`);
  await fill(
    server,
    100_000,
    `local jid = string.format('%024x', n)
     redis.call('SET', 'jobs:result:' .. jid, ' {"jid":"' .. jid .. '","state":"succeeded"}')
     redis.call('ZADD', 'jobs:ended', redis.call('INCR', 'jobs:ended:number'), jid)`,
  );
  return {
    server,
    store,
    jobs,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Runs a line of Lua for each `n` from 1 to `count`. */
export async function fill(server: RedisServer, count: number, line: string): Promise<void> {
  for (let from = 1; from <= count; from += PIECE) {
    const to = Math.min(count, from + PIECE - 1);
    await server.cli("EVAL", `${PAYLOAD}\nfor n = ${from}, ${to} do ${line} end`, "0");
  }
}

/** The n-th job to push. */
export function newJob(n: number, change: Partial<NewJob> = {}): NewJob {
  const jid = crypto.randomUUID().replaceAll("-", "").slice(8);
  const queue = change.queue ?? "pushed";
  const payload = JSON.stringify({ class: "HardJob", args: [n, "x".repeat(80)], jid, queue, created_at: 1.7e9 });
  return { jid, queue, payload, ...change };
}

export function newJobs(count: number, change: (n: number) => Partial<NewJob> = () => ({})): NewJob[] {
  return Array.from({ length: count }, (_, n) => newJob(n, change(n)));
}

/** Registers a worker. */
export async function register({ store }: Pick<Redis, "store">, worker: string): Promise<string> {
  await store.workers.heartbeat(workerRecord(worker), TTL_MS);
  return worker;
}

/** Takes this many jobs from the front of a queue, as a worker that has just registered. */
export async function take(
  redis: Redis,
  count: number,
  queue = DEEP,
): Promise<{ worker: string; leases: Lease[] }> {
  const worker = await register(redis, `host:1:${crypto.randomUUID().slice(0, 12)}`);
  const leases: Lease[] = [];
  while (leases.length < count) {
    leases.push(...await redis.store.jobs.take({ queues: [queue], limit: count - leases.length, worker }));
  }
  return { worker, leases };
}

/** Names of queues. */
export function queues(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `queue-${i}`);
}

/** Ten queues at the highest possible limit: 10,000 jobs running, and 10,000 starts that count. */
export async function limitTen({ server, store }: Redis): Promise<void> {
  if (await server.cli("HEXISTS", "jobs:limits", "queue-0") === "1") return;
  for (const queue of queues(10)) {
    await store.admin.configure(queue, { limit: { running: 10_000, starts: { count: 10_000, perMs: HOUR_MS } } });
    await fill(
      server,
      9_999,
      `redis.call('HSET', 'jobs:running:${queue}', n, 'many') redis.call('HSET', 'jobs:leases:many', n, 'x')
       redis.call('LPUSH', 'jobs:starts:${queue}', '${Date.now()}')`,
    );
  }
}
