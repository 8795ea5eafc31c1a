/**
 * Verbs in a transaction of an application, on its connection.
 *
 * @module
 */
import type { EnqueueResult, NewJob } from "../port/jobs.ts";
import { TEND_LIMIT } from "../port/batches.ts";
import type { Outcome, SettleResult } from "../port/outcomes.ts";
import type { Transaction } from "../../job/transaction.ts";
import type { TransactionStore } from "../port/transactions.ts";
import type { LeaseBook } from "../ops/lease_book.ts";
import { type Body, type Engine, query, type Row, type Value } from "../sql/body.ts";
import { BatchChanges } from "../sql/batch_rows.ts";
import { parseToken } from "../sql/leases.ts";
import { settle } from "../sql/settle.ts";
import type { Runner, Send } from "./engine.ts";
import { jsonOf } from "./jobs.ts";
import { rowsIn } from "./pool.ts";
import { decode, encode } from "./values.ts";

/** Types whose values both drivers return as texts: bigint and numeric. */
const NUMBERS = new Set([20, 1700]);

/** The rows of both drivers, and how they name the types of columns. */
type Result = readonly Row[] & { readonly columns?: readonly { readonly name: string; readonly type: number }[] } | {
  readonly rows: readonly Row[];
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
};

/** Returns the part of the store. */
export function transactionsPart(runner: Runner, engine: Engine, book: LeaseBook): TransactionStore {
  /** The leases of nodes of flows that end in transactions. */
  const nodes = new Set<string>();
  return {
    async enqueue(transaction, jobs): Promise<EnqueueResult[]> {
      const text = `SELECT ${runner.schema}.push_built($1::text) AS results`;
      const [row] = await sender(transaction)(text, [jsonOf(jobs as NewJob[])]);
      return JSON.parse(row!.results as string);
    },
    async settle(transaction, worker, outcomes: readonly Outcome[]): Promise<SettleResult> {
      const send = sender(transaction);
      const [row] = await send(
        `SELECT ${runner.schema}.now_ms($1::bigint) AS now, current_setting('transaction_isolation') AS isolation`,
        [runner.ahead],
      );
      if (row!.isolation !== "read committed" && outcomes.some(({ parent, steps }) => parent !== undefined || steps)) {
        throw new Error(
          `ctx.complete of a job with steps or a parent needs a transaction at READ COMMITTED, not at ${
            String(row!.isolation).toUpperCase()
          }: there it doesn't see what other transactions have committed; begin the transaction with READ COMMITTED`,
        );
      }
      const body: Body<SettleResult> = settle({ ...engine, spreadsLater: true }, worker, outcomes, Number(row!.now));
      const result = await runner.runOn(body, send);
      for (const { token, batch } of outcomes) if (batch?.node !== undefined) nodes.add(token);
      return result;
    },
    async hasEnded(worker, token) {
      const held = await engine.write(function* () {
        // Repeated: an application may leave its transaction open.
        yield query("SELECT set_config('lock_timeout', '5s', true)");
        return yield* engine.holdLeases(worker, [parseToken(token)]);
      });
      const hasEnded = held.size === 0;
      if (hasEnded) book.drop(worker, [token]);
      // The tender of any worker does it, too, but later.
      if (nodes.delete(token) && hasEnded) await spreadNodes(engine).catch(() => {});
      return hasEnded;
    },
  };
}

/** Pushes the nodes that follow ended ones. */
function spreadNodes({ write, storeJobs }: Engine): Promise<void> {
  return write((now) => new BatchChanges(storeJobs).spread(TEND_LIMIT, now));
}

/** Returns what sends a statement, one after the other: the drivers allow no other one until the first is answered, or warn of it. */
function sender(transaction: Transaction): Send {
  const run = "unsafe" in transaction
    ? (text: string, values: Value[]) => transaction.unsafe(text, values)
    : (text: string, values: Value[]) => transaction.query(text, values);
  let last: Promise<unknown> = Promise.resolve();
  return (text, values) => {
    const rows = last.then(async () =>
      rowsOf(await run(text, values.map((value) => typeof value === "string" ? encode(value) : value)))
    );
    last = rows;
    return rows;
  };
}

function rowsOf(result: Result): readonly Row[] {
  const isPg = "rows" in result;
  const rows = isPg ? result.rows : rowsIn(result);
  const types = new Map<string, number>(
    isPg
      ? result.fields?.map(({ name, dataTypeID }) => [name, dataTypeID])
      : result.columns?.map(({ name, type }) => [name, type]),
  );
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        typeof value !== "string" ? value : NUMBERS.has(types.get(name)!) ? Number(value) : decode(value),
      ]),
    )
  );
}
