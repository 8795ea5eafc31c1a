/**
 * Interleavings of verbs on PostgreSQL. One verb stops before each of its statements, or before each write within its functions, while
 * another one runs to its end or waits for the first. Then the first continues. The outcome has to be that of one order or the other.
 *
 * @module
 */
import postgres from "postgres";
import { type Clock, systemClock } from "../../src/clock.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { openStore } from "../../src/store/open.ts";
import { parseAddress } from "../../src/store/postgres/address.ts";
import { Client } from "../../src/store/postgres/client.ts";
import { storeOn } from "../../src/store/postgres/open.ts";
import type { Row, Value } from "../../src/store/sql/body.ts";
import type { PostgresServer } from "../support/postgres.ts";
import { normalized, SNAPSHOT } from "./snapshot.ts";
import { VERBS } from "./verbs.ts";
import { buildWorld, type World } from "./world.ts";

/** The login of the verb that stops: a trigger knows it by that. */
const HELD = "held";
/** The advisory lock that a trigger waits for. */
const GATE = 4711;
/** Something is wrong if neither verb makes progress for this long. */
const PATIENCE_MS = 60_000;

/** Where a verb stops: before its n-th statement, or before the n-th write within its statements. */
export interface Point {
  readonly before: "statement" | "write";
  readonly number: number;
}

/** The results of verbs in the order in which they were asked for, and the rows that they leave. */
export interface Outcome {
  readonly results: readonly string[];
  readonly rows: readonly string[];
}

/** A statement that was sent. */
export interface Sent {
  readonly text: string;
  readonly values: readonly Value[];
}

/** The tables that a verb reads and writes, and the statements of its transactions. */
export interface Touched {
  readonly transactions: readonly (readonly Sent[])[];
  readonly reads: ReadonlySet<string>;
  readonly writes: ReadonlySet<string>;
}

/** The outcome of an interleaving. */
export interface Interleaved extends Outcome {
  /** The second verb waited for the first. */
  readonly waited: boolean;
  /** They waited for each other, until the server ended one of them. */
  readonly deadlocked: boolean;
}

/** Stops before a statement until it is opened. */
class Gate {
  readonly #at: number;
  #passed = 0;
  readonly #arrival = Promise.withResolvers<void>();
  readonly #opening = Promise.withResolvers<void>();

  constructor(at = Infinity) {
    this.#at = at;
  }

  get arrived(): Promise<void> {
    return this.#arrival.promise;
  }

  open(): void {
    this.#opening.resolve();
  }

  async pass(): Promise<void> {
    if (this.#passed++ !== this.#at) return;
    this.#arrival.resolve();
    await this.#opening.promise;
  }
}

/**
 * Returns the client with a gate before each statement and commit. A store can't close it.
 *
 * @param onEnd receives the statements of each transaction at its end, and the {@linkcode LOCKED} tables
 */
function gated(client: Client, gate: Gate, onEnd?: (sent: readonly Sent[], locked: readonly Row[]) => void): Client {
  const transaction: Client["transaction"] = (begin, run, options) =>
    client.transaction(
      begin,
      async (query, first) => {
        let last: Promise<unknown> = Promise.resolve();
        const sent: Sent[] = [];
        const held = (text: string, values: readonly Value[]) => {
          sent.push({ text, values });
          const rows = last.then(() => gate.pass()).then(() => query(text, values));
          last = rows.catch(() => {});
          return rows;
        };
        const result = await run(Object.assign(held, { script: query.script }), first);
        await last;
        if (onEnd !== undefined) onEnd(sent, await query(LOCKED, []));
        await gate.pass();
        return result;
      },
      options,
    );
  const run: Client["run"] = async (...args) => {
    await gate.pass();
    const [text, values = []] = args;
    return onEnd === undefined
      ? await client.run(...args)
      : await transaction("1 AS one", (query) => query(text, values));
  };
  return new Proxy(client, {
    get(target, name) {
      if (name === "transaction") return transaction;
      if (name === "run") return run;
      if (name === "close") return () => Promise.resolve();
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** A session that waits for a lock. */
interface Waiting {
  readonly pid: number;
  readonly name: string;
  readonly by: readonly number[];
}

/** The tables that the transaction has locked, but those into which rows are only inserted, and what waits. */
const LOCKED =
  `SELECT DISTINCT relname AS name, mode = 'RowExclusiveLock' AS writes FROM pg_locks JOIN pg_class ON pg_class.oid = relation
  WHERE pid = pg_backend_pid() AND relkind = 'r' AND relnamespace = 'jobs'::regnamespace
    AND relname NOT IN ('size_change', 'count_change', 'counter', 'pusher', 'waiting', 'event', 'lease_worker')`;

const SETUP = `
  CREATE SCHEMA explorer;
  CREATE SEQUENCE explorer.point MINVALUE -1000000;
  CREATE FUNCTION explorer.stop() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF session_user = '${HELD}' AND nextval('explorer.point') = 0 THEN PERFORM pg_advisory_xact_lock_shared(${GATE}); END IF;
    RETURN NULL;
  END $$;`;

/** Explores one database. */
export class Explorer implements AsyncDisposable {
  readonly #sql: ReturnType<typeof postgres>;
  readonly #observer: ReturnType<typeof postgres>;
  readonly #clients: readonly [held: Client, second: Client, third: Client];
  readonly #clock: Clock & { at: number };
  readonly #world: World;
  /** The latest verbs. */
  #latest: readonly string[] = [];
  #runs = 0;

  private constructor(
    sql: ReturnType<typeof postgres>,
    observer: ReturnType<typeof postgres>,
    clients: readonly [Client, Client, Client],
    clock: Clock & { at: number },
    world: World,
  ) {
    this.#sql = sql;
    this.#observer = observer;
    this.#clients = clients;
    this.#clock = clock;
    this.#world = world;
  }

  /** Builds the prepared store in a new database. */
  static async open(server: PostgresServer): Promise<Explorer> {
    const name = await server.create();
    const url = server.url(name);
    const clock = { ...systemClock, at: systemClock.now(), now: () => clock.at };
    let world;
    {
      await using store = await openStore(url, { clock });
      world = await buildWorld(store, clock);
    }
    const connect = () =>
      postgres({
        ...{ path: `${server.dir}/.s.PGSQL.${server.port}`, username: "postgres", database: name, max: 1 },
        ...{ fetch_types: false, max_lifetime: null, onnotice: () => {} },
      });
    const sql = connect();
    await sql.unsafe(SETUP);
    await sql.unsafe(
      `DO $$ BEGIN IF to_regrole('${HELD}') IS NULL THEN CREATE ROLE ${HELD} LOGIN SUPERUSER; END IF; END $$`,
    );
    await sql.unsafe(await restoring((text) => sql.unsafe(text)));
    const openClient = (address: string) =>
      Client.create(parseAddress(address), {
        waitMs: PATIENCE_MS,
        replyTimeoutMs: PATIENCE_MS,
        idleTimeoutMs: PATIENCE_MS,
      });
    const clients = [
      await openClient(url.replace("postgres@", `${HELD}@`)),
      await openClient(url),
      await openClient(url),
    ] as const;
    return new Explorer(sql, connect(), clients, clock, world);
  }

  /** Runs verbs one after the other. @param order their positions: a verb may run twice */
  async serial(names: readonly string[], order: readonly number[] = names.map((_, i) => i)): Promise<Outcome> {
    await this.#restore(names);
    const results: string[] = [];
    for (const i of order) {
      results[i] = await resultOf(VERBS[names[i]!]!.run(this.#store(1), this.#world), this.#world.now);
    }
    return await this.#outcome(names, results);
  }

  /** Returns the statements of a verb, the tables that it reads, and those that it writes: a transaction has locks of them. */
  async touched(name: string): Promise<Touched> {
    await this.#restore([name]);
    const reads = new Set<string>();
    const writes = new Set<string>();
    const transactions: (readonly Sent[])[] = [];
    const note = (sent: readonly Sent[], rows: readonly Row[]) => {
      transactions.push(sent);
      for (const { name, writes: isWritten } of rows) (isWritten ? writes : reads).add(String(name));
    };
    await resultOf(VERBS[name]!.run(this.#store(1, undefined, note), this.#world), this.#world.now);
    return { reads, writes, transactions };
  }

  /** Runs the second verb while the first one has stopped. Returns undefined if the first doesn't come to that point. */
  async interleave(first: string, second: string, point: Point): Promise<Interleaved | undefined> {
    const { now } = this.#world;
    await this.#restore([first, second]);
    const gate = new Gate(point.before === "statement" ? point.number : undefined);
    await this.#sql.unsafe(
      `SELECT setval('explorer.point', ${-1 - (point.before === "write" ? point.number : 900_000)})`,
    );
    await this.#sql.unsafe(`SELECT pg_advisory_lock(${GATE})`);
    let isLocked = true;
    const open = async () => {
      gate.open();
      if (!isLocked) return;
      isLocked = false;
      await this.#sql.unsafe(`SELECT pg_advisory_unlock(${GATE})`);
    };
    try {
      const one = observed(resultOf(VERBS[first]!.run(this.#store(0, gate), this.#world), now));
      const arrived = observed(gate.arrived);
      const isAtGate = ({ waiting, gatekeeper }: { waiting: readonly Waiting[]; gatekeeper: number }) =>
        waiting.some(({ by }) => by.includes(gatekeeper));
      await this.#look((locks) => one.isSettled || arrived.isSettled || isAtGate(locks), [
        one.promise,
        arrived.promise,
      ]);
      if (one.isSettled) return undefined;
      const two = observed(resultOf(VERBS[second]!.run(this.#store(1), this.#world), now));
      await this.#look(
        ({ waiting, held }) =>
          two.isSettled || waiting.some(({ name, by }) => name !== HELD && by.some((pid) => held.includes(pid))),
        [two.promise],
      );
      const waited = !two.isSettled;
      await open();
      let deadlocked = false;
      const both = observed(Promise.all([one.promise, two.promise]));
      await this.#look(({ waiting }) => {
        deadlocked ||= waiting.some(({ pid, by }) =>
          waiting.some((other) => by.includes(other.pid) && other.by.includes(pid))
        );
        return both.isSettled;
      }, [both.promise]);
      return { ...await this.#outcome([first, second], await both.promise), waited, deadlocked };
    } finally {
      await open();
    }
  }

  /** Stops the first two of three verbs before one of their statements, runs the third, then continues the second, then the first. */
  async three(names: readonly [string, string, string], stops: readonly [number, number]): Promise<Outcome> {
    await this.#restore(names);
    await this.#sql.unsafe("SELECT setval('explorer.point', -900000)");
    const gates = [new Gate(stops[0]), new Gate(stops[1]), new Gate()];
    const arrivals = gates.map(({ arrived }) => observed(arrived));
    const verbs: ReturnType<typeof observed<string>>[] = [];
    const open = [false, false, true];
    /** Waits until each verb has ended, stands at its gate, or waits for another one. */
    const settle = () =>
      this.#look(
        ({ waiting }) =>
          verbs.filter(({ isSettled }, i) => !isSettled && (open[i] || !arrivals[i]!.isSettled)).length <=
            waiting.length,
        [],
      );
    for (const [i, name] of names.entries()) {
      const client = i as 0 | 1 | 2;
      verbs.push(observed(resultOf(VERBS[name]!.run(this.#store(client, gates[i]), this.#world), this.#world.now)));
      await settle();
    }
    for (const i of [1, 0]) {
      open[i] = true;
      gates[i]!.open();
      if (i === 1) await settle();
    }
    return await this.#outcome(names, await Promise.all(verbs.map(({ promise }) => promise)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#sql.end(), this.#observer.end(), ...this.#clients.map((client) => client.close())]);
  }

  /** Returns a new store: one that remembers what it has read would miss what was restored. */
  #store(client: 0 | 1 | 2, gate?: Gate, onEnd?: Parameters<typeof gated>[2]): Store {
    const options = { clock: this.#clock, deadMaxJobs: this.#world.dead };
    return storeOn(gated(this.#clients[client], gate ?? new Gate(), onEnd), { access: "all" }, options);
  }

  async #restore(next: readonly string[]): Promise<void> {
    try {
      await this.#sql.unsafe("SELECT explorer.restore()", [], { prepare: true });
    } catch (error) {
      throw new Error(`A verb continues after its end: ${this.#latest.join(", ")}`, { cause: error });
    }
    this.#latest = next;
    if (++this.#runs % 200 === 0) await this.#sql.unsafe("VACUUM");
  }

  async #outcome(names: readonly string[], given: readonly string[]): Promise<Outcome> {
    const results = given.map((result, i) => VERBS[names[i]!]!.isRepeated ? "" : result);
    for (const name of names) {
      if (VERBS[name]!.isRepeated) await VERBS[name]!.run(this.#store(1), this.#world);
    }
    const rows = await this.#sql.unsafe(SNAPSHOT, [], { prepare: true });
    return { results, rows: rows.map(({ row }) => normalized(row as string, this.#world.now)).sort() };
  }

  /** Looks at the sessions that wait, until a condition holds. Looks again as soon as one of the promises settles. */
  async #look(
    holds: (locks: { waiting: readonly Waiting[]; held: readonly number[]; gatekeeper: number }) => boolean,
    events: readonly Promise<unknown>[],
  ): Promise<void> {
    const start = performance.now();
    const [{ pid: gatekeeper }] = await this.#sql.unsafe("SELECT pg_backend_pid() AS pid") as unknown as [
      { pid: number },
    ];
    while (performance.now() - start < PATIENCE_MS) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      await Promise.race([...events, new Promise((resolve) => timer = setTimeout(resolve, 2))]);
      clearTimeout(timer);
      const rows = await this.#observer.unsafe(
        `SELECT pid, usename::text AS name, to_json(pg_blocking_pids(pid)) AS by, wait_event_type = 'Lock' AS waits
         FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'jobs'`,
        [],
        { prepare: true },
      ) as unknown as readonly (Row & Waiting & { waits: boolean })[];
      const waiting = rows.filter(({ by }) => by.length > 0);
      const held = rows.filter(({ name }) => name === HELD).map(({ pid }) => pid);
      if (holds({ waiting, held, gatekeeper })) return;
    }
    throw new Error("No verb has made progress");
  }
}

/** Returns the rows of an outcome that another one doesn't have, and the reverse. */
export function difference(from: Outcome, to: Outcome): string[] {
  const lines = (outcome: Outcome) => [
    ...outcome.results.map((result, i) => `result ${i + 1}: ${result}`),
    ...outcome.rows,
  ];
  const [before, after] = [lines(from), lines(to)];
  const less = [...before];
  const more: string[] = [];
  for (const line of after) {
    const at = less.indexOf(line);
    if (at === -1) more.push(line);
    else less.splice(at, 1);
  }
  return [...less.map((line) => `- ${line}`), ...more.map((line) => `+ ${line}`)];
}

function observed<T>(promise: Promise<T>): { readonly promise: Promise<T>; isSettled: boolean } {
  const state = { promise, isSettled: false };
  promise.then(() => state.isSettled = true, () => state.isSettled = true);
  return state;
}

/** Returns a result as text; of an error its message. */
async function resultOf(result: Promise<unknown>, now: number): Promise<string> {
  try {
    return normalized(JSON.stringify(await result) ?? "undefined", now);
  } catch (error) {
    return `error: ${(error as Error).message}`;
  }
}

/** Returns statements that save the rows of all tables, that create the function that restores them, and the triggers that stop. */
async function restoring(run: (text: string) => PromiseLike<readonly Row[]>): Promise<string> {
  const tables =
    (await run("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'jobs' AND tablename <> 'meta' ORDER BY 1"))
      .map(({ name }) => String(name));
  return [
    ...tables.map((name) => `CREATE TABLE explorer.${name} AS SELECT * FROM jobs.${name};`),
    `CREATE FUNCTION explorer.restore() RETURNS void LANGUAGE plpgsql SET session_replication_role = replica AS $$ BEGIN`,
    ...tables.map((name) =>
      `DELETE FROM jobs.${name}; INSERT INTO jobs.${name} OVERRIDING SYSTEM VALUE SELECT * FROM explorer.${name};`
    ),
    "END $$;",
    ...tables.map((name) =>
      `CREATE TRIGGER a_stop BEFORE INSERT OR UPDATE OR DELETE ON jobs.${name} FOR EACH STATEMENT EXECUTE FUNCTION explorer.stop();`
    ),
  ].join("\n");
}
