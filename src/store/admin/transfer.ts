/**
 * The transfer part of the store port: hands everything to another store, as a stream of rows, for `jobs migrate`.
 *
 * Jobs are handed over in batches. The source announces each batch, so that a migration that was killed continues with the same
 * jobs. The target remembers the batch in the step that stores its jobs. The source deletes the jobs and ends the batch in one
 * step. So no job is mistaken for another, even if they are byte-identical.
 *
 * @module
 */
import type { StoredStep } from "../port/steps.ts";
import type { Entry, Place } from "../port/entries.ts";
import type { StreamPart } from "../port/streams.ts";

/** A job. */
export interface JobRow {
  /** Names it in the store that it comes from. */
  readonly ref: string;
  /** Its place in both stores. */
  readonly place: Exclude<Place, { readonly in: "running" }>;
  /** Its payload, which isn't changed. */
  readonly payload: string;
  /** In a set: when it is due, or when it died. */
  readonly at?: number;
  /** Its unique lock. It is taken if it is free; the job is stored in any case. Stores don't return it: the payload has it. */
  readonly unique?: { readonly key: string; readonly jid: string; readonly ttlMs: number };
  /**
   * In `scheduled`: the key whose next push replaces it, unless another job waits for that key; and when its wait began. A job
   * that has begun has none: it may sleep in `scheduled`, and still has the key in its payload.
   */
  readonly debounce?: { readonly key: string; readonly firstAt: number; readonly jid: string };
}

/** The steps of a job. */
export interface StepsRow {
  /** The job. */
  readonly jid: string;
  /** Its steps, in order. */
  readonly steps: readonly StoredStep[];
  /** Whether signals reach it from now on: not if it is dead, or comes later than its steps. */
  readonly receives: boolean;
}

/** A part of the stream of a job that hasn't ended. */
export interface StreamRow {
  /** The job. */
  readonly jid: string;
  /** As many as `streams.read` returns, in order. */
  readonly parts: readonly StreamPart[];
}

/** The columns of a batch (`ops/batch_record.ts`) or of a node (`ops/flow_record.ts`). */
export type Columns = Readonly<Record<string, string | number | null>>;

/** The accepted pushes of a throttle that still count. Times are relative: two stores have two clocks. */
export interface ThrottleRow {
  /** Names what is throttled. */
  readonly key: string;
  /** The time of the throttle, in milliseconds. */
  readonly perMs: number;
  /** The latest first. */
  readonly pushes: readonly { readonly jid: string; readonly agoMs: number }[];
}

/** The key of an idempotent push. */
export interface OnceRow {
  /** Names the push. */
  readonly key: string;
  /** The job, or the flow, that was stored with it. */
  readonly jid: string;
  /** Milliseconds until it is forgotten. */
  readonly leftMs: number;
  /** See `OnceKey`; empty for none. */
  readonly fingerprint: string;
}

/** The rows by kind. */
export interface TransferRows {
  /** A job. */
  readonly job: JobRow;
  /** The steps of a job. */
  readonly step: StepsRow;
  /** A part of the stream of a job. */
  readonly stream: StreamRow;
  /** A batch with its counters. */
  readonly batch: Columns;
  /** A node of a flow. */
  readonly node: { readonly flow: string; readonly columns: Columns };
  /** A throttle. */
  readonly throttle: ThrottleRow;
  /** The key of an idempotent push. */
  readonly once: OnceRow;
  /** A key by which a store is recognized, or a batch of jobs that it has stored. Kept for {@linkcode KEYS_KEPT_MS}. */
  readonly key: { readonly key: string };
}

/** A kind of rows. */
export type RowKind = keyof TransferRows;

/** The kinds that are read here. Steps are read by `steps.read`, streams by `streams.read`. */
export type ReadKind = Exclude<RowKind, "step" | "stream">;

/** The names of rows to drop, by kind. Steps and streams leave with their job, nodes with their batch. */
export interface DroppedRows {
  /** As they were read: a job that a push has replaced since stays. */
  readonly job: Pick<Entry, "ref" | "payload">;
  /** Whole, with its nodes. */
  readonly batch: { readonly id: string };
  /** With its pushes. */
  readonly throttle: Pick<ThrottleRow, "key">;
  /** A key of an idempotent push. */
  readonly once: Pick<OnceRow, "key">;
  /** Forgotten at once. */
  readonly key: { readonly key: string };
}

/** Which rows to read. */
export interface ReadRequest {
  /** Jobs: their refs. Batches: their IDs. Nodes: the ID of their flow. Keys: themselves. Throttles and once keys: all are read. */
  readonly ids?: readonly string[];
  /** The `next` of the page before. */
  readonly cursor?: string;
}

/** A page of rows. */
export interface RowPage<Kind extends RowKind> {
  /** The rows that exist. One that isn't changed meanwhile is read at least once. */
  readonly rows: readonly TransferRows[Kind][];
  /** Pass it to get the next page; absent on the last. */
  readonly next?: string;
}

/** A batch of jobs that leaves for another store. */
export interface AnnouncedBatch {
  /** Unique among the batches of all stores. */
  readonly id: string;
  /** Its jobs, in order. */
  readonly refs: readonly string[];
}

/** Hands everything in this store to another one. */
export interface TransferStore {
  /**
   * Announces that jobs leave, only these: not those that are pushed to the same places meanwhile. Only one batch is announced at
   * a time.
   *
   * @param refs none: announces nothing
   * @returns the announced batch; the previous one if that hasn't left yet
   */
  mark(refs: readonly string[]): Promise<AnnouncedBatch | undefined>;

  /** Returns rows, or a page of them. On Redis three round trips at most, except for throttles with many pushes. */
  read<Kind extends ReadKind>(kind: Kind, request?: ReadRequest): Promise<RowPage<Kind>>;

  /**
   * Stores rows of another store, jobs behind the existing ones. Those that exist here stay as they are, with one exception: a
   * step that waits here and has ended there ends. A job whose step has ended is due. On Redis two round trips for each batch and for
   * once keys.
   *
   * @param batch jobs: the batch. It is remembered in the same step; if it is remembered already, nothing is stored
   * @throws {StoreError} `newer` or `wrong` if a row isn't as expected; nothing is stored then
   */
  put<Kind extends RowKind>(kind: Kind, rows: readonly TransferRows[Kind][], batch?: string): Promise<void>;

  /**
   * Deletes rows that another store has. Jobs leave with their unique locks, in the step that ends the announced batch; nothing
   * happens if it has ended. On Redis two round trips for jobs, and one for each of the batches.
   *
   * @param batch jobs: the announced batch
   * @returns jobs: how many of the batch existed; the same number when called again
   */
  drop<Kind extends keyof DroppedRows>(
    kind: Kind,
    rows: readonly DroppedRows[Kind][],
    batch?: string,
  ): Promise<number>;
}

/** How long keys and batches are remembered, unless they are dropped earlier. */
export const KEYS_KEPT_MS = 7 * 24 * 3_600_000;
