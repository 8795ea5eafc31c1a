/**
 * The worst cases of the scripts that move jobs, for `scripts.ts`: the largest batch that the program sends, into or out of
 * the largest structure.
 *
 * @module
 */
import { cancelEntries } from "../../src/store/ops/cancel.ts";
import type { Entry } from "../../src/store/port/entries.ts";
import type { ThrottleRow } from "../../src/store/admin/transfer.ts";
import { digestOf, formatRef } from "../../src/store/redis/refs.ts";
import type { NewJob } from "../../src/store/port/jobs.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import { HOUR_MS } from "../store_contract/jobs.ts";
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

const DEEP_PLACE = { in: "queue", queue: DEEP } as const;

let taken: Awaited<ReturnType<typeof take>>;
let refs: readonly string[] = [];
let entries: readonly Entry[] = [];
/** The queue and the lock of two jobs, of which the second replaces the first. */
let replacing: Pick<NewJob, "queue" | "unique">;

export const JOB_CASES: readonly Case[] = [
  {
    script: "enqueue",
    what: "1,000 jobs with unique locks",
    run: ({ store }) =>
      store.jobs.enqueue(newJobs(1_000, () => ({ unique: { key: crypto.randomUUID(), ttlMs: HOUR_MS } }))),
  },
  {
    script: "enqueue",
    what: "500 jobs to scheduled, with unique locks",
    run: ({ store }) =>
      store.jobs.enqueue(newJobs(500, (n) => ({
        delayMs: 1_000 * HOUR_MS * (1_000 - n),
        unique: { key: crypto.randomUUID(), ttlMs: HOUR_MS },
      }))),
  },
  {
    script: "enqueue",
    what: "4 MB of large jobs",
    run: ({ store }) => store.jobs.enqueue(newJobs(4, largeJob)),
  },
  {
    script: "enqueue",
    what: "a job that replaces the oldest one of the queue",
    prepare: async ({ server, store }) => {
      replacing = { queue: DEEP, unique: { key: crypto.randomUUID(), ttlMs: HOUR_MS, replace: true } };
      const first = replaceable(newJob(0));
      await store.jobs.enqueue([first]);
      // From the newest end to the oldest.
      await server.cli("LMOVE", `queue:${DEEP}`, `queue:${DEEP}`, "LEFT", "RIGHT");
    },
    run: ({ store }) => store.jobs.enqueue([replaceable(newJob(1))]),
  },
  {
    script: "readThrottles",
    what: "a throttle with 10,000 pushes",
    prepare: ({ store }) => store.transfer.put("throttle", [throttleOf(10_000)]),
    run: ({ store }) => readThrottles(store),
  },
  {
    script: "importThrottles",
    what: "a throttle with 10,000 pushes",
    prepare: ({ store }) => store.transfer.drop("throttle", [{ key: "large" }]),
    run: ({ store }) => store.transfer.put("throttle", [throttleOf(10_000)]),
  },
  {
    script: "take",
    what: "1,000 jobs",
    prepare: (redis) => register(redis, "host:1:taker"),
    run: ({ store }) => store.jobs.take({ queues: [DEEP], limit: 1_000, worker: "host:1:taker" }),
  },
  {
    script: "take",
    what: "4 MB of large jobs",
    prepare: async ({ store }) => {
      await register({ store }, "host:1:taker");
      await store.jobs.enqueue(newJobs(4, largeJob));
    },
    run: ({ store }) => store.jobs.take({ queues: ["large"], limit: 1_000, worker: "host:1:taker" }),
  },
  {
    script: "take",
    what: "1 job from the last of 1,000 queues, 10 of them limited",
    prepare: limitTen,
    run: ({ store }) => store.jobs.take({ queues: [...queues(999), DEEP], limit: 1, worker: "host:1:taker" }),
  },
  {
    script: "settle",
    what: "1,000 succeeded jobs with records and unique locks",
    prepare: takeThousand,
    run: (redis) =>
      settle(redis, (token, i) => ({
        kind: "ack",
        token,
        jid: `jid-${i}`,
        unlock: `lock-${i}`,
        record: {
          jid: `jid-${i}`,
          ttlMs: HOUR_MS,
          body: JSON.stringify({ state: "succeeded", result: "x".repeat(200) }),
        },
      })),
  },
  {
    script: "settle",
    what: "1,000 failed jobs to retry",
    prepare: takeThousand,
    run: (redis) => settle(redis, (token, i) => ({ kind: "retry", token, delayMs: i, payload: newJob(i).payload })),
  },
  {
    script: "settle",
    what: "1,000 failed jobs to dead, with records and unique locks",
    prepare: takeThousand,
    run: (redis) =>
      settle(redis, (token, i) => ({
        kind: "bury",
        token,
        payload: newJob(i).payload,
        jid: `jid-${i}`,
        unlock: `lock-${i}`,
        record: { jid: `jid-${i}`, ttlMs: HOUR_MS, body: '{"state":"failed"}' },
      })),
  },
  {
    script: "settle",
    what: "1,000 released jobs",
    prepare: takeThousand,
    run: (redis) => settle(redis, (token) => ({ kind: "release", token })),
  },
  {
    script: "readDue",
    what: "1,000 due jobs of a million",
    prepare: ({ server }) => fill(server, 1_000, `redis.call('ZADD', 'schedule', n, payload(2000000 + n))`),
    run: ({ store }) => store.jobs.promote(1_000),
  },
  {
    script: "move",
    what: "1,000 due jobs of a million to their queue",
    prepare: ({ server }) => fill(server, 1_000, `redis.call('ZADD', 'retry', n, payload(3000000 + n))`),
    run: ({ store }) => store.jobs.promote(1_000),
  },
  {
    script: "move",
    what: "1,000 jobs from the front of the queue to dead",
    run: ({ store }) => store.jobs.edit({ in: DEEP_PLACE, limit: 1_000 }, "kill"),
  },
  {
    script: "move",
    what: "1,000 dead jobs deleted",
    run: ({ store }) => store.jobs.edit({ in: { in: "dead" }, limit: 1_000 }, "delete"),
  },
  {
    script: "move",
    what: "20 jobs 10,000 from the front of the queue",
    prepare: async (redis) => refs = await refsAt(redis, 10_000, 20),
    run: ({ store }) => store.jobs.edit(refs, "delete"),
  },
  {
    script: "move",
    what: "20 jobs from the middle of the queue",
    prepare: async (redis) => refs = await refsAt(redis, redis.jobs / 2 - 20_000, 20),
    run: ({ store }) => store.jobs.edit(refs, "delete"),
  },
  {
    script: "move",
    what: "200 jobs all over the queue to its back",
    prepare: async (redis) => {
      const steps = Array.from({ length: 200 }, (_, i) => Math.floor((redis.jobs - 50_000) / 200) * i);
      refs = (await Promise.all(steps.map((position) => refsAt(redis, position, 1)))).flat();
    },
    run: ({ store }) => store.jobs.edit(refs, "requeue"),
  },
  {
    script: "move",
    what: "250 jobs cancelled, each with its record",
    prepare: async ({ store }) => entries = (await store.admin.page(DEEP_PLACE, { limit: 250 })).entries,
    run: ({ store }) => cancelEntries(store, entries, Date.now()),
  },
  {
    script: "move",
    what: "1,000 jobs alike to the last byte to a set with 10,000 more",
    prepare: async ({ server }) => {
      await fill(server, 1_000, `redis.call('LPUSH', 'queue:alike', '{"class":"A"}')`);
      if (await server.cli("ZSCORE", "dead", '{"class":"A"}') !== "") return;
      await fill(server, 10_000, `redis.call('LPUSH', 'queue:alike', '{"class":"A"}')`);
    },
    run: ({ store }) => store.jobs.edit({ in: { in: "queue", queue: "alike" }, limit: 11_000 }, "kill"),
  },
  {
    script: "move",
    what: "4 MB of large jobs to dead",
    prepare: ({ store }) => store.jobs.enqueue(newJobs(4, largeJob)),
    run: ({ store }) => store.jobs.edit({ in: { in: "queue", queue: "large" }, limit: 100 }, "kill"),
  },
  {
    script: "readEntries",
    what: "a page of 1,000 from the middle of the queue",
    prepare: async (redis) => refs = await refsAt(redis, redis.jobs / 2 - 50_000, 1),
    run: ({ store }) => store.admin.page(DEEP_PLACE, { cursor: refs[0]!, limit: 1_000 }),
  },
  {
    script: "readLeases",
    what: "1,000 leases",
    prepare: takeThousand,
    run: ({ store }) => store.admin.page({ in: "running" }, { limit: 1_000 }),
  },
  {
    script: "readRecords",
    what: "a page of 1,000 records",
    run: ({ store }) => store.results.read({ limit: 1_000 }),
  },
  {
    script: "announce",
    what: "a batch of 500",
    prepare: async (redis) => refs = await refsAt(redis, 0, 500),
    run: ({ store }) => store.transfer.mark(refs),
  },
  {
    script: "migrateOut",
    what: "a batch of 500 from the front of the queue",
    run: async (redis) => {
      const { transfer } = redis.store;
      const { id, refs } = (await transfer.mark(await refsAt(redis, 0, 500)))!;
      await transfer.drop("job", refs.map((ref) => ({ ref, payload: "" })), id);
    },
  },
  {
    script: "importJobs",
    what: "a batch of 500 to dead",
    run: ({ store }) =>
      store.transfer.put(
        "job",
        newJobs(500).map(({ payload }) => ({ ref: "", place: { in: "dead" }, payload, at: 1e12 })),
        crypto.randomUUID(),
      ),
  },
  {
    script: "importJobs",
    what: "a batch of 500 with unique locks to a queue",
    run: ({ store }) =>
      store.transfer.put(
        "job",
        newJobs(500).map(({ payload, jid }) => ({
          ref: "",
          place: { in: "queue", queue: "adopted" },
          payload,
          unique: { key: jid, jid, ttlMs: HOUR_MS },
        })),
        crypto.randomUUID(),
      ),
  },
];

async function takeThousand(redis: Redis): Promise<void> {
  taken = await take(redis, 1_000);
}

async function settle({ store }: Redis, outcome: (token: string, i: number) => Outcome): Promise<void> {
  await store.jobs.settle(taken.worker, taken.leases.map(({ token }, i) => outcome(token, i)));
}

/** Refs of consecutive jobs of the deep queue, from a position on. */
async function refsAt({ server }: Redis, position: number, count: number): Promise<string[]> {
  const range = ["--json", "LRANGE", `queue:${DEEP}`, `${-position - count}`, `${-position - 1}`];
  const payloads = JSON.parse(await server.cli(...range)) as string[];
  return payloads.reverse().map((payload, i) =>
    formatRef({ in: "queue", queue: DEEP, digest: digestOf(payload), position: position + i })
  );
}

/** A job of a megabyte. */
function largeJob(): Partial<NewJob> {
  return { queue: "large", payload: `{"class":"A","args":["${"x".repeat(1e6)}"],"queue":"large"}` };
}

function replaceable(job: NewJob): NewJob {
  return { ...job, ...replacing, payload: job.payload.replace(/}$/, ',"on_duplicate":"replace"}') };
}

function throttleOf(count: number): ThrottleRow {
  return {
    key: "large",
    perMs: HOUR_MS,
    pushes: Array.from({ length: count }, (_, i) => ({ jid: `jid-${i}`, agoMs: i })),
  };
}

async function readThrottles(store: Redis["store"]): Promise<void> {
  for (let cursor: string | undefined;;) {
    const { next } = await store.transfer.read("throttle", cursor === undefined ? {} : { cursor });
    if ((cursor = next) === undefined) return;
  }
}
