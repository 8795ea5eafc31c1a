/**
 * Writes steps under the leases of their jobs. Those that end while others are being written share the next statement, and its
 * sync of the disk. A statement whose reply was lost is repeated: that changes no result.
 *
 * @module
 */
import { StoreError } from "../port/errors.ts";
import type { StepLease, StoredStep } from "../port/steps.ts";
import type { Engine } from "../sql/body.ts";
import { findStep, partsOf } from "../sql/step_rows.ts";
import type { Runner } from "./engine.ts";
import { array } from "./values.ts";

/** Maximum number of steps in a statement. */
const MAX_TOGETHER = 100;
/** Maximum number of characters of their records, apart from the last one. */
const MAX_CHARACTERS = 1 << 20;

/** A step to write, and its caller. */
interface StepWrite {
  readonly lease: StepLease;
  readonly step: StoredStep;
  readonly resolve: (record: string | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Writes steps. */
export class StepWrites {
  readonly #runner: Runner;
  readonly #engine: Pick<Engine, "read">;
  readonly #waiting: StepWrite[] = [];
  #isRunning = false;

  constructor(runner: Runner, engine: Pick<Engine, "read">) {
    this.#runner = runner;
    this.#engine = engine;
  }

  /** See `StepStore.remember`. */
  add(lease: StepLease, step: StoredStep): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ lease, step, resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // Steps that end in the rest of this turn share the statement.
    await this.#runner.client.clock.turn();
    while (this.#waiting.length > 0) await this.#write(this.#takeTogether());
    this.#isRunning = false;
  }

  /** Removes the writes of one statement, which can't write a step twice. */
  #takeTogether(): StepWrite[] {
    const known = new Set<string>();
    let characters = 0;
    let count = 0;
    for (const { lease, step } of this.#waiting) {
      const key = keyOf(lease.jid, step.name);
      if (count === MAX_TOGETHER || characters >= MAX_CHARACTERS || known.has(key)) break;
      known.add(key);
      characters += step.record.length;
      count++;
    }
    return this.#waiting.splice(0, count);
  }

  async #write(writes: readonly StepWrite[]): Promise<void> {
    try {
      const written = await this.#insert(writes);
      await Promise.all(writes.map(async ({ lease, step, resolve }) => {
        if (written.has(keyOf(lease.jid, step.name))) return resolve(step.record);
        // The lease is lost, or the step has succeeded.
        resolve((await this.#engine.read(() => findStep(lease, step.name)))?.record ?? undefined);
      }));
    } catch (error) {
      // A step that can't be stored doesn't fail those that share its statement.
      if (writes.length > 1 && error instanceof StoreError && !error.transient) {
        for (const write of writes) await this.#write([write]);
        return;
      }
      for (const { reject } of writes) reject(error);
    }
  }

  /** Returns the keys of the written steps. */
  async #insert(together: readonly StepWrite[]): Promise<ReadonlySet<string>> {
    const { client, schema } = this.#runner;
    // All workers write their jobs in one order: a worker that stood still may write those of another, which must not wait for each other.
    const writes = together.toSorted((a, b) => compare(a.lease.jid, b.lease.jid));
    const parts = writes.map(({ lease }) => partsOf(lease.token));
    const rows = await client.run(
      `INSERT INTO ${schema}.step (jid, name, record)
       SELECT one.jid, one.name, one.record
       FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[])
         WITH ORDINALITY AS one (job, take, worker, jid, name, record, position)
       JOIN ${schema}.lease USING (job, take)
       JOIN ${schema}.lease_worker ON lease_worker.id = worker_id AND lease_worker.worker = one.worker
       -- A job that ends at this moment has no steps afterwards.
       ORDER BY position FOR KEY SHARE OF lease
       ON CONFLICT (jid, name) DO UPDATE SET record = excluded.record
       WHERE step.record NOT LIKE '{"state":"succeeded",%' RETURNING jid, name`,
      [
        array(parts.map(([job]) => job)),
        array(parts.map(([, take]) => take)),
        array(writes.map(({ lease }) => lease.worker)),
        array(writes.map(({ lease }) => lease.jid)),
        array(writes.map(({ step }) => step.name)),
        array(writes.map(({ step }) => step.record)),
      ],
    );
    return new Set(rows.map(({ jid, name }) => keyOf(jid as string, name as string)));
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function keyOf(jid: string, name: string): string {
  return JSON.stringify([jid, name]);
}
