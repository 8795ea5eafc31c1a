/**
 * Leases of offline workers → the front of their queues.
 *
 * @module
 */
import { afterCancel, afterDeath } from "../../job/suspicion.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import { splitName } from "../port/groups.ts";
import type { DoomedJob, RescueRequest, RescueResult } from "../port/jobs.ts";
import { type Body, type Engine, hold, query } from "./body.ts";
import { BoundedRead } from "./bounded_read.ts";
import { rewrite } from "./job_rows.ts";
import * as leases from "./leases.ts";
import * as workers from "./workers.ts";

/** The server has a lock for each, of which it has some thousands. */
const MAX_WORKERS = 100;

interface LeasedRow {
  readonly id: number;
  readonly payload: string;
  readonly queue: number;
  readonly name: string;
  readonly take: number;
  readonly cancelled: 1 | null;
}

/** See `JobStore.rescue`. */
export async function rescue(engine: Engine, request: RescueRequest): Promise<RescueResult> {
  // Read first, so that no write lock is taken while all workers are alive. The decision is made again under the lock.
  const { workers: lapsed, waits } = await engine.read((now) => workers.findOffline(request.worker, now));
  if (lapsed.length === 0) return { rescued: 0, doomed: [], offline: [], more: false, waits };
  const some = lapsed.slice(0, MAX_WORKERS);
  const result = await engine.write((now) => rescueSome(engine, request, some, now), { rows: request.limit });
  // A doomed job keeps its worker in the list until it is buried.
  return { ...result, more: result.more || some.length < lapsed.length && result.doomed.length === 0 };
}

function* rescueSome(
  engine: Engine,
  { worker: rescuer, limit, maxRescues }: RescueRequest,
  found: readonly string[],
  now: number,
): Body<RescueResult> {
  const offline: string[] = [];
  const doomed: DoomedJob[] = [];
  let rescued = 0;
  let more = false;
  const budget = new ByteBudget();
  yield* workers.holdHeartbeats(found);
  const { workers: lapsed, waits } = yield* workers.findOffline(rescuer, now);
  for (const worker of lapsed.filter((one) => found.includes(one))) {
    const most = limit - rescued - doomed.length;
    if (most <= 0 || budget.isSpent) return { rescued, doomed, offline, more: true, waits };
    offline.push(worker);
    const { ended, ...running } = yield* workers.lastMoments(worker, now, leases.stillLeased);
    const leased = new BoundedRead<LeasedRow>({ limit: most, budget }, ({ payload }) => payload);
    // Before they are read: a job may be cancelled or admitted to a batch at this moment.
    yield hold(`SELECT 1 FROM lease WHERE worker_id = ${workers.workerIn("?1")} ORDER BY job LIMIT ?2 FOR UPDATE`, [
      ...[worker, most],
    ]);
    while (leased.wanted > 0) {
      leased.add(
        yield query(
          `SELECT job.id, job.payload, lease.queue, lease.take, lease.cancelled, queue.name
             FROM lease CROSS JOIN job CROSS JOIN queue
           WHERE job.id = lease.job AND queue.id = lease.queue AND worker_id = ${
            workers.workerIn("?1")
          } AND lease.job > ?2
           ORDER BY lease.job LIMIT ?3`,
          [worker, leased.last?.id ?? Number.MIN_SAFE_INTEGER, leased.wanted],
        ),
      );
    }
    let buried = 0;
    for (const { id, payload, queue, name, take, cancelled } of leased.rows) {
      const token = `${id}.${take}`;
      const fate = cancelled ? afterCancel(payload) : afterDeath(payload, token, running, maxRescues);
      if (fate.kind === "doomed") {
        const { kind: _, ...end } = fate;
        doomed.push({ worker, token, ...splitName(name), ...end, ...(ended !== undefined && { ended }) });
        buried++;
        continue;
      }
      // Its worker may have settled it, or another one rescued it.
      if ((yield query("DELETE FROM lease WHERE job = ?1 AND take = ?2 RETURNING 1", [id, take])).length === 0) {
        continue;
      }
      if (fate.payload !== payload) yield* rewrite(id, fate.payload);
      // The payload is marked as that of a suspect.
      yield* leases.returnLease(engine, queue, id, false);
      rescued++;
    }
    const left = yield* workers.countLeases(worker);
    if (left === 0) yield* workers.forget(worker);
    more ||= left > buried;
  }
  return { rescued, doomed, offline, more, waits };
}
