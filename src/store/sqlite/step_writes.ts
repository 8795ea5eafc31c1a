/**
 * Writes steps under the leases of their jobs. Those that end in one turn of the event loop share a few statements: a
 * statement for each takes twice as long.
 *
 * @module
 */
import type { StepLease, StoredStep } from "../port/steps.ts";
import { runNow } from "../sql/body.ts";
import { findStep, partsOf } from "../sql/step_rows.ts";
import type { Context } from "./context.ts";
import { ROWS_PER_STATEMENT } from "../sql/in_parts.ts";
import { workerIn } from "../sql/workers.ts";
import { marks } from "./new_jobs.ts";

/** Records are written together up to this many bytes: a store must not be locked for long. */
const MAX_BYTES = 1024 * 1024;
/** This many bytes of records count as a row: a transaction has up to 1,000. */
const BYTES_PER_ROW = 4 * 1024;

/** Steps that are written together. */
interface Together {
  readonly steps: LeasedStep[];
  /** Characters of their records. */
  bytes: number;
  /** The stored record of each. */
  readonly records: Promise<(string | undefined)[]>;
}

/** A step, and the lease of its job. */
interface LeasedStep {
  readonly lease: StepLease;
  readonly step: StoredStep;
}

/** Writes steps. */
export class StepWrites {
  readonly #context: Context;
  /** The steps that the next transaction writes. */
  #next: Together | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** See `StepStore.remember`. */
  add(lease: StepLease, step: StoredStep): Promise<string | undefined> {
    const together = this.#next ??= this.#begin();
    const at = together.steps.push({ lease, step }) - 1;
    together.bytes += step.record.length;
    if (together.bytes >= MAX_BYTES) this.#next = undefined;
    return together.records.then((records) => records[at]);
  }

  #begin(): Together {
    const steps: LeasedStep[] = [];
    const close = () => {
      if (this.#next === together) this.#next = undefined;
    };
    const write = () => {
      // Steps that are added from now on belong to another transaction: this one may run again after a rollback.
      close();
      return writeAll(this.#context, steps);
    };
    const rows = () => steps.length + Math.ceil(together.bytes / BYTES_PER_ROW);
    const together: Together = { steps, bytes: 0, records: this.#context.commit.run(write, { rows }) };
    // A transaction that could not begin doesn't run.
    together.records.catch(close);
    return together;
  }
}

function writeAll(context: Context, steps: readonly LeasedStep[]): (string | undefined)[] {
  const records: (string | undefined)[] = [];
  for (const count of ROWS_PER_STATEMENT) {
    while (steps.length - records.length >= count) {
      records.push(...write(context, steps.slice(records.length, records.length + count)));
    }
  }
  return records;
}

/** Writes steps. Returns the stored record of each; undefined without its lease. */
function write(context: Context, steps: readonly LeasedStep[]): (string | undefined)[] {
  const values: (string | number)[] = [];
  for (const { lease: { worker, token, jid }, step: { name, record } } of steps) {
    const [job, take] = partsOf(token);
    values.push(job, take, worker, jid, name, record);
  }
  const { changes } = context.sql(
    `INSERT INTO step (jid, name, record) SELECT column4, column5, column6 FROM (VALUES ${
      marks("(?, ?, ?, ?, ?, ?)", steps.length)
    }) CROSS JOIN lease ON job = column1 AND take = column2 AND worker_id = ${workerIn("column3")}
     WHERE true ON CONFLICT DO UPDATE SET record = excluded.record WHERE record NOT LIKE '{"state":"succeeded",%'`,
  ).run(...values);
  if (Number(changes) === steps.length) return steps.map(({ step }) => step.record);
  // Of each without a change, the lease is lost, or the step has succeeded.
  return steps.map(({ lease, step }) => runNow(findStep(lease, step.name), context.sql)?.record ?? undefined);
}
