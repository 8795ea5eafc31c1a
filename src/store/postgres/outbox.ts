/**
 * The outbox in a PostgreSQL database (`outbox.sql`): rows are locked, pushed and deleted in one transaction.
 *
 *  1. A row is deleted after its job is stored. If the worker is killed in between, the row is pushed again with its ID, which the
 *     store knows for a day.
 *  2. Locked rows are skipped: several workers share them, and rows of transactions that haven't ended aren't seen.
 *  3. A lost delete is harmless, so its commit doesn't wait for the disk.
 *  4. A statement over many rows fails for one of them: a job that isn't UTF-8, an order that refers to the row. Then each row has a
 *     transaction by itself, and the one that fails is kept with the reason.
 *
 * @module
 */
import { StoreError } from "../port/errors.ts";
import {
  MAX_COUNTED_ROWS,
  type Outbox,
  type OutboxBounds,
  type OutboxRow,
  type OutboxState,
  type RefusedRow,
} from "../port/outbox.ts";
import type { Row, Value } from "../sql/body.ts";
import { parseAddress } from "./address.ts";
import { Client } from "./client.ts";
import sqlText from "./outbox.sql" with { type: "text" };
import { array } from "./values.ts";

/** The SQL that creates the tables. */
export const OUTBOX_SQL: string = sqlText;

const CHANNEL = "jobs_outbox";
/** The caller retries. */
const WAIT_MS = 1_000;
/** The server frees the rows of a worker that stands still. */
const IDLE_TIMEOUT_MS = 30_000;
const SHOWN_CHARS = 200;
/** The beginning of a job, as bytes: in a database without an encoding they may be no text. */
const SHOWN = `encode(convert_to(left(job::text, ${SHOWN_CHARS}),
  CASE getdatabaseencoding() WHEN 'SQL_ASCII' THEN 'SQL_ASCII' ELSE 'UTF8' END), 'base64')`;
/** The classes of errors that one row may cause: its data, a constraint, a trigger. */
const ERRORS_OF_ROWS = /^(?:21|22|23|27|44|54|P0)/;

/** The outbox in one database. */
export class PostgresOutbox implements Outbox {
  readonly #client: Client;
  readonly #table: string;
  /** Rows that can neither be pushed nor changed. */
  readonly #skipped = new Set<number>();

  private constructor(client: Client) {
    this.#client = client;
    this.#table = `${client.address.schema}.jobs_outbox`;
  }

  /** @throws {StoreError} if the address is invalid */
  static async open(url: string): Promise<PostgresOutbox> {
    const address = parseAddress(url, { what: "outbox", schema: "public" });
    return new PostgresOutbox(await Client.create(address, { waitMs: WAIT_MS, idleTimeoutMs: IDLE_TIMEOUT_MS }));
  }

  get shown(): string {
    return this.#client.address.shown;
  }

  async relay(
    { rows, bytes, jobBytes }: OutboxBounds,
    push: (rows: readonly OutboxRow[]) => Promise<readonly (string | undefined)[]>,
    onKept: (number: number, reason: string) => void = () => {},
  ): Promise<number> {
    /** The results of rows whose jobs have been pushed. */
    const results = new Map<number, string | undefined>();
    let pushFailure: { readonly error: unknown } | undefined;
    const pushOnce = async (taken: readonly OutboxRow[]) => {
      const fresh = taken.filter(({ number }) => !results.has(number));
      try {
        const errors = fresh.length === 0 ? [] : await push(fresh);
        for (const [i, { number }] of fresh.entries()) results.set(number, errors[i]);
      } catch (error) {
        pushFailure = { error };
        throw error;
      }
      return taken.map(({ number }) => results.get(number));
    };
    const attempt = async (where: string) => {
      try {
        return await this.#relayRows(where, { rows, bytes, jobBytes }, pushOnce);
      } catch (error) {
        const reason = reasonOfRow(error);
        if (pushFailure !== undefined || reason === undefined) throw error;
        return reason;
      }
    };
    const free = `error IS NULL AND number <> ALL ('{${[...this.#skipped].join(",")}}')`;
    const relayed = await attempt(free);
    if (typeof relayed === "number") return relayed;
    const locked = await this.#named(() =>
      this.#client.run(
        `SELECT number FROM ${this.#table} WHERE ${free} ORDER BY number LIMIT ${rows} FOR UPDATE SKIP LOCKED`,
      )
    );
    for (const { number } of locked) {
      const reason = await attempt(`error IS NULL AND number = ${number}`);
      if (typeof reason === "number") continue;
      const place = Number(number);
      const refusal = results.get(place);
      const text = refusal ??
        (results.has(place)
          ? `Its job was pushed, but the row can't be changed: ${reason}. Delete it`
          : `Its job can't be read: ${reason}`);
      await this.#note(place, text);
      if (refusal === undefined) onKept(place, text);
    }
    return results.size;
  }

  /** Takes rows, pushes their jobs, and deletes them or stores why they were refused, in one transaction. */
  async #relayRows(
    where: string,
    { rows, bytes, jobBytes }: OutboxBounds,
    push: (rows: readonly OutboxRow[]) => Promise<readonly (string | undefined)[]>,
  ): Promise<number> {
    const take = `WITH locked AS (
        SELECT number, id, job, octet_length(job::text) AS size FROM ${this.#table} WHERE ${where}
        ORDER BY number LIMIT ${rows} FOR UPDATE SKIP LOCKED
      ), summed AS (SELECT *, sum(least(size, ${jobBytes})) OVER (ORDER BY number) - size AS before FROM locked)
      SELECT number, id::text AS id, CASE WHEN size <= ${jobBytes} THEN job::text END AS job FROM summed
      WHERE before < ${bytes} ORDER BY number`;
    return await this.#named(() =>
      this.#client.transaction("set_config('synchronous_commit', 'off', true)", async (query) => {
        const taken = (await query(take, [])).map(({ number, id, job }): OutboxRow => ({
          number: Number(number),
          id: String(id),
          job: job === null ? undefined : String(job),
        }));
        if (taken.length === 0) return 0;
        const errors = await push(taken);
        const numbers = (isRefused: boolean) =>
          taken.filter((_, i) => (errors[i] !== undefined) === isRefused).map(({ number }) => number);
        await query(`DELETE FROM ${this.#table} WHERE number = ANY($1::bigint[])`, [array(numbers(false))]);
        if (numbers(true).length > 0) {
          await query(
            `UPDATE ${this.#table} AS row SET error = given.error
               FROM unnest($1::bigint[], $2::text[]) AS given (number, error) WHERE row.number = given.number`,
            [array(numbers(true)), array(errors.filter((error) => error !== undefined))],
          );
        }
        return taken.length;
      })
    );
  }

  /** Stores why a row is kept. One in which even that can't be stored is skipped while this process runs. */
  async #note(number: number, text: string): Promise<void> {
    const store = (error: string) =>
      this.#client.run(`UPDATE ${this.#table} SET error = $2 WHERE number = $1 AND error IS NULL`, [number, error]);
    try {
      // The encoding of the database may lack a character.
      await store(text).catch(() => store(text.replaceAll(/[^\x20-\x7e]/g, "?")));
    } catch (error) {
      if (reasonOfRow(error) === undefined) throw error;
      this.#skipped.add(number);
    }
  }

  listen(onCommit: () => void): () => Promise<void> {
    // Where notifications don't arrive, polls find the rows.
    return this.#client.listen(CHANNEL, onCommit, onCommit).stop;
  }

  async read(): Promise<OutboxState> {
    const count = (where: string) =>
      `(SELECT count(*) FROM (SELECT FROM ${this.#table} WHERE ${where} LIMIT ${MAX_COUNTED_ROWS}) AS counted)`;
    const [row] = await this.#named(() =>
      this.#ask(
        `SELECT ${count("error IS NULL")} AS waiting, ${count("error IS NOT NULL")} AS refused,
          (SELECT extract(epoch FROM clock_timestamp() - created_at) * 1000 FROM ${this.#table}
            WHERE error IS NULL ORDER BY number LIMIT 1) AS oldest`,
      )
    );
    const { waiting, refused, oldest } = row!;
    return {
      waiting: Number(waiting),
      ...(oldest !== null && { oldestMs: Math.max(0, Math.round(Number(oldest))) }),
      refused: Number(refused),
    };
  }

  async refused(limit: number): Promise<readonly RefusedRow[]> {
    const rows = await this.#named(() =>
      this.#ask(
        `SELECT number, ${SHOWN} AS job, error FROM ${this.#table}
          WHERE error IS NOT NULL ORDER BY number LIMIT ${limit}`,
      )
    );
    return rows.map(({ number, job, error }) => ({
      number: Number(number),
      job: new TextDecoder().decode(Uint8Array.fromBase64(String(job))),
      error: String(error),
    }));
  }

  async retry(numbers?: readonly number[]): Promise<number> {
    const which = numbers === undefined ? "" : "AND number = ANY($1::bigint[])";
    const rows = await this.#named(() =>
      this.#ask(
        `WITH mended AS (UPDATE ${this.#table} SET error = NULL WHERE error IS NOT NULL ${which} RETURNING 1)
          SELECT count(*) AS count FROM mended`,
        numbers === undefined ? [] : [array(numbers)],
      )
    );
    return Number(rows[0]!.count);
  }

  /** Runs a statement that doesn't wait for a locked table. */
  #ask(text: string, values: readonly Value[] = []): Promise<readonly Row[]> {
    return this.#client.transaction("1 AS one", (query) => query(text, values));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
  }

  /** Names the outbox in errors of its table, which are worded for a store. */
  async #named<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      const code = (error.cause as { code?: unknown } | undefined)?.code;
      const { schema } = this.#client.address;
      if (code === "42P01" || code === "3F000") {
        throw new StoreError(
          "missing",
          `No table jobs_outbox in schema ${schema} at "${this.shown}"; create it: jobs outbox sql | psql, or name another schema with ?schema=`,
          { cause: error },
        );
      }
      if (code === "42501") {
        throw new StoreError(
          "denied",
          `PostgreSQL at "${this.shown}" denied access to the outbox: grant this user SELECT, UPDATE and DELETE on ${this.#table}`,
          { cause: error },
        );
      }
      throw error;
    }
  }
}

/** Returns the server's reply to a statement that failed because of a row; undefined if it failed otherwise. */
function reasonOfRow(error: unknown): string | undefined {
  const cause = error instanceof StoreError
    ? error.cause as { code?: unknown; message?: unknown } | undefined
    : undefined;
  if (typeof cause?.code !== "string" || !ERRORS_OF_ROWS.test(cause.code)) return undefined;
  return String(cause.message).split("\n")[0]!;
}
