/** `jobs outbox`. @module */
import type { Outbox } from "../../store/port/outbox.ts";
import { MAX_COUNTED_ROWS } from "../../store/port/outbox.ts";
import { openOutbox, outboxSql } from "../../store/open_outbox.ts";
import type { outboxShape, retriedRowsShape } from "../../operator/shapes/outbox.ts";
import type { JsonOf } from "../../operator/shapes/shape.ts";
import { formatDuration } from "../../job/duration.ts";
import { loadSettings } from "../shared/store.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import { print, printJson } from "../terminal/output.ts";
import { printTable } from "../terminal/table.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs outbox [--json]
       jobs outbox retry [NUMBER …]
       jobs outbox sql

The outbox is a table in the database of an application: a job exists if and
only if the transaction that has inserted its row commits. Workers whose
configuration has "outbox" push its rows. Prints how many rows wait, and those
that were refused, with the reason.

  retry [NUMBER …]   push refused rows again, all by default; mend them before
  sql                print the SQL that creates the table, for a migration

Examples
  jobs outbox sql | psql app
  jobs outbox
  jobs outbox retry 17`;

/** Refused rows that are printed. */
const MAX_REFUSED = 100;

/** Prints the state of the outbox, its SQL, or retries rows. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args: [verb, ...rest] } = parseCommand("outbox", argv, COMMON_FLAGS, "[retry|sql] [NUMBER …]");
  if (verb !== undefined && verb !== "retry" && verb !== "sql") {
    throw new UsageError(`Unexpected argument "${verb}": expected retry or sql`);
  }
  if (verb !== "retry" && rest.length > 0) throw new UsageError(`Unexpected argument "${rest[0]}"`);
  if (verb === "sql") {
    print((await outboxSql()).trimEnd());
    return 0;
  }
  const { settings: { outbox: url } } = await loadSettings(flags);
  if (url === undefined) {
    throw new UsageError(
      'No outbox is set: add "outbox": "postgres://HOST/DATABASE" to the configuration, or set JOBS_OUTBOX',
    );
  }
  await using outbox = await openOutbox(url);
  if (verb === "retry") {
    const retried = await outbox.retry(rest.length > 0 ? rest.map(numberIn) : undefined);
    if (flags.json) printJson({ retried } satisfies JsonOf<typeof retriedRowsShape>);
    else print(`${retried} ${retried === 1 ? "row waits" : "rows wait"} again`);
    return 0;
  }
  const state = await stateOf(outbox);
  if (flags.json) printJson(state);
  else printState(state);
  return 0;
}

async function stateOf(outbox: Outbox): Promise<JsonOf<typeof outboxShape>> {
  const [state, rows] = [await outbox.read(), await outbox.refused(MAX_REFUSED)];
  return { ...state, rows: [...rows] };
}

function printState({ waiting, oldestMs, refused, rows }: JsonOf<typeof outboxShape>): void {
  const count = (rows: number) => rows < MAX_COUNTED_ROWS ? `${rows}` : `${rows} or more`;
  const oldest = oldestMs === undefined ? "" : `, the oldest for ${formatDuration(oldestMs)}`;
  print(`${count(waiting)} ${waiting === 1 ? "row waits" : "rows wait"}${oldest}; ${count(refused)} refused`);
  printTable(["number", "error", "job"], rows.map(({ number, error, job }) => [number, error, job]), "No refused rows");
}

function numberIn(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number)) {
    throw new UsageError(`Invalid row "${text}": expected the number of a refused row, see jobs outbox`);
  }
  return number;
}
