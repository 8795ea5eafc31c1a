/**
 * The worst cases of the scripts for batches, flows, steps and groups, for `scripts.ts`.
 *
 * @module
 */
import { openStore } from "../../src/store/open.ts";
import { MAX_COUNTED_JOBS } from "../../src/store/redis/batches.ts";
import { nodeJid } from "../../src/job/flow.ts";
import { type NewBatch, TEND_LIMIT } from "../../src/store/port/batches.ts";
import type { NewNode } from "../../src/store/port/flows.ts";
import { MAX_KEPT_SIGNALS, type NewWait, type StepLease } from "../../src/store/port/steps.ts";
import { HOUR_MS } from "../store_contract/jobs.ts";
import { type Case, newJobs, queues, type Redis, take } from "./scripts_data.ts";

/** Nodes of a flow that the client stores in one call. */
const NODES = 1_000;
/** Steps of one job. */
const STEPS = 1_000;

let id = "";
/** The address of a database without other jobs. */
let small = "";
let lease: StepLease;
let graph: readonly NewNode[];

export const FLOW_CASES: readonly Case[] = [
  { script: "batchCreate", what: "a batch", run: openBatch },
  {
    script: "batchAdmit",
    what: "a job of 200 bytes",
    prepare: async (redis) => {
      await openBatch(redis);
      await takeOne(redis);
    },
    run: ({ store }) => store.batches.admit(lease, id),
  },
  {
    script: "batchCorrect",
    what: "a batch",
    prepare: openBatch,
    run: async ({ store }) => {
      const { version } = (await store.batches.read({ ids: [id] })).batches[0]!;
      await store.batches.correct(id, { pending: 1, dead: 0, version });
    },
  },
  {
    script: "batchCount",
    what: `a batch of ${MAX_COUNTED_JOBS} jobs, the only ones in the store`,
    prepare: fillBatch,
    run: async () => {
      await using other = await openStore(small);
      await other.batches.count(id);
    },
  },
  { script: "batchClose", what: "a batch", prepare: openBatch, run: ({ store }) => store.batches.close(id, "closed") },
  {
    script: "batchPage",
    what: "a page of 1,000 batches",
    prepare: (redis) => openBatches(redis, 1_000, HOUR_MS),
    run: ({ store }) => store.batches.read({ limit: 1_000 }),
  },
  { script: "flowAdd", what: `${NODES} nodes, all but one after the first`, prepare: openFan, run: addNodes },
  {
    script: "batchTend",
    what: `${TEND_LIMIT} of ${NODES} nodes, and ${TEND_LIMIT} batches that were not closed`,
    prepare: async (redis) => {
      await openBatches(redis, TEND_LIMIT, 1);
      await openFan(redis);
      await addNodes(redis);
      await redis.store.batches.close(id, "closed");
      await takeOne(redis, "fan");
      await redis.store.jobs.settle(lease.worker, [{
        kind: "ack",
        token: lease.token,
        batch: { id, from: "pending", to: "succeeded", node: "n0" },
      }]);
    },
    run: ({ store }) => store.batches.tend(TEND_LIMIT),
  },
  {
    script: "flowImport",
    what: "a page of nodes of another store",
    prepare: async (redis) => {
      await openFan(redis);
      await addNodes(redis);
    },
    run: async ({ store }) => {
      const { rows } = await store.transfer.read("node", { ids: [id] });
      const flow = newId();
      await store.transfer.put("node", rows.map(({ columns }) => ({ flow, columns })));
    },
  },
  { script: "importSteps", what: `${STEPS} steps of a job`, run: ({ store }) => importSteps({ store }, newId()) },
  {
    script: "stepRemember",
    what: `32 steps of a job with ${STEPS}`,
    prepare: takeWithSteps,
    run: ({ store }) =>
      Promise.all(
        Array.from({ length: 32 }, (_, i) => store.steps.remember(lease, { name: `charge ${i}`, record: DONE })),
      ),
  },
  {
    script: "stepWait",
    what: `a wait of a job with ${STEPS} steps`,
    prepare: takeWithSteps,
    run: ({ store }) => store.steps.wait(lease, waitFor("approval")),
  },
  {
    script: "stepWake",
    what: `a job with ${STEPS} waits`,
    prepare: importWaits,
    run: ({ store }) => store.steps.clear(id, "waits"),
  },
  {
    script: "stepClear",
    what: `a job with ${STEPS} waits`,
    prepare: importWaits,
    run: ({ store }) => store.steps.clear(id),
  },
  {
    script: "signal",
    what: `a key that keeps ${MAX_KEPT_SIGNALS} signals`,
    prepare: async ({ store }) => {
      const signal = { key: "kept", data: "{}", ttlMs: HOUR_MS };
      await Promise.allSettled(Array.from({ length: MAX_KEPT_SIGNALS }, () => store.steps.signal(signal)));
    },
    run: ({ store }) => store.steps.signal({ key: "kept", data: "{}", ttlMs: HOUR_MS }).catch(() => {}),
  },
  {
    script: "limitGroup",
    what: "a group of 1,000",
    prepare: fillGroups,
    run: ({ store }) => store.admin.configure("many-groups", { group: "g7", limit: { running: 10 } }),
  },
  {
    script: "wakeGroups",
    what: "the groups of a queue with 1,000",
    prepare: fillGroups,
    run: ({ store }) => store.admin.configure("many-groups", { eachGroup: true, limit: { running: 10 } }),
  },
  {
    script: "pauseGroup",
    what: "a group of 1,000",
    prepare: fillGroups,
    run: ({ store }) => store.admin.configure("many-groups", { group: "g7", pause: HOUR_MS }),
  },
  {
    script: "readGroupRows",
    what: "a page of 1,000 groups",
    prepare: fillGroups,
    run: ({ store }) => store.admin.groups("many-groups", { limit: 1_000 }),
  },
  {
    script: "slowestGroup",
    what: "1,000 groups",
    prepare: fillGroups,
    run: ({ store }) => store.admin.groups("many-groups", { limit: 25, withSlowest: true }),
  },
  {
    script: "sampleQueues",
    what: "10,000 queues",
    run: ({ store }) =>
      store.series.add("queues", queues(10_000).map((queue) => ({ queue, size: 1_000, latencyMs: 1_000 }))),
  },
];

const DONE = `{"state":"succeeded","since":1,"ended":2,"kind":"step","attempts":1,"value":1}`;

function newId(): string {
  return crypto.randomUUID().replaceAll("-", "").slice(8);
}

function waitFor(key: string): NewWait {
  return { name: "approval", about: `"kind":"wait","key":"${key}"`, forMs: HOUR_MS, key };
}

function batch(change: Partial<NewBatch> = {}): NewBatch {
  return { id, callbacks: {}, closeWithinMs: HOUR_MS, keepMs: HOUR_MS, ...change };
}

async function openBatch({ store }: Pick<Redis, "store">): Promise<void> {
  id = newId();
  await store.batches.create(batch());
}

/** Fills a batch in another database of the server, which has no other jobs. */
async function fillBatch({ server }: Redis): Promise<void> {
  small = server.url.replace(/\/\d+$/, "/1");
  id = newId();
  await using other = await openStore(small);
  await server.cli("-n", "1", "FLUSHDB");
  await other.batches.create(batch());
  const more = `"batch":"${id}","batch_counted":"pending"`;
  const jobs = newJobs(MAX_COUNTED_JOBS - 1).map((job) => {
    return { ...job, payload: job.payload.replace(/}$/, `,${more}}`), batch: { id } };
  });
  await other.jobs.enqueue(jobs);
}

async function openBatches({ store }: Redis, count: number, closeWithinMs: number): Promise<void> {
  const ids = Array.from({ length: count }, newId);
  await Promise.all(ids.map((id) => store.batches.create(batch({ id, closeWithinMs }))));
}

/** Opens a flow in which all nodes follow the first one. */
async function openFan({ server, store }: Redis): Promise<void> {
  id = newId();
  const names = Array.from({ length: NODES }, (_, i) => `n${i}`);
  graph = names.map((name, i) => ({
    ...{ name, position: i, jid: nodeJid(id, i + 1), class: "HardJob", queue: "fan", onDead: "stop" },
    ...{ after: i === 0 ? [] : ["n0"], followers: i === 0 ? names.slice(1) : [] },
    payload: `{"class":"HardJob","args":[${i}],"queue":"fan","jid":"${nodeJid(id, i + 1)}","batch":"${id}",` +
      `"batch_counted":"pending","flow_node":"${name}"}`,
  }));
  await server.cli("DEL", "queue:fan");
  await store.batches.create(batch({ flow: true }));
}

async function addNodes({ store }: Redis): Promise<void> {
  await store.flows.add(id, graph);
}

/** Takes one job, as a worker that has just registered. */
async function takeOne(redis: Redis, queue?: string): Promise<void> {
  const { worker, leases: [taken] } = await take(redis, 1, queue);
  lease = { worker, token: taken!.token, jid: newId() };
}

async function takeWithSteps(redis: Redis): Promise<void> {
  await takeOne(redis);
  await importSteps(redis, lease.jid);
}

async function importWaits(redis: Redis): Promise<void> {
  const record = `{"state":"waiting","until":${Date.now() + HOUR_MS},"since":1}`;
  await importSteps(redis, id = newId(), record);
}

async function importSteps({ store }: Pick<Redis, "store">, jid: string, record = DONE): Promise<void> {
  const steps = Array.from({ length: STEPS }, (_, i) => ({ name: `step-${i}`, record }));
  await store.transfer.put("step", [{ jid, steps, receives: true }]);
}

/** A queue with 1,000 groups of one job each, all of which have limits. */
async function fillGroups({ server, store }: Redis): Promise<void> {
  if (await server.cli("EXISTS", "queue:many-groups|g1") === "1") return;
  await store.jobs.enqueue(newJobs(1_000, (n) => ({ queue: "many-groups", group: `g${n}` })));
  await store.admin.configure("many-groups", { eachGroup: true, limit: { running: 5 } });
}
