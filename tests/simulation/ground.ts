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
  /** The jobs in the store, oldest first. */
  jobs(): Promise<readonly StoredJob[]>;
  /** Returns the ID of the worker that has a job. */
  holder(jid: string): Promise<string | undefined>;
  /** The IDs of the registered workers. */
  workers(): Promise<readonly string[]>;
  /** Batches and flows, oldest first. */
  batches(): Promise<readonly StoredBatch[]>;
  /** The data of the signals that wait for a job. */
  signals(): Promise<readonly number[]>;
  /** The log of the cron entry, oldest first. */
  cronRecords(): Promise<readonly CronRecord[]>;
  /** Contradictions within the store, at any moment: one line each. */
  contradictions(): Promise<readonly string[]>;
  /** Remains in the store after everything has ended and all workers have stopped: one line each. */
  leftovers(): Promise<readonly string[]>;
}

/** The stores that a simulation can have, by name. */
export const GROUNDS: Readonly<Record<string, () => Promise<Ground>>> = {
  sqlite: async () => await (await import("./sqlite_ground.ts")).SqliteGround.open(),
  redis: async () => await (await import("./redis/ground.ts")).RedisGround.open(),
};

/** How many processes run seeds of each at the same time. On Redis each waits half of the time for its server. */
export const PROCESSES: Readonly<Record<string, number>> = {
  sqlite: navigator.hardwareConcurrency,
  redis: 2 * navigator.hardwareConcurrency,
};
