/**
 * The options of a client, and the jobs that it accepts.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { JobClass, JsonArgs } from "../job/definition.ts";
import type { ClassOptions, JobOptions } from "../job/payload.ts";
import type { BatchStore } from "../store/port/batches.ts";
import type { ClassStore } from "../store/port/classes.ts";
import type { EventStore } from "../store/port/events.ts";
import type { FlowStore } from "../store/port/flows.ts";
import type { JobStore } from "../store/port/jobs.ts";
import type { ResultStore } from "../store/port/results.ts";
import type { ServerStore } from "../store/port/store.ts";
import type { StepStore } from "../store/port/steps.ts";
import type { Transaction } from "../job/transaction.ts";
import type { TransactionStore } from "../store/port/transactions.ts";
import type { WebhookStore } from "../store/port/webhooks.ts";
import type { BulkOptions } from "./bulk.ts";
import type { BatchMiddleware, PushMiddleware } from "./middleware.ts";

/** The parts of a store that a client uses. */
export interface ClientStore {
  /** Receives the jobs. */
  readonly jobs: Pick<JobStore, "enqueue">;
  /** Absent in an isolated process, which cannot wait for results. */
  readonly results?: Pick<ResultStore, "read">;
  /** Absent in an isolated process, too. */
  readonly watch?: ServerStore["watch"];
  /** Receives signals. */
  readonly steps?: Pick<StepStore, "signal">;
  /** Without it, the client cannot open or read batches. */
  readonly batches?: Pick<BatchStore, "create" | "read" | "close" | "tend">;
  /** Without it, the client cannot push or read flows. */
  readonly flows?: Pick<FlowStore, "add" | "nodes">;
  /** The operators' part of a store. Without it, as in an isolated process, the client cannot cancel or retry batches. */
  readonly admin?: object;
  /** Stores jobs in transactions of the application. Only a store in a PostgreSQL database has it. */
  readonly transactions?: Pick<TransactionStore, "enqueue">;
  /** Without it, the client knows only the classes that its program registers. */
  readonly classes?: Pick<ClassStore, "read">;
  /** Without it, as in an isolated process, the client cannot read events. */
  readonly events?: EventStore;
  /** Without it, the client doesn't check the webhooks that jobs notify. */
  readonly webhooks?: Pick<WebhookStore, "read">;
}

/**
 * Options of a {@linkcode Client}.
 *
 * @example
 * ```ts
 * import { Client, type ClientOptions, openStore } from "@jobs/jobs";
 *
 * await using store = await openStore("sqlite::memory:");
 * const options: ClientOptions = { store, strict: true, maxPayloadBytes: 64 * 1024 };
 * const client = new Client(options);
 * ```
 */
export interface ClientOptions {
  /** The store that receives the jobs. */
  readonly store: ClientStore;
  /** Job classes to register from the start. A class that is pushed by its definition is registered by that push. */
  // deno-lint-ignore no-explicit-any -- classes with any arguments
  readonly jobs?: readonly JobClass<any>[];
  /**
   * Rejects a push of a class that neither this client nor a worker has registered: its queue, retries and lock are
   * unknown. Default false: such a push is stored, and {@linkcode ClientOptions.onUnregistered} is called.
   */
  readonly strict?: boolean;
  /**
   * Receives the name of each unregistered class that is pushed, once, and a registered one with nearly the same name. Default: logs
   * a warning, on stderr without a log.
   */
  readonly onUnregistered?: (className: string, meant?: string) => void;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Wraps each push. The first layer is the outermost. */
  readonly middleware?: readonly PushMiddleware[];
  /** Wraps each batch of a bulk push. Used only together with `middleware`. */
  readonly batchMiddleware?: readonly BatchMiddleware[];
  /** A push of a larger payload is rejected. In bytes; default 1 MiB. */
  readonly maxPayloadBytes?: number;
  /** The format of times in payloads. Default 7: seconds with a fraction; 8: whole milliseconds. */
  readonly sidekiqWire?: 7 | 8;
  /** Returns the options of a class that is not among `jobs`. If it returns undefined, the client reads the store. */
  readonly classOptions?: (className: string) => ClassOptions | undefined;
}

/** A job to push: its class by name or by definition, its arguments, and its options. */
export interface JobInput extends JobOptions {
  /** The class: its name, or what `defineJob` returned. */
  // deno-lint-ignore no-explicit-any -- a class with any arguments
  readonly class: string | JobClass<any>;
  /** The handler's arguments: JSON values only. Default: none. */
  readonly args?: readonly unknown[];
}

/**
 * Options of a push in code: those of the job, and a transaction.
 *
 * @example
 * ```ts
 * import type { Client, PushOptions, Transaction } from "@jobs/jobs";
 *
 * async function notify(client: Client, transaction: Transaction, user: number) {
 *   const options: PushOptions = { queue: "mail", transaction };
 *   await client.push("Welcome", [user], options);
 * }
 * ```
 */
export interface PushOptions extends JobOptions, InTransaction {}

/** Whether the jobs of a push are stored with a transaction. */
export interface InTransaction {
  /**
   * The jobs are stored if and only if this transaction commits. It is one of the PostgreSQL database that is also the store: the
   * `sql` of `sql.begin` of npm `postgres`, or a client of npm `pg` after its `BEGIN`. If the push rejects, roll the transaction back.
   */
  readonly transaction?: Transaction;
}

/** Jobs of one class: a list of arguments for each, and options for all. */
export interface BulkRequest extends JobOptions, BulkOptions, InTransaction {
  /** The class: its name, or what `defineJob` returned. */
  // deno-lint-ignore no-explicit-any -- a class with any arguments
  readonly class: string | JobClass<any>;
  /** One array of arguments per job. */
  readonly args: Iterable<readonly unknown[]> | AsyncIterable<readonly unknown[]>;
}

/** A job of a known class: its arguments, typed, and its options. */
export interface TypedJob<Args extends readonly unknown[]> extends JobOptions {
  /** The handler's arguments. */
  readonly args: JsonArgs<Args>;
}

/**
 * Items in memory, or from a source that yields them over time.
 *
 * @internal
 */
export type Items<T> = Iterable<T> | AsyncIterable<T>;
