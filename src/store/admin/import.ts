/**
 * The part of the store port that takes over what another store had, for `jobs move`.
 *
 * Jobs go in batches. The source announces a batch before it leaves, so that a move that was killed continues with the
 * same jobs. The target remembers the batch in the step in which its jobs come in. The source deletes the jobs and ends the
 * batch in one step. So no jobs are taken for others, even if they are alike to the last byte.
 *
 * @module
 */
import type { Place } from "./admin.ts";
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

/** A batch of entries on its way to another store. */
export interface Departure {
  /** Names this batch and no other, in every store. */
  readonly id: string;
  /** Its entries, in order. */
  readonly refs: readonly string[];
}

/** Takes over what another store had, and hands over what it has. */
export interface JobImport {
  /**
   * Takes a batch of jobs in, each to its place, behind those that are there, and remembers the batch, all in one step. A
   * batch that is remembered is left out: its jobs came in before.
   *
   * @returns how many came in
   */
  adopt(batch: string, jobs: readonly ImportedJob[]): Promise<number>;

  /** Remembers a key for {@linkcode KEYS_KEPT_MS}. A store that remembers it, too, is this very store. */
  remember(key: string): Promise<void>;

  /** Returns whether a key, or a batch, is remembered. */
  remembers(key: string): Promise<boolean>;

  /** Forgets a key, or a batch. */
  forget(key: string): Promise<void>;

  /** Returns the batch that was announced and has not left; undefined if there is none. */
  departure(): Promise<Departure | undefined>;

  /**
   * Announces a batch. There is one at a time.
   *
   * @param refs its entries: only those, and not what is pushed to the same places meanwhile
   * @returns the batch; the one before it, if that has not left
   */
  announce(refs: readonly string[]): Promise<Departure>;

  /**
   * Deletes the entries of the announced batch, with their unique locks, and ends the batch, all in one step. Does nothing
   * if the batch has left already.
   *
   * @returns how many of its entries were there; the same when it is called again
   */
  depart(departure: Departure): Promise<number>;
}

/** How long keys and batches are remembered, unless they are forgotten before. */
export const KEYS_KEPT_MS = 7 * 24 * 3_600_000;
