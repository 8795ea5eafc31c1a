/**
 * The harness that an adapter provides for its tests: a fresh store, more connections to it, control of its clock, and pushes
 * that bypass the client.
 *
 * Cases advance time with `advance`, and never sleep. A store may also read a clock that advances by itself (a server's), so no
 * case expects a time more exactly than to within {@linkcode SLACK_MS}.
 *
 * @module
 */
import type { StoreOptions } from "../../src/store/open.ts";
import type { Health } from "../../src/store/admin/health.ts";
import type { Store } from "../../src/store/admin/store.ts";
import type { LogName } from "../../src/store/port/logs.ts";

/** How far a store's clock may advance while a case runs. */
export const SLACK_MS = 20_000;

/** Options of cases. */
export type TestOptions = Pick<StoreOptions, "deadMaxJobs" | "deadMaxAgeMs" | "sidekiqWire">;

/** A store for one case, empty at first. */
export interface TestStore extends AsyncDisposable {
  readonly store: Store;
  /** The number of nodes of large flows. Default: the most that a flow may have. */
  readonly largeFlow?: number;
  /** A log that is kept like the audit log, with a lower maximum. Default: the audit log itself. */
  readonly shortLog?: LogName;
  /** Its durability, as `health` must report it. */
  readonly durability: Health["durability"];
  /** Opens a second connection to the same store, as another process does. It is closed with the first. */
  another(): Promise<Store>;
  /** Returns the store's time, to within {@linkcode SLACK_MS}. */
  now(): number;
  /** Advances the clock of all connections. */
  advance(ms: number): void;
  /** Pushes any text to the back of a queue, as another program can. */
  pushRaw(queue: string, text: string): Promise<void>;
  /** Returns the names of the tables or keys that contain a text, sorted. */
  holding(text: string): Promise<string[]>;
}

/** Opens a fresh store of the adapter. */
export type OpenTestStore = (options?: TestOptions) => Promise<TestStore>;

/** Cases by their titles. */
export type Cases = Readonly<Record<string, (open: OpenTestStore) => Promise<void>>>;
