/**
 * The measured cases. They use what a program imports from the library, and two verbs of the store's port, so that one text runs
 * on trees that are months apart.
 *
 * @module
 */
import type * as library from "../../../src/mod.ts";
import type { work } from "../../../clients/node/jobs_client.d.mts";

/** A case: one measured step, and what surrounds it. */
export interface Case {
  /** Stores what the step performs. Not measured. */
  readonly prepare?: (jobs: number) => Promise<unknown>;
  /** Is measured. */
  readonly run: (jobs: number) => Promise<unknown>;
  /** Removes what the step has left. Not measured. */
  readonly clean?: () => Promise<unknown>;
}

/** The cases of a tree, on an open store. */
export interface OpenCases extends AsyncDisposable {
  readonly cases: Readonly<Record<string, Case>>;
}

/** Names of the cases, in the order in which they are measured. */
export const CASES = [
  "push",
  "bulk push",
  "take and settle",
  "drain",
  "drain groups",
  "drain unique",
  "drain batch",
  "drain steps",
  "drain results",
  "drain over HTTP",
] as const;

const WORKER = "bench:1:000000000000";
const CONCURRENCY = 10;
const CHUNK = 100;
const GROUPS = 100;

/** Opens the cases of a tree. A feature that it doesn't have has no case. */
export async function openCases(tree: string, url: string): Promise<OpenCases> {
  const { Client, openStore, Registry, startServer }: typeof library = await import(`${tree}/src/mod.ts`);
  const remote: { readonly work?: typeof work } = await import(`${tree}/clients/node/jobs_client.mjs`);
  const store = await openStore(url);
  const client = new Client({ store, onUnregistered: () => {} });

  let left = 0;
  let performed = Promise.withResolvers<void>();
  const expect = (jobs: number) => {
    left = jobs;
    performed = Promise.withResolvers();
  };
  const count = () => {
    if (--left === 0) performed.resolve();
  };
  const registry = new Registry()
    .add("Noop", count)
    .add("Result", () => (count(), 1))
    .add("Steps", (context) => context.step("only", () => 1).then(count));
  const server = await startServer({
    ...{ store: url, log: { level: "error" }, registry, web: "127.0.0.1:0" },
    // Records of jobs without a result would depend on the time: there are at most 100 per second.
    settings: { concurrency: CONCURRENCY, queues: ["worker"], retention: { results: "0s" } },
  });
  await server.quiet();

  const pushBulk = (queue: string, name: string, jobs: number, options = {}) =>
    client.pushBulk({ class: name, args: Array.from({ length: jobs }, (_, i) => ["bob", i]), queue, ...options });
  const pushEach = async (jobs: number, options: (i: number) => Record<string, string>) => {
    const each = function* () {
      for (let i = 0; i < jobs; i++) yield { class: "Noop", args: ["bob", i], queue: "worker", ...options(i) };
    };
    for await (const { refused } of client.pushMany(each())) if (refused !== undefined) throw new Error(refused);
  };
  const takeAll = async (queue: string) => {
    for (;;) {
      const leases = await store.jobs.take({ queues: [queue], limit: CHUNK, worker: WORKER });
      if (leases.length === 0) return;
      await store.jobs.settle(WORKER, leases.map(({ token }) => ({ kind: "ack", token })));
    }
  };
  /** Performs what was pushed while the worker was quiet. */
  const drain = (push: (jobs: number) => Promise<unknown>): Case => ({
    async prepare(jobs) {
      expect(jobs);
      await push(jobs);
    },
    async run() {
      server.resume();
      await performed.promise;
    },
    async clean() {
      await server.quiet();
      // The last ends are on their way.
      while ((await store.admin.stats()).running > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    },
  });

  const cases: Record<typeof CASES[number], Case | undefined> = {
    "push": {
      async run(jobs) {
        let next = 0;
        const pusher = async () => {
          while (next < jobs) await client.push("Noop", ["bob", next++], { queue: "push" });
        };
        await Promise.all(Array.from({ length: CONCURRENCY }, pusher));
      },
      clean: () => takeAll("push"),
    },
    "bulk push": { run: (jobs) => pushBulk("push", "Noop", jobs), clean: () => takeAll("push") },
    "take and settle": { prepare: (jobs) => pushBulk("bare", "Noop", jobs), run: () => takeAll("bare") },
    "drain": drain((jobs) => pushBulk("worker", "Noop", jobs)),
    "drain groups": drain((jobs) => pushEach(jobs, (i) => ({ group: `g${i % GROUPS}` }))),
    "drain unique": drain((jobs) => pushEach(jobs, () => ({ unique_for: "1h" }))),
    "drain batch": drain((jobs) =>
      client.batch({ name: "bench" }, async (add) => {
        for (let i = 0; i < jobs; i++) await add("Noop", ["bob", i], { queue: "worker" });
      })
    ),
    "drain steps": drain((jobs) => pushBulk("worker", "Steps", jobs)),
    "drain results": drain((jobs) => pushBulk("worker", "Result", jobs, { result_ttl: 60 })),
    "drain over HTTP": remote.work && {
      async prepare(jobs) {
        expect(jobs);
        await pushBulk("remote", "Remote", jobs);
      },
      async run() {
        const stop = new AbortController();
        const running = remote.work!({
          ...{ url: server.url!, concurrency: CONCURRENCY, queues: ["remote"], handlers: { Remote: count } },
          ...{ signal: stop.signal, signals: false, log() {} },
        });
        await Promise.race([performed.promise, running]);
        stop.abort();
        await running;
      },
    },
  };
  return {
    cases: Object.fromEntries(Object.entries(cases).filter((entry): entry is [string, Case] => entry[1] !== undefined)),
    async [Symbol.asyncDispose]() {
      await server.stop();
      await store[Symbol.asyncDispose]();
    },
  };
}
