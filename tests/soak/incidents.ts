/**
 * The log of the incidents of a soak, by which the account explains extra executions.
 *
 * @module
 */
import type { Incident, Jump, Outage } from "./records.ts";
import { uptime } from "./uptime.ts";

/** A gateway that has ended is started again, and reached by its programs, within this time on a busy machine. */
const RESTARTED_MS = 15_000;
/** Its programs repeat their requests at most after this time. */
const REACHED_MS = 6_000;

/** Collects incidents and outages. */
export class Incidents {
  readonly incidents: Incident[] = [];
  readonly outages: Outage[] = [];
  readonly jumps: Jump[] = [];
  /** The number of disturbances of each kind. */
  readonly counts: Record<string, number> = {};
  /** Returns the programs that reach the store through a process. Its incidents are theirs, too. */
  dependentsOf: (pid: number) => readonly number[] = () => [];
  /** Returns whether a process that is frozen now holds the lock of the store. */
  locksStore: (pid: number) => boolean = () => false;
  readonly #log: (line: string) => void;

  /** @param log receives a line for each disturbance */
  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  /** Counts and logs a disturbance. */
  count(kind: string, details: string): void {
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    this.#log(`${uptime()} ${kind} ${details}`);
  }

  /** The process ends at this moment. */
  gone(kind: string, pid: number, parent?: number): void {
    const now = uptime();
    this.incidents.push({ kind, pid, from: now, to: now, effect: "gone", ...(parent !== undefined && { parent }) });
    this.#ofDependents(kind, this.dependentsOf(pid), now, now + RESTARTED_MS);
  }

  /** The store's clock moves forward at this moment. */
  jumped(seconds: number): void {
    this.jumps.push({ t: uptime(), ms: seconds * 1_000 });
  }

  /** Records an incident of a process while `during` runs. */
  async over(
    kind: string,
    effect: "stopping" | "away" | "slow",
    pid: number,
    during: () => Promise<unknown>,
  ): Promise<void> {
    const from = uptime();
    // One of its programs may end meanwhile, and be started again.
    const before = this.dependentsOf(pid);
    try {
      await during();
    } finally {
      const to = uptime();
      this.incidents.push({ kind, pid, from, to, effect });
      if (kind === "frozen" && this.locksStore(pid)) {
        this.outages.push({ kind: "file locked by a frozen program", from, to });
      }
      const dependents = [...new Set([...before, ...this.dependentsOf(pid)])];
      const of = effect === "slow" ? effect : "away";
      this.#ofDependents(kind, dependents, from, to + (effect === "stopping" ? RESTARTED_MS : REACHED_MS), of);
    }
  }

  #ofDependents(
    kind: string,
    dependents: readonly number[],
    from: number,
    to: number,
    effect: Incident["effect"] = "away",
  ): void {
    for (const dependent of dependents) {
      this.incidents.push({ kind: `gateway ${kind}`, pid: dependent, from, to, effect });
    }
  }

  /** Records an outage of the store while `during` runs. */
  async outage(kind: string, during: () => Promise<unknown>): Promise<void> {
    const from = uptime();
    try {
      await during();
    } finally {
      this.outages.push({ kind, from, to: uptime() });
    }
  }
}
