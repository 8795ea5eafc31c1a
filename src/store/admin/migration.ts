/**
 * The migration part of the store port: moves everything to another store, for `jobs migrate`.
 *
 * Jobs go in batches. The source announces a batch before it leaves, so that a move that was killed continues with the
 * same jobs. The target remembers the batch in the step in which its jobs come in. The source deletes the jobs and ends the
 * batch in one step. So no jobs are taken for others, even if they are alike to the last byte.
 *
 * @module
 */
import type { Place } from "./admin.ts";
import type { StoredStep } from "../port/steps.ts";
import type { UniqueLock } from "../port/jobs.ts";

/** A job as another store had it. */
export interface ImportedJob {
  /** Where it was, and is to be. */
  readonly place: Exclude<Place, { readonly in: "leased" }>;
  /** As it was there; it is not changed. */
  readonly payload: string;
  /** In a set: when it is due, or died. */
  readonly at?: number;
  /** The lock it had. It is taken if it is free; the job comes in all the same if it is not. */
  readonly unique?: UniqueLock & { readonly jid: string };
}

/** A batch of entries that moves to another store. */
export interface MigrationBatch {
  /** Unique among the batches of all stores. */
  readonly id: string;
  /** Its entries, in order. */
  readonly refs: readonly string[];
}

/** Imports the jobs of another store, and hands over its own. */
export interface MigrationStore {
  /**
   * Imports a batch of jobs, each to its place, behind those that are there, and remembers the batch, all in one step.
   * Does nothing for a batch that is remembered: its jobs were imported before.
   *
   * @returns the number of imported jobs
   */
  importJobs(batch: string, jobs: readonly ImportedJob[]): Promise<number>;

  /**
   * Imports the steps of a job before the job itself, but for those that are here already.
   *
   * @param at when the job is due, if it is in `scheduled`
   */
  importSteps(jid: string, steps: readonly StoredStep[], at?: number): Promise<void>;

  /** Remembers a key for {@linkcode KEYS_KEPT_MS}. If another connection finds it, both lead to one store. */
  rememberKey(key: string): Promise<void>;

  /** Returns whether a key, or a batch, is remembered. */
  hasKey(key: string): Promise<boolean>;

  /** Forgets a key, or a batch. */
  forgetKey(key: string): Promise<void>;

  /** Returns the announced batch that has not left yet; undefined if there is none. */
  announced(): Promise<MigrationBatch | undefined>;

  /**
   * Announces a batch. Only one exists at a time.
   *
   * @param refs its entries: only these, and not what is pushed to the same places meanwhile
   * @returns the batch; the previous one if that has not left
   */
  announce(refs: readonly string[]): Promise<MigrationBatch>;

  /**
   * Deletes the entries of the announced batch, with their unique locks, and ends the batch, all in one step. Does nothing
   * if the batch has left already.
   *
   * @returns how many of its entries existed; the same number when called again
   */
  removeAnnounced(batch: MigrationBatch): Promise<number>;
}

/** How long keys and batches are remembered, unless they are forgotten before. */
export const KEYS_KEPT_MS = 7 * 24 * 3_600_000;
