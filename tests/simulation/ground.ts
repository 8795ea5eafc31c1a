/**
 * The store of a simulation, as the judges see it.
 *
 * @module
 */
import type { Store } from "../../src/store/admin/store.ts";
import type { CronRecord } from "../../src/cron/occurrence.ts";
import type { Link } from "./link.ts";
import type { Machine, World } from "./world.ts";

export interface StoredJob {
  readonly jid: string;
  readonly place: string;
  readonly isCron: boolean;
  /** The worker that runs it. */
  readonly worker?: string;
}

export interface StoredBatch {
  readonly id: string;
  readonly isFlow: boolean;
  /** Nothing of it will run any more. */
  readonly isEnded: boolean;
}

export interface StoreState {
  /** Oldest first. */
  readonly jobs: readonly StoredJob[];
  /** The IDs of the registered workers. */
  readonly workers: readonly string[];
  /** Batches and flows, oldest first. */
  readonly batches: readonly StoredBatch[];
  /** Contradictions within the store: one line each. */
  readonly wrong: readonly string[];
}

export interface LastState {
  /** Remains: one line each. */
  readonly left: readonly string[];
  /** The data of the signals that wait for a job. */
  readonly signals: readonly number[];
  /** The log of the cron entry, oldest first. */
  readonly records: readonly CronRecord[];
}

export interface Ground extends AsyncDisposable {
  /** Its name for `make simulate`. */
  readonly name: string;
  /** By how much the store's wall clock is wrong, in milliseconds. */
  clockError: number;
  /** Empties the store for another run. */
  renew(world: World): Promise<void>;
  /** Returns the store as a process opens it. */
  connect(machine: Machine, link: Link): Promise<Store>;
  /** From now on another store, empty, is the one of this ground. Undefined: it has none. */
  moveOn?(): void;
  /** Opens the store before that one. */
  connectBefore?(machine: Machine, link: Link): Promise<Store>;
  /** Returns what that one still has: one line each. */
  leftBehind?(): Promise<readonly string[]>;
  /** The store's server is killed and started again, with its data. Undefined: it has none. */
  restart?(): Promise<void>;
  /** Its replica receives nothing from now on. */
  stopReplica?(): Promise<void>;
  /** Its replica takes its place. */
  failOver?(): Promise<void>;
  /** Returns the state of the store at this moment. */
  look(): Promise<StoreState>;
  /** Returns the ID of the worker that has a job. */
  holder(jid: string): Promise<string | undefined>;
  /** Returns the remains when everything has ended and all workers have stopped. */
  lookLast(): Promise<LastState>;
}

/** The stores that a simulation can have, by name. */
export const GROUNDS: Readonly<Record<string, () => Promise<Ground>>> = {
  sqlite: async () => await (await import("./sqlite_ground.ts")).SqliteGround.open(),
  redis: async () => await (await import("./redis/ground.ts")).RedisGround.open(),
  postgres: async () => await (await import("./postgres/ground.ts")).PostgresGround.open(),
};

/**
 * How many processes run seeds of each at the same time. On PostgreSQL each waits half of the time for its server. On Redis one of
 * the two is always busy: a processor is worth one pair.
 */
export const PROCESSES: Readonly<Record<string, number>> = {
  sqlite: navigator.hardwareConcurrency,
  redis: navigator.hardwareConcurrency,
  postgres: 2 * navigator.hardwareConcurrency,
};
