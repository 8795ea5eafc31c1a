/**
 * Leases of offline workers → the front of their queues.
 *
 * @module
 */
import { afterCancel, afterDeath } from "../../job/suspicion.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import { splitName } from "../port/groups.ts";
import type { DoomedJob, RescueRequest, RescueResult } from "../port/jobs.ts";
import { direct, runNow } from "../sql/body.ts";
import { BoundedRead } from "../sql/bounded_read.ts";
import { rewrite } from "../sql/job_rows.ts";
import * as workers from "../sql/workers.ts";
import type { Context } from "./context.ts";
import * as leases from "./leases.ts";

interface LeasedRow {
  readonly id: number;
  readonly payload: string;
  readonly queue: number;
  readonly name: string;
  readonly take: number;
  readonly cancelled: 1 | null;
}

/** See `JobStore.rescue`. */
export async function rescue(context: Context, request: RescueRequest): Promise<RescueResult> {
  const { read, commit, sql, now } = context;
  // Read first, so that no write lock is taken while all workers are alive. The decision is made again under the lock.
  const { workers: lapsed, waits } = await read(() => runNow(workers.findOffline(request.worker, now()), sql));
  if (lapsed.length === 0) return { rescued: 0, doomed: [], offline: [], more: false, waits };
  return await commit.run(() => rescueSome(context, request), { rows: request.limit });
}

function rescueSome(context: Context, { worker: rescuer, limit, maxRescues }: RescueRequest): RescueResult {
  const { sql } = context;
  const stillLeased = (worker: string, tokens: readonly string[]) =>
    direct(() => leases.stillLeased(context, worker, tokens));
  const offline: string[] = [];
  const doomed: DoomedJob[] = [];
  let rescued = 0;
  let more = false;
  const budget = new ByteBudget();
  const { workers: lapsed, waits } = runNow(workers.findOffline(rescuer, context.now()), sql);
  for (const worker of lapsed) {
    const most = limit - rescued - doomed.length;
    if (most <= 0 || budget.isSpent) return { rescued, doomed, offline, more: true, waits };
    offline.push(worker);
    const { ended, ...running } = runNow(workers.lastMoments(worker, stillLeased), sql);
    const found = new BoundedRead<LeasedRow>({ limit: most, budget }, ({ payload }) => payload);
    while (found.wanted > 0) {
      const leased = sql(
        `SELECT job.id, job.payload, lease.queue, lease.take, lease.cancelled, queue.name
           FROM lease CROSS JOIN job ON job.id = lease.job CROSS JOIN queue ON queue.id = lease.queue
         WHERE worker_id = ${workers.workerIn("?")} AND lease.job > ? ORDER BY lease.job LIMIT ?`,
      );
      found.add(leased.all(worker, found.last?.id ?? Number.MIN_SAFE_INTEGER, found.wanted));
    }
    let buried = 0;
    for (const { id, payload, queue, name, take, cancelled } of found.rows) {
      const token = `${id}.${take}`;
      const fate = cancelled ? afterCancel(payload) : afterDeath(payload, token, running, maxRescues);
      if (fate.kind === "doomed") {
        const { kind: _, ...end } = fate;
        doomed.push({ worker, token, ...splitName(name), ...end, ...(ended !== undefined && { ended }) });
        buried++;
        continue;
      }
      sql("DELETE FROM lease WHERE job = ?").run(id);
      if (fate.payload !== payload) runNow(rewrite(id, fate.payload), sql);
      leases.returnLease(context, queue, id);
      rescued++;
    }
    const left = runNow(workers.countLeases(worker), sql);
    if (left === 0) runNow(workers.forget(worker), sql);
    more ||= left > buried;
  }
  return { rescued, doomed, offline, more, waits };
}
