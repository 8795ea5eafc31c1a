/**
 * The ground of a soak: a store, the line of each program to it, and the disturbances of both.
 *
 * @module
 */
import type { Disturbance } from "./disturbance.ts";
import type { Incidents } from "./incidents.ts";
import type { StoreKind } from "../support/servers.ts";
import type { Store } from "../../src/store/admin/store.ts";

/** A program's way to the store. */
export interface Line {
  /** The store's address on this line. */
  readonly url: string;
  /** Ends everything that disturbs the line. */
  clear(): void;
}

/** Where another program writes. SQLite has no way to `scheduled` but our client. */
export type RawPlace = "scheduled" | { readonly queue: string };

/** The ground of a soak. */
export interface Ground extends AsyncDisposable {
  readonly kind: StoreKind;
  /** The store, for the soak itself: nothing disturbs this way to it. */
  readonly store: Store;
  /** Its address for commands of the soak itself. */
  readonly url: string;
  /** For each program's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** The disturbances of this store, and of the lines to it. */
  readonly disturbances: readonly Disturbance[];
  /** The disturbances that this machine doesn't allow, with the reasons, for the report. */
  readonly leftOut: readonly string[];
  /** Creates a line for a program. */
  line(): Promise<Line>;
  /** Writes a payload without our client, as another program does. Rejects if the store doesn't accept it now. */
  pushRaw(place: RawPlace, payload: Uint8Array): Promise<void>;
  /** Returns unexpected leftovers as text, after all jobs have ended and all workers have stopped. */
  leftovers(): Promise<string[]>;
}

/** The options of a ground. */
export interface GroundOptions {
  readonly incidents: Incidents;
  /** An empty folder. */
  readonly folder: string;
  /** A worker without a heartbeat for this long is offline. */
  readonly heartbeatTimeoutMs: number;
}
