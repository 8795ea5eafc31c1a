/**
 * Workers that run jobs of groups and are killed and frozen, with what they ran: for `groups_test.ts` and `groups_soak.ts`.
 *
 * @module
 */
import { systemClock } from "../../src/clock.ts";
import type { NewJob } from "../../src/store/port/jobs.ts";
import { job } from "../store_contract/jobs.ts";
import { Child } from "../support/child.ts";

/** Long enough that a busy machine doesn't make a live worker late. */
export const TTL_MS = 3_000;

/** The n-th job, in a group. */
export function jobOf(n: number, group: string): NewJob {
  const one = job(n);
  return { ...one, group, payload: one.payload.replace(/}$/, `,"group":"${group}"}`) };
}

/** One run of a job, by the clock of the machine. */
export interface Run {
  readonly jid: string;
  readonly group: string;
  readonly start: number;
  /** When it ended, or its worker died, was frozen, or went offline. */
  readonly end: number;
}

/** A worker, and its runs. */
export class Worker {
  readonly #child: Child;
  readonly #open = new Map<string, Omit<Run, "end">>();
  readonly runs: Run[] = [];
  readonly done = new Set<string>();
  /** When it was killed, was frozen, or its last heartbeat expired: runs after that are those of an offline worker. */
  #stoppedAt = Infinity;
  #heartbeatAt = 0;
  #isKilled = false;
  #hasEnded = false;
  readonly #read: Promise<void>;

  constructor(url: string, id: string) {
    this.#child = new Child("group_child.ts", [url, id, `${TTL_MS}`]);
    this.#read = this.#readLines();
  }

  get isWorking(): boolean {
    return this.#open.size > 0;
  }

  /** Whether the process has ended by itself, because its heartbeat had lapsed. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  async kill(): Promise<void> {
    this.#isKilled = true;
    try {
      Deno.kill(this.#child.pid, "SIGKILL");
    } catch {
      // The process has ended.
    }
    this.#stoppedAt = Math.min(this.#stoppedAt, systemClock.now());
    // All lines from before its death are read.
    await this.#read;
    await this.#child[Symbol.asyncDispose]();
    for (const run of this.#open.values()) this.runs.push({ ...run, end: this.#stoppedAt });
    this.#open.clear();
  }

  freeze(): void {
    Deno.kill(this.#child.pid, "SIGSTOP");
    this.#stoppedAt = systemClock.now();
  }

  wake(): void {
    Deno.kill(this.#child.pid, "SIGCONT");
  }

  async #readLines(): Promise<void> {
    for (;;) {
      const line = await this.#child.line();
      if (line === undefined) {
        this.#hasEnded = true;
        if (!this.#isKilled) this.#stoppedAt = Math.min(this.#stoppedAt, this.#heartbeatAt + TTL_MS);
        return;
      }
      const [what, jid, group, time] = line.split(" ") as [string, string, string, string];
      if (what === "beat") this.#heartbeatAt = Number(time);
      else if (what === "start") this.#open.set(jid, { jid, group, start: Number(time) });
      else {
        const run = this.#open.get(jid)!;
        this.#open.delete(jid);
        this.runs.push({ ...run, end: Math.min(Number(time), this.#stoppedAt) });
        this.done.add(jid);
      }
    }
  }
}

/** Returns the runs of the same group that overlap. A run that an offline worker began counts for nothing. */
export function overlaps(runs: readonly Run[]): [Run, Run][] {
  const found: [Run, Run][] = [];
  const living = runs.filter(({ start, end }) => start <= end);
  for (const some of Map.groupBy(living, ({ group }) => group).values()) {
    const sorted = some.toSorted((a, b) => a.start - b.start);
    for (let i = 1; i < sorted.length; i++) {
      if (sorted[i]!.start < sorted[i - 1]!.end) found.push([sorted[i - 1]!, sorted[i]!]);
    }
  }
  return found;
}
