/**
 * The outbox in a PostgreSQL database (`outbox.sql`): rows are locked, pushed and deleted in one transaction.
 *
 *  1. A row is deleted after its job is stored. If the worker is killed in between, the row is pushed again with its ID, which the
 *     store knows for a day.
 *  2. Locked rows are skipped: several workers share them, and rows of transactions that haven't ended aren't seen.
 *  3. A lost delete is harmless, so its commit doesn't wait for the disk.
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

/** The outbox in one database. */
export class PostgresOutbox implements Outbox {
  readonly #client: Client;
  readonly #table: string;

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
  ): Promise<number> {
    const take = `WITH locked AS (
        SELECT number, id, job, octet_length(job::text) AS size FROM ${this.#table} WHERE error IS NULL
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

  listen(onCommit: () => void): () => Promise<void> {
    // Where notifications don't arrive, polls find the rows.
    return this.#client.listen(CHANNEL, onCommit, onCommit).stop;
  }

  async read(): Promise<OutboxState> {
    const count = (where: string) =>
      `(SELECT count(*) FROM (SELECT FROM ${this.#table} WHERE ${where} LIMIT ${MAX_COUNTED_ROWS}) AS counted)`;
    const [row] = await this.#named(() =>
      this.#client.run(
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
      this.#client.run(
        `SELECT number, left(job::text, ${SHOWN_CHARS}) AS job, error FROM ${this.#table}
          WHERE error IS NOT NULL ORDER BY number LIMIT ${limit}`,
      )
    );
    return rows.map(({ number, job, error }) => ({ number: Number(number), job: String(job), error: String(error) }));
  }

  async retry(numbers?: readonly number[]): Promise<number> {
    const which = numbers === undefined ? "" : "AND number = ANY($1::bigint[])";
    const rows = await this.#named(() =>
      this.#client.run(
        `WITH mended AS (UPDATE ${this.#table} SET error = NULL WHERE error IS NOT NULL ${which} RETURNING 1)
          SELECT count(*) AS count FROM mended`,
        numbers === undefined ? [] : [array(numbers)],
      )
    );
    return Number(rows[0]!.count);
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
