/**
 * What an adapter gives to be tested: a fresh store, more connections to it, a hand on its clock, and a way past our own
 * enqueuer.
 *
 * Time is moved with `advance`, never slept. A store may read a clock that runs on by itself beside that (a server's),
 * so no case asks for a time more exactly than to within {@linkcode SLACK_MS}.
 *
 * @module
 */
import type { StoreOptions } from "../../src/store/open.ts";
import type { Store } from "../../src/store/admin/store.ts";

/** By so much a store's clock may run on while a case is running. */
export const SLACK_MS = 20_000;

/** The options that cases ask for. */
export type TestOptions = Pick<StoreOptions, "deadMaxJobs" | "deadMaxAgeMs" | "sidekiqWire">;

/** A store that nobody else uses, empty at first. */
export interface TestStore extends AsyncDisposable {
  readonly store: Store;
  /** A second connection to the same store, as another process has it. Closed with the rest. */
  another(): Promise<Store>;
  /** What the store's clock says, to within {@linkcode SLACK_MS}. */
  now(): number;
  /** Moves the clock of all connections forward. */
  advance(ms: number): void;
  /** Puts a text on the back of a queue as a foreign producer would: whatever it is, unchecked. */
  pushRaw(queue: string, text: string): Promise<void>;
}

/** Opens a fresh store of the adapter. */
export type OpenTestStore = (options?: TestOptions) => Promise<TestStore>;

/** The cases about one thing, by what they show. */
export type Cases = Readonly<Record<string, (open: OpenTestStore) => Promise<void>>>;
