/**
 * The part of the store port that takes over what another store had, for `jobs move`.
 *
 * @module
 */
import type { Place } from "./admin.ts";
import type { UniqueLock } from "./store.ts";

/** A job as another store had it. */
export interface Adopted {
  /** Names it for as long as the move goes on. */
  readonly key: string;
  /** Where it was, and is to be. */
  readonly place: Exclude<Place, { readonly in: "leased" }>;
  /** As it was there; it is not changed. */
  readonly payload: string;
  /** In a set: when it is due, or died. */
  readonly at?: number;
  /** The lock it had. It is taken if it is free; the job comes in all the same if it is not. */
  readonly unique?: UniqueLock & { readonly jid: string };
}

/** Takes over what another store had. */
export interface Adopter {
  /**
   * Takes jobs in, each to its place, behind those that are there, and remembers their keys, all in one step. One whose
   * key is remembered already is there already, and is left out.
   *
   * @returns how many came in
   */
  adopt(jobs: readonly Adopted[]): Promise<number>;

  /** Remembers a key without a job. Whoever else remembers it then is this very store, by whatever address. */
  remember(key: string): Promise<void>;

  /** Whether a key is remembered. */
  remembers(key: string): Promise<boolean>;

  /** Forgets keys. Those that are never forgotten so are forgotten after a week. */
  forget(keys: readonly string[]): Promise<void>;
}

/** For so long keys are remembered. */
export const KEYS_KEPT_MS = 7 * 24 * 3_600_000;
