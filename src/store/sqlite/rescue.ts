/**
 * Leases of offline workers → the front of their queues.
 *
 * @module
 */
import { afterDeath } from "../../job/suspicion.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import { splitName } from "../port/groups.ts";
import type { DoomedJob, RescueRequest, RescueResult } from "../port/jobs.ts";
import { readBounded } from "./bounded_read.ts";
import type { Context } from "./context.ts";
import type { Jobs } from "./job_rows.ts";
import type { Leases } from "./settle.ts";
import type { Workers } from "./workers.ts";
import type { Queues } from "./take.ts";

interface LeasedRow {
  readonly id: number;
  readonly payload: string;
  readonly queue: number;
  readonly name: string;
  readonly take: string;
}

/** Rescues leases. */
export class Rescue {
  readonly #context: Context;
  readonly #jobs: Jobs;
  readonly #leases: Leases;
  readonly #processes: Workers;
  readonly #queues: Queues;

  constructor(context: Context, parts: { jobs: Jobs; leases: Leases; processes: Workers; queues: Queues }) {
    this.#context = context;
    this.#jobs = parts.jobs;
    this.#leases = parts.leases;
    this.#processes = parts.processes;
    this.#queues = parts.queues;
  }

  /** See `JobStore.rescue`. */
  async rescue(request: RescueRequest): Promise<RescueResult> {
    const { read, commit } = this.#context;
    // A look first, so that no write lock is needed while all workers are well. The decision is made under the lock.
    const { workers, waits } = await read(() => this.#processes.findOffline(request.owner));
    if (workers.length === 0) return { rescued: 0, doomed: [], owners: [], more: false, waits };
    return await commit.run(() => this.#rescue(request), { rows: request.limit });
  }

  #rescue({ owner: rescuer, limit, maxRescues }: RescueRequest): RescueResult {
    const { sql } = this.#context;
    const owners: string[] = [];
    const doomed: DoomedJob[] = [];
    let rescued = 0;
    let more = false;
    const budget = new ByteBudget();
    const { workers, waits } = this.#processes.findOffline(rescuer);
    for (const owner of workers) {
      const left = limit - rescued - doomed.length;
      if (left <= 0 || budget.isSpent) return { rescued, doomed, owners, more: true, waits };
      owners.push(owner);
      const { ended, ...running } = this.#processes.lastMoments(owner, (token) => this.#isLeased(owner, token));
      const rows = readBounded({ limit: left, budget }, (count, after: LeasedRow | undefined) =>
        sql(
          `SELECT job.id, job.payload, lease.queue, lease.take, queue.name
             FROM lease CROSS JOIN job ON job.id = lease.job CROSS JOIN queue ON queue.id = lease.queue
           WHERE lease.owner = ? AND lease.job > ? ORDER BY lease.job LIMIT ?`,
        ).all(owner, after?.id ?? Number.MIN_SAFE_INTEGER, count) as unknown as LeasedRow[], ({ payload }) => payload);
      let buried = 0;
      for (const { id, payload, queue, name, take } of rows) {
        const token = `${id}.${take}`;
        const fate = afterDeath(payload, token, running, maxRescues);
        if (fate.kind === "doomed") {
          const { deaths } = fate;
          doomed.push({
            owner,
            token,
            ...splitName(name),
            payload: fate.payload,
            deaths,
            ...(ended !== undefined && { ended }),
          });
          buried++;
          continue;
        }
        sql("DELETE FROM lease WHERE job = ?").run(id);
        if (fate.payload !== payload) this.#jobs.rewrite(id, fate.payload);
        this.#queues.giveBack(queue, id);
        rescued++;
      }
      const leases = this.#processes.countLeases(owner);
      if (leases === 0) this.#processes.forget(owner);
      more ||= leases > buried;
    }
    return { rescued, doomed, owners, more, waits };
  }

  #isLeased(owner: string, token: string): boolean {
    return this.#leases.stillLeased(owner, [token]).length > 0;
  }
}
