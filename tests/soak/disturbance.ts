/**
 * The disturbances of workers, pushers, the network and the store.
 *
 * @module
 */
import type { Ground, Line } from "./ground.ts";
import type { Incidents } from "./incidents.ts";
import type { Program } from "./program.ts";
import type { Push } from "./records.ts";
import type { Random } from "./random.ts";
import type { Store } from "../../src/store/admin/store.ts";

/** A program and its line. */
export interface Target {
  readonly program: Program;
  readonly line: Line;
  /** Performs jobs in child processes: isolated ones, or `--processes`; or in another runtime, over the gateway. */
  readonly kind: "plain" | "isolated" | "several" | "remote" | "gateway" | "pusher";
}

/** The services of a disturbance. */
export interface Scene {
  readonly target: Target;
  readonly forMs: number;
  /** Choices that the plan leaves open, such as one of several child processes. */
  readonly random: Random;
  readonly incidents: Incidents;
  readonly store: Store;
  /** Pushes a job, and writes the answer to a ledger. */
  readonly push: (className: string) => Promise<void>;
  /** Cancels a job, and writes the answer to a ledger. */
  readonly cancel: (jid: string) => Promise<void>;
  /** Runs `jobs` with these arguments. Returns its JSON output; undefined if it has none, as when the store is down. */
  readonly command: (...args: readonly string[]) => Promise<Readonly<Record<string, unknown>> | undefined>;
  /** Writes the answer to a push, or to an action on a job, to a ledger. */
  readonly note: (push: Omit<Push, "from" | "t">) => Promise<void>;
  /** Notes a batch, whose counters must be right at the end, and whether they weren't before. */
  readonly batch: (id: string, isWrong: boolean) => void;
  /** Writes a payload without our client. */
  readonly pushRaw: Ground["pushRaw"];
}

/** A kind of disturbance. */
export interface Disturbance {
  readonly name: string;
  /** How often, compared with others. */
  readonly weight: number;
  /** The target: only one disturbance at a time hits the same program, queue or store. */
  readonly hits: "worker" | "remote" | "gateway" | "pusher" | "any program" | "queue" | "store";
  /** How long it lasts, in milliseconds. */
  readonly forMs: readonly [number, number];
  /** Does it, and undoes it after `forMs`. */
  run(scene: Scene): Promise<void>;
}
