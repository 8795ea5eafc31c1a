/**
 * PostgreSQL as the store of a simulation: a real server, with a database for the store and one to which it is migrated.
 *
 *  1. Each verb is one event: its transactions run to their end before anything else does. So verbs don't meet within the server:
 *     for that there are the deadlock test and the soak.
 *  2. The server's clock is the simulation's: `now_ms` returns what its caller passes.
 *  3. The adapter's waits are replaced: they hear of every commit of another process some time later, and poll.
 *
 * @module
 */
import type { Store } from "../../../src/store/admin/store.ts";
import type { Topic } from "../../../src/store/port/watch.ts";
import { parseAddress } from "../../../src/store/postgres/address.ts";
import { Client } from "../../../src/store/postgres/client.ts";
import { Runner } from "../../../src/store/postgres/engine.ts";
import { prepare } from "../../../src/store/postgres/migrations.ts";
import { postgresStore } from "../../../src/store/postgres/store.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres.ts";
import { createEmpty } from "../../support/postgres_stores.ts";
import { sharedClient } from "../../support/shared_client.ts";
import type { Ground, LastState, StoreState } from "../ground.ts";
import type { Link } from "../link.ts";
import type { Machine, World } from "../world.ts";
import { CHANGED_STATE, LAST_STATE } from "./state.ts";

/** How often waiters look without a commit: for waits that end by the clock. */
const POLL_MS = 5_000;
/** A process learns of the commits of others after this time. */
const SEEN_MS = 5;
/** A client opens at most this many connections, and as many for transactions. */
const CONNECTIONS = 4;
const DEAD_MAX_JOBS = 10_000;
const DEAD_MAX_AGE_MS = 180 * 24 * 3_600_000;
/** Verbs that give the waiting processes nothing to do. */
const SILENT =
  /\.(read|page|find|stats|heartbeat|stillLeased|collect|hasQueuedJobs|look|get|list|note|take|survey|claim)\w*$/;

/** One database. */
interface Side {
  readonly client: Client;
  /** The last look of the judges, and the number that the next transaction that changes something would have had. */
  seen?: { readonly next: string; readonly state: StoreState };
  /** Those that wait, each with what wakes it. */
  readonly waiters: Map<() => void, Machine>;
}

export class PostgresGround implements Ground {
  readonly name = "postgres";
  /** The store's wall clock may be set, too. */
  clockError = 0;
  readonly #server: PostgresServer;
  #sides: readonly [Side, Side];
  #world!: World;
  #isNextUsed = true;

  private constructor(server: PostgresServer, sides: readonly [Side, Side]) {
    this.#server = server;
    this.#sides = sides;
  }

  static async open(): Promise<PostgresGround> {
    const server = await startPostgres();
    const openSide = async (): Promise<Side> => {
      const client = await Client.create(parseAddress(server.url(await server.create())), { waitMs: 10_000 });
      await prepare(client, true);
      await createEmpty((text) => client.run(text));
      await client.run(
        "CREATE OR REPLACE FUNCTION jobs.now_ms(ahead bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT ahead $$",
      );
      await connectAll(client);
      return { client, waiters: new Map() };
    };
    return new PostgresGround(server, [await openSide(), await openSide()]);
  }

  async renew(world: World): Promise<void> {
    this.#world = world;
    this.clockError = 0;
    await empty(this.#sides[0]);
    if (this.#isNextUsed) await empty(this.#sides[1]);
    this.#isNextUsed = false;
  }

  connect(machine: Machine, link: Link): Promise<Store> {
    return this.#open(this.#sides[0], machine, link);
  }

  moveOn(): void {
    this.#isNextUsed = true;
    this.#sides = [this.#sides[1], this.#sides[0]];
  }

  connectBefore(machine: Machine, link: Link): Promise<Store> {
    return this.#open(this.#sides[1], machine, link);
  }

  async leftBehind(): Promise<readonly string[]> {
    const left = await this.#sides[1].client.run(
      "SELECT jid, place FROM jobs.entry UNION ALL SELECT id, 'batch' FROM jobs.batch",
    );
    return left.map((row) => JSON.stringify(row));
  }

  #open(side: Side, machine: Machine, link: Link): Promise<Store> {
    const now = () => Math.round(this.#world.now + this.clockError);
    // The runner passes by how much its clock is ahead of the system's, which is the simulation's: that is the whole time.
    const clock = { ...machine.clock, turn: () => Promise.resolve() };
    const { client, settled } = sharedClient(side.client, { ...clock, now: () => 0 });
    const store = postgresStore(new Runner(client, { ...clock, now: () => now() + this.#world.now }), {
      access: "all",
      wire: 7,
      deadMaxJobs: DEAD_MAX_JOBS,
      deadMaxAgeMs: DEAD_MAX_AGE_MS,
      log: () => {},
    });
    const wake = () => {
      for (const [resolve, one] of side.waiters) {
        if (one !== machine) this.#world.at(this.#world.time + SEEN_MS, one, resolve);
      }
    };
    const watched = { ...store, watch: (_: Topic, signal: AbortSignal) => this.#wait(side, machine, signal) };
    const perform = async (label: string, execute: () => unknown) => {
      try {
        const result = await execute();
        const isIdle = SILENT.test(label) || label === "jobs.promote" && (result as { moved: number }).moved === 0;
        if (!isIdle) wake();
        return result;
      } finally {
        // A verb may return before its fold has ended.
        await settled();
      }
    };
    return Promise.resolve(link.through(watched, { perform, more: ["webhooks", "events"] }));
  }

  /** Resolves after a commit of another process, or after {@linkcode POLL_MS}. */
  #wait({ waiters }: Side, machine: Machine, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        waiters.delete(end);
        signal.removeEventListener("abort", end);
        resolve(!signal.aborted);
      };
      const cancel = this.#world.at(this.#world.time + POLL_MS, machine, end);
      waiters.set(end, machine);
      signal.addEventListener("abort", end);
    });
  }

  /** Looks at the store, unless it hasn't changed since the last look. */
  async look(): Promise<StoreState> {
    const side = this.#sides[0];
    const [row] = await side.client.run(CHANGED_STATE, [side.seen?.next ?? "0"]);
    if (row!.state !== null) side.seen = { next: String(row!.next), state: JSON.parse(String(row!.state)) };
    return side.seen!.state;
  }

  async lookLast(): Promise<LastState> {
    const [row] = await this.#sides[0].client.run(LAST_STATE);
    return JSON.parse(String(row!.state));
  }

  async holder(jid: string): Promise<string | undefined> {
    const [row] = await this.#sides[0].client.run("SELECT worker FROM jobs.entry WHERE jid = $1", [jid]);
    return row?.worker === null || row === undefined ? undefined : String(row.worker);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { client } of this.#sides) await client.close();
    await this.#server[Symbol.asyncDispose]();
  }
}

/** Opens all connections of a client. The driver draws a random number for each, which would be one of the seed's. */
async function connectAll(client: Client): Promise<void> {
  const wait = "SELECT pg_sleep(0.1)";
  await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
    await Promise.all([client.run(wait), client.transaction("1 AS one", (query) => query(wait, []))]);
  }));
}

async function empty({ client, waiters }: Side): Promise<void> {
  waiters.clear();
  await client.run("SELECT public.empty_jobs()");
  // The same seed numbers its jobs in the same way.
  await client.run(
    "SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S' AND relnamespace = 'jobs'::regnamespace",
  );
}
