/**
 * Leases of offline workers → the front of their queues, or `dead`.
 *
 * @module
 */
import { nextRescue } from "../../job/fields.ts";
import { setFields } from "../../job/raw.ts";
import { ByteBudget } from "../batch_bytes.ts";
import type { RescueRequest, RescueResult } from "../store.ts";
import { readBounded } from "./bounded.ts";
import type { Context } from "./context.ts";
import type { JobRow, Jobs } from "./jobs.ts";
import type { Processes } from "./processes.ts";
import type { Queues } from "./queues.ts";
import type { Sets } from "./sets.ts";
import type { UniqueLocks } from "./unique_locks.ts";

interface LeasedRow extends JobRow {
  readonly queue: number;
}

/** Rescues leases. */
export class Rescue {
  readonly #context: Context;
  readonly #jobs: Jobs;
  readonly #processes: Processes;
  readonly #queues: Queues;
  readonly #sets: Sets;
  readonly #locks: UniqueLocks;

  constructor(
    context: Context,
    parts: { jobs: Jobs; processes: Processes; queues: Queues; sets: Sets; locks: UniqueLocks },
  ) {
    this.#context = context;
    this.#jobs = parts.jobs;
    this.#processes = parts.processes;
    this.#queues = parts.queues;
    this.#sets = parts.sets;
    this.#locks = parts.locks;
  }

  /** See `Store.rescue`. */
  async rescue(request: RescueRequest): Promise<RescueResult> {
    const { read, commit } = this.#context;
    // A look first, so that no write lock is needed while all workers are well. The decision is made under the lock.
    const { workers, waits } = await read(() => this.#processes.findOffline(request.owner));
    if (workers.length === 0) return { rescued: 0, buried: 0, owners: [], waits };
    const total = { rescued: 0, buried: 0 };
    const owners = new Set<string>();
    for (;;) {
      const left = request.limit - total.rescued - total.buried;
      const step = await commit.run(() => this.#rescue({ ...request, limit: left }), left);
      total.rescued += step.rescued;
      total.buried += step.buried;
      for (const owner of step.owners) owners.add(owner);
      const isDone = step.rescued + step.buried === 0 || total.rescued + total.buried >= request.limit;
      if (isDone) return { ...total, owners: [...owners], waits: step.waits };
    }
  }

  #rescue({ owner: rescuer, limit, maxRescues }: RescueRequest): RescueResult {
    const now = this.#context.now();
    const owners: string[] = [];
    let rescued = 0;
    let buried = 0;
    const budget = new ByteBudget();
    const { workers, waits } = this.#processes.findOffline(rescuer);
    for (const owner of workers) {
      const left = limit - rescued - buried;
      if (left <= 0 || budget.isSpent) break;
      owners.push(owner);
      const rows = readBounded({ limit: left, budget }, (count, after: LeasedRow | undefined) =>
        this.#context.sql(
          `SELECT job.id, job.jid, job.payload, lease.queue FROM lease CROSS JOIN job ON job.id = lease.job
           WHERE lease.owner = ? AND lease.job > ? ORDER BY lease.job LIMIT ?`,
        ).all(owner, after?.id ?? Number.MIN_SAFE_INTEGER, count) as unknown as LeasedRow[], ({ payload }) => payload);
      for (const row of rows) {
        if (this.#giveBack(row, maxRescues, now)) rescued++;
        else buried++;
      }
      if (!this.#processes.hasLeases(owner)) this.#processes.forget(owner);
    }
    if (buried > 0) this.#sets.trimDead(now);
    return { rescued, buried, owners, waits };
  }

  /** To the front of its queue, or to `dead` when it was rescued too often or cannot be read; false then. */
  #giveBack({ id, jid, payload, queue }: LeasedRow, maxRescues: number, now: number): boolean {
    this.#context.sql("DELETE FROM lease WHERE job = ?").run(id);
    const rescues = nextRescue(payload);
    const counted = withRescues(payload, rescues);
    if (counted !== undefined) this.#jobs.rewrite(id, counted);
    if (counted !== undefined && rescues < maxRescues) {
      this.#queues.giveBack(queue, id);
      return true;
    }
    this.#sets.add("dead", now, id);
    this.#locks.releaseOf(jid);
    return false;
  }
}

/** Undefined when the payload cannot be read. */
function withRescues(payload: string, rescues: number): string | undefined {
  try {
    return setFields(payload, { rescues: String(rescues) });
  } catch {
    return undefined;
  }
}
