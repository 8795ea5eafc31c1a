/**
 * What a soak takes place on: a store, the way of each program to it, and what can be done to both.
 *
 * @module
 */
import type { Disturbance } from "./disturbance.ts";
import type { Incidents } from "./incidents.ts";
import type { Store } from "../../src/store/admin/store.ts";

/** A program's way to the store. */
export interface Line {
  /** The store's address on this line. */
  readonly url: string;
  /** Ends everything that disturbs the line. */
  clear(): void;
}

/** What a soak takes place on. */
export interface Ground extends AsyncDisposable {
  readonly kind: "sqlite" | "redis";
  /** The store, for the soak itself: nothing disturbs this way to it. */
  readonly store: Store;
  /** For each program's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** What can be done to this store, and to the lines to it. */
  readonly disturbances: readonly Disturbance[];
  /** What the machine does not allow, and why: part of the report. */
  readonly leftOut: readonly string[];
  /** Makes a line for a program. */
  line(): Promise<Line>;
  /** Returns what should not be there when all jobs have ended and all workers have stopped, as text. */
  leftovers(): Promise<string[]>;
}

/** What a ground is made with. */
export interface GroundOptions {
  readonly incidents: Incidents;
  /** An empty folder. */
  readonly folder: string;
  /** A worker without a heartbeat for this long is offline. */
  readonly heartbeatTimeoutMs: number;
}
