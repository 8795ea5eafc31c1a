/**
 * Reasons not to start or continue a migration: both are one store, a worker performs jobs of the source, or a program pushes to
 * it. Nothing is lost then, but what such a program pushes next would stay in a store that has no workers.
 *
 * @module
 */
import type { Store } from "../../admin/store.ts";
import { systemClock } from "../../../clock.ts";
import { Cancelled } from "../../../job/errors.ts";
import { parsePayload } from "../../../job/job.ts";
import type { DoomedJob } from "../../port/jobs.ts";
import type { Outcome } from "../../port/outcomes.ts";
import { RECORD_TTL_MS, recordOf } from "../cancel.ts";
import { outcomeOf } from "../outcome.ts";
import { CANCELLED_WORKER } from "../../port/workers.ts";

const PAGE = 500;
/** Cancelled jobs that one step ends. */
const END_LIMIT = 100;

/** A migration that can't start or continue. */
export class MigrateError extends Error {
  override readonly name = "MigrateError";
}

/** @throws {MigrateError} if both are the same store by different addresses: its jobs would migrate to itself without end */
export async function refuseSame(from: Store, to: Store): Promise<void> {
  const key = `same-${crypto.randomUUID()}`;
  await to.transfer.put("key", [{ key }]);
  const { rows } = await from.transfer.read("key", { ids: [key] });
  await to.transfer.drop("key", [{ key }]);
  if (rows.length > 0) throw sameStore(from.url, to.url);
}

/** Returns the error for two addresses of the same store. */
export function sameStore(from: string, to: string): MigrateError {
  return new MigrateError(`"${from}" and "${to}" are the same store: expected two stores`);
}

/** @throws {MigrateError} if workers perform jobs of this store, or have leased some */
export async function refuseWhileBusy(store: Store): Promise<void> {
  const { workers, running } = await store.admin.stats();
  if (workers > 0) {
    const names = (await store.workers.list()).filter((worker) => worker.alive).map((worker) => worker.id);
    throw new MigrateError(
      `Cannot migrate from "${store.url}" while workers use it: stop ${names.join(", ")} first`,
    );
  }
  if (running === 0) return;
  // All its workers are offline: first return their jobs to the queues.
  const holders = new Set<string>();
  for (let cursor: string | undefined;;) {
    const { entries, next } = await store.admin.page({ in: "running" }, { limit: PAGE, ...(cursor && { cursor }) });
    for (const { worker } of entries) holders.add(worker!);
    if ((cursor = next) === undefined) break;
  }
  holders.delete(CANCELLED_WORKER);
  for (const worker of holders) await store.workers.deregister(worker);
  // Cancelled jobs end here: at the target, they would run.
  await endCancelled(store, systemClock.now());
  const left = (await store.admin.stats()).running;
  if (left > 0) {
    throw new MigrateError(
      `Cannot migrate from "${store.url}": ${
        left === 1 ? "1 job is" : `${left} jobs are`
      } running there, wait until they have ended`,
    );
  }
}

/** Ends the jobs of {@linkcode CANCELLED_WORKER} as a worker ends them: with their records, batches, steps and parents. */
export async function endCancelled(store: Store, now: number): Promise<void> {
  for (;;) {
    // This rescuer has no heartbeats: it finds no other worker offline.
    const { doomed } = await store.jobs.rescue({ worker: CANCELLED_WORKER, limit: END_LIMIT, maxRescues: Infinity });
    const outcomes = await Promise.all(doomed.map((one) => outcome(store, one, now)));
    const { lost } = await store.jobs.settle(CANCELLED_WORKER, outcomes);
    if (lost.length === doomed.length) return;
  }
}

async function outcome(store: Store, { token, payload }: DoomedJob, now: number): Promise<Outcome> {
  const job = parsePayload(payload);
  if (job === undefined) return { kind: "bury", token, payload };
  const body = await recordOf(store, job, now);
  const record = { jid: job.jid, ttlMs: RECORD_TTL_MS, body };
  return outcomeOf(token, job, { kind: "ack", as: "cancelled" }, { error: new Cancelled(), record });
}

/** Returns the error of a migration that is complete but for what is pushed now. */
export function pushedMeanwhile(url: string): MigrateError {
  return new MigrateError(
    `Programs pushed to "${url}" while it was migrated: stop them, then run this again; no job is lost`,
  );
}

/** Returns the error of a migration that stopped at jobs which are no longer what it read. */
export function changedMeanwhile(url: string, count: number): MigrateError {
  return new MigrateError(
    `Migration stopped: ${count} jobs of "${url}" were removed or replaced meanwhile; stop the programs that use it, ` +
      "then run this again",
  );
}
