/**
 * Runs the bodies of the verbs that all SQL stores share, each in a transaction.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import type { Clock } from "../../clock.ts";
import type { Body, Dialect, Row, Statement, Value, WriteOptions } from "../sql/body.ts";
import type { Client } from "./client.ts";
import { array } from "./values.ts";
import { TABLES, VIEWS } from "./objects.ts";

/** The expressions of PostgreSQL. */
export const DIALECT: Dialect = {
  whole: (column) => column,
  like: "ILIKE",
  fieldOf: (field) => `field_of(payload, '${field}')`,
  eventBody: (members) => `event_body(payload, jid, ${members})`,
  isIn: (select) => `= ANY (ARRAY(${select}))`,
  // `OFFSET 0` keeps the order of the join: the planner would read the whole table.
  queuedBetween: (first, last) =>
    `SELECT job, name AS queue FROM queue_row CROSS JOIN LATERAL (
       SELECT job FROM queued WHERE queue = queue_row.id AND job BETWEEN ${first} AND ${last} OFFSET 0) AS there`,
  isStored: "true",
  given(types, rows) {
    if (rows.length === 0) return [];
    const columns = types.map((_, j) => array(rows.map((row) => row[j])));
    const arrays = types.map((type, j) => `?${j + 1}::${type}[]`).join(", ");
    const names = types.map((_, j) => `column${j + 1}`).join(", ");
    return [{ from: `unnest(${arrays}) AS given (${names})`, values: columns }];
  },
  skipLocked: "FOR UPDATE SKIP LOCKED",
};

const NAMES: ReadonlySet<string> = new Set([...TABLES, ...VIEWS]);

/** Sends a statement. */
export type Send = (text: string, values: readonly Value[]) => Promise<readonly Row[]>;

/** Runs bodies and functions in a schema. */
export class Runner {
  readonly client: Client;
  readonly schema: string;
  readonly #clock: Clock;
  readonly #texts = new Map<string, string>();

  /** @param clock its difference to the system's clock moves the store's */
  constructor(client: Client, clock: Clock) {
    this.client = client;
    this.schema = client.address.schema;
    this.#clock = clock;
  }

  /** The milliseconds by which the store's clock is ahead of the server's: 0, except in tests. */
  get ahead(): number {
    for (;;) {
      const now = systemClock.now();
      const ahead = this.#clock.now() - now;
      // This process may have stood still in between.
      if (systemClock.now() === now) return Math.round(ahead);
    }
  }

  /** Calls a function, by itself. Its first parameter is {@linkcode ahead}. */
  async call(
    name: string,
    values: readonly Value[],
    types: readonly string[],
    options?: { readonly isRepeatable?: boolean; readonly isOnce?: boolean },
  ): Promise<readonly Row[]> {
    return await this.client.run(this.callText(name, types), [this.ahead, ...values], options);
  }

  /** Returns the statement that calls a function. */
  callText(name: string, types: readonly string[]): string {
    const parameters = ["bigint", ...types].map((type, i) => `$${i + 1}::${type}`).join(", ");
    return `SELECT * FROM ${this.schema}.${name}(${parameters})`;
  }

  /** Runs a body in a transaction. */
  async write<T>(body: (now: number) => Body<T>, options: WriteOptions = {}): Promise<T> {
    const { replyTimeoutMs, lockTimeoutMs } = options;
    return await this.client.transaction(
      `${this.schema}.now_ms(${this.ahead}) AS now`,
      (query, { now }) => this.#run(body(Number(now)), query),
      {
        marks: `${this.schema}.mark`,
        ...(replyTimeoutMs !== undefined && { replyTimeoutMs }),
        ...(lockTimeoutMs !== undefined && { lockTimeoutMs }),
      },
    );
  }

  /** Runs a body that only reads: each statement by itself. */
  async read<T>(body: (now: number) => Body<T>): Promise<T> {
    const now = body.length === 0 ? 0 : await this.now();
    return await this.#run(body(now), (text, values) => this.client.run(text, values));
  }

  /** Runs a body that only reads, at one moment. */
  async readMoment<T>(body: (now: number) => Body<T>): Promise<T> {
    return await this.client.transaction(
      `${this.schema}.now_ms(${this.ahead}) AS now`,
      async (query, { now }) => await this.#run(body(Number(now)), query),
      { isolation: "REPEATABLE READ" },
    );
  }

  /** Runs a body on another connection, in its transaction. Waits for each statement. */
  async runOn<T>(body: Body<T>, send: Send): Promise<T> {
    const all: Promise<unknown>[] = [];
    const result = await this.#run(body, (text, values) => {
      const rows = send(text, values);
      all.push(rows);
      return rows;
    });
    await Promise.all(all);
    return result;
  }

  /** Returns the store's time. */
  async now(): Promise<number> {
    const [row] = await this.client.run(`SELECT ${this.schema}.now_ms($1) AS now`, [this.ahead]);
    return Number(row!.now);
  }

  /**
   * Runs a body. It doesn't wait for a statement that returns no rows: an error of it fails those that follow, and the commit.
   */
  async #run<T>(body: Body<T>, query: Send): Promise<T> {
    let step = body.next();
    while (!step.done) {
      const { value } = step;
      const rows = this.#statement(value, query);
      if (value.text === undefined || isSilent(value.text)) {
        rows.catch(() => {});
        step = body.next([]);
        continue;
      }
      try {
        step = body.next(await rows);
      } catch (error) {
        body.return(undefined as T);
        throw error;
      }
    }
    return step.value;
  }

  async #statement(statement: Statement, query: Send): Promise<readonly Row[]> {
    if (statement.text !== undefined) return await query(this.#textOf(statement.text), statement.values);
    if (statement.locks === undefined) return await query(this.#textOf(statement.rows), statement.values);
    return await query(`SELECT ${this.schema}.lock_names($1::text[])`, [array(statement.locks)]);
  }

  /** Returns the text with numbered parameters, and with the schema before each table. */
  #textOf(text: string): string {
    let known = this.#texts.get(text);
    if (known === undefined) {
      known = text.replace(/\?(\d+)/g, "$$$1")
        .replace(
          /\b(FROM|JOIN|INTO|UPDATE)\s+(\w+)\b(?!\.)/g,
          (all, before, name) => NAMES.has(name) ? `${before} ${this.schema}.${name}` : all,
        )
        .replace(/\b(field_of|event_body)\(/g, `${this.schema}.$1(`);
      this.#texts.set(text, known);
    }
    return known;
  }
}

/** Returns whether nothing reads the rows of a statement. */
function isSilent(text: string): boolean {
  return /^SELECT (nextval|\w+\.(fold_groups|end_turns))\(/.test(text) ||
    !/^\s*(SELECT|WITH)\b/.test(text) && !text.includes("RETURNING");
}
