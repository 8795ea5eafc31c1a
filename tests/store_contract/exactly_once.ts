/**
 * Concurrent connections: each job goes to one of them.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { Cases } from "./harness.ts";
import { HOUR_MS, job, jobs, numbers, register, takeUpTo } from "./jobs.ts";
import type { Store } from "../../src/store/admin/store.ts";

const JOBS = 600;

export const exactlyOnce: Cases = {
  "concurrent takes lease each job once": async (open) => {
    await using t = await open();
    const other = await t.another();
    const worker = await register(t.store);
    await t.store.jobs.enqueue(jobs(1, JOBS));
    const done = await Promise.all(
      [t.store, other, t.store, other, t.store, other].map((store) => drain(store, worker)),
    );
    assertSame(done.flat(), JOBS);
    const { enqueued, running, processed } = await t.store.admin.stats();
    assertEquals([enqueued, running, processed], [0, 0, JOBS]);
  },

  "each job ends once while jobs arrive, retry and are released": async (open) => {
    await using t = await open();
    const other = await t.another();
    const stores = [t.store, other];
    const workers = await Promise.all(stores.map((store, i) => register(store, `host:${i}:aaaaaaaaaaaa`)));
    const pushes = Array.from({ length: JOBS }, (_, i) => stores[i % 2]!.jobs.enqueue([job(i + 1)]));
    const done: number[] = [];
    const failed = new Set<number>();
    const work = async (store: Store, worker: string) => {
      while (done.length < JOBS) {
        const leases = await takeUpTo(store, worker, 7);
        await store.jobs.settle(
          worker,
          leases.map((lease) => {
            const { token } = lease;
            const [n] = numbers([lease]) as [number];
            if (failed.has(n) || n % 3 === 0) {
              done.push(n);
              return { kind: "ack", token } as const;
            }
            failed.add(n);
            if (n % 3 === 1) return { kind: "release", token } as const;
            return { kind: "retry", token, delayMs: 0, payload: job(n).payload } as const;
          }),
        );
        await store.jobs.promote(10);
      }
    };
    await Promise.all([...pushes, ...[0, 1, 0, 1].map((i) => work(stores[i]!, workers[i]!))]);
    assertSame(done, JOBS);
    const { enqueued, running, retry, processed, failed: failures } = await t.store.admin.stats();
    assertEquals([enqueued, running, retry], [0, 0, 0]);
    assertEquals([processed, failures], [JOBS + JOBS / 3, JOBS / 3]);
  },

  "concurrent pushes of a unique job store one": async (open) => {
    await using t = await open();
    const other = await t.another();
    const unique = { key: "one", ttlMs: HOUR_MS };
    const results = await Promise.all(
      jobs(1, 40, { unique }).map((one, i) => (i % 2 === 0 ? t.store : other).jobs.enqueue([one])),
    );
    assertEquals(results.flat().filter((result) => result.kind === "stored").length, 1);
    assertEquals((await t.store.admin.stats()).enqueued, 1);
  },
};

/** Takes and acknowledges until no job is left. Returns the jobs. */
async function drain(store: Store, worker: string): Promise<number[]> {
  const done: number[] = [];
  for (;;) {
    const leases = await takeUpTo(store, worker, 9);
    if (leases.length === 0) return done;
    done.push(...numbers(leases) as number[]);
    await store.jobs.settle(worker, leases.map(({ token }) => ({ kind: "ack", token })));
  }
}

/** Asserts that the numbers are each of 1 … n once. */
function assertSame(done: readonly number[], n: number): void {
  assertEquals([...done].sort((a, b) => a - b), Array.from({ length: n }, (_, i) => i + 1));
}
