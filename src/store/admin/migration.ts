/**
 * The migration part of the store port: migrates everything to another store, for `jobs migrate`.
 *
 * Jobs migrate in batches. The source announces each batch, so that a migration that was killed continues with the same jobs.
 * The target remembers the batch in the step that imports its jobs. The source deletes the jobs and ends the batch in one
 * step. So no job is mistaken for another, even if they are byte-identical.
 *
 * @module
 */
import type { Entry, Place } from "./admin.ts";
import type { StoredStep } from "../port/steps.ts";
import type { UniqueLock } from "../port/jobs.ts";

/** A job of another store. */
export interface ImportedJob {
  /** Its place in both stores. */
  readonly place: Exclude<Place, { readonly in: "running" }>;
  /** Its payload, which isn't changed. */
  readonly payload: string;
  /** In a set: when it is due, or when it died. */
  readonly at?: number;
  /** Its unique lock. It is taken if it is free; the job is imported in any case. */
  readonly unique?: UniqueLock & { readonly jid: string };
  /** In `scheduled`: the key whose next push replaces it, unless another job waits for that key; and when its wait began. */
  readonly debounce?: { readonly key: string; readonly firstAt: number; readonly jid: string };
}

/** The accepted pushes of a throttle that still count. Times are relative: two stores have two clocks. */
export interface ThrottleState {
  /** Names what is throttled. */
  readonly key: string;
  /** The time of the throttle, in milliseconds. */
  readonly perMs: number;
  /** The latest first. */
  readonly pushes: readonly { readonly jid: string; readonly agoMs: number }[];
}

/** The key of an idempotent push. */
export interface OnceKeyState {
  /** Names the push. */
  readonly key: string;
  /** The job, or the flow, that was stored with it. */
  readonly jid: string;
  /** Milliseconds until it is forgotten. */
  readonly leftMs: number;
  /** See `OnceKey`; empty for none. */
  readonly fingerprint: string;
}

/** A batch of entries that migrates to another store. */
export interface MigrationBatch {
  /** Unique among the batches of all stores. */
  readonly id: string;
  /** Its entries, in order. */
  readonly refs: readonly string[];
}

/** Imports the jobs of another store, and exports the jobs of this one. */
export interface MigrationStore {
  /**
   * Imports a batch of jobs, each to its place, behind the existing ones, and remembers the batch, all in one step.
   * Does nothing for a batch that is remembered: its jobs were imported before.
   *
   * @returns the number of imported jobs
   */
  importJobs(batch: string, jobs: readonly ImportedJob[]): Promise<number>;

  /**
   * Imports the steps of a job before the job itself, except those that exist already: a wait may have ended here since it was
   * first imported. If it has, {@linkcode importJobs} makes the job due.
   */
  importSteps(jid: string, steps: readonly StoredStep[]): Promise<void>;

  /**
   * Returns what the next push with the same key replaces, by ref. A job that has begun is not among them: it may sleep in
   * `scheduled`, and still has the key in its payload.
   */
  debounced(entries: readonly Entry[]): Promise<ReadonlyMap<string, NonNullable<ImportedJob["debounce"]>>>;

  /**
   * Returns a page of the throttles whose pushes count. One that isn't changed meanwhile is returned at least once.
   *
   * @param cursor from the page before; absent for the first
   */
  throttles(cursor?: string): Promise<{ readonly throttles: readonly ThrottleState[]; readonly next?: string }>;

  /** Imports throttles. One that counts pushes here already keeps them. */
  importThrottles(throttles: readonly ThrottleState[]): Promise<void>;

  /** Removes throttles, by key. */
  removeThrottles(keys: readonly string[]): Promise<void>;

  /** Returns a page of the keys of idempotent pushes. One that isn't changed meanwhile is returned at least once. */
  onceKeys(cursor?: string): Promise<{ readonly keys: readonly OnceKeyState[]; readonly next?: string }>;

  /** Imports keys of idempotent pushes, except those that this store remembers already. */
  importOnceKeys(keys: readonly OnceKeyState[]): Promise<void>;

  /** Removes keys of idempotent pushes. */
  removeOnceKeys(keys: readonly string[]): Promise<void>;

  /** Remembers a key for {@linkcode KEYS_KEPT_MS}. If another connection finds it, both lead to one store. */
  rememberKey(key: string): Promise<void>;

  /** Returns whether a key, or a batch, is remembered. */
  hasKey(key: string): Promise<boolean>;

  /** Forgets a key, or a batch. */
  forgetKey(key: string): Promise<void>;

  /** Returns the announced batch that isn't migrated yet; undefined without one. */
  announced(): Promise<MigrationBatch | undefined>;

  /**
   * Announces a batch. Only one exists at a time.
   *
   * @param refs its entries: only these, not jobs that are pushed to the same places meanwhile
   * @returns the batch; the previous one if that isn't migrated yet
   */
  announce(refs: readonly string[]): Promise<MigrationBatch>;

  /**
   * Deletes the entries of the announced batch, with their unique locks, and ends the batch, all in one step. Does nothing
   * if the batch is migrated already.
   *
   * @param entries those of the batch, as they were read. One that a push has replaced since stays.
   * @returns how many of its entries existed; the same number when called again
   */
  removeAnnounced(batch: MigrationBatch, entries: readonly Entry[]): Promise<number>;
}

/** How long keys and batches are remembered, unless they are forgotten earlier. */
export const KEYS_KEPT_MS = 7 * 24 * 3_600_000;
