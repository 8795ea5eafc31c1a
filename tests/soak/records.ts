/**
 * The records of a soak, and how they are read: runs of handlers, acknowledged pushes, incidents.
 *
 * @module
 */

/** One line of the journal: a handler starts, or ends. */
export interface JournalLine {
  readonly event: "start" | "end";
  /** When, see `uptime.ts`. */
  readonly t: number;
  /** Names this run of this job: both of its lines have it. */
  readonly run: string;
  readonly jid: string;
  readonly class: string;
  readonly queue: string;
  readonly attempt: number;
  /** The process that performs the job, and the one that started it: for an isolated job the worker. */
  readonly pid: number;
  readonly ppid: number;
  /** The cron occurrence that the job belongs to. */
  readonly occurrence?: string;
  /** Why the run ended: `done`, `failed` or `snoozed` as the job intends, else the name of what its signal aborted with. */
  readonly why?: string;
}

/** One run of a job. */
export interface Run extends Omit<JournalLine, "event" | "t" | "why"> {
  readonly start: number;
  /** Absent when the process died during the run. */
  readonly end?: number;
  readonly why?: string;
}

/** One line of a ledger: the answer to one push of one job, or to its cancellation. */
export interface Push {
  readonly jid: string;
  readonly class: string;
  /** When it was asked for, and when it was answered. */
  readonly from: number;
  readonly t: number;
  /**
   * Refused: another job held the unique lock. Removed: cancelled before it ran, or deleted. Aborted: cancelled while it ran.
   * Killed: moved to `dead`. Requeued: to its queue. Tried: any of these, or nothing.
   */
  readonly answer: "stored" | "refused" | "removed" | "aborted" | "killed" | "requeued" | "tried";
  /** The unique lock's key. */
  readonly key?: string;
}

/** Something that was done to a process. */
export interface Incident {
  readonly kind: string;
  /** Also those count that it has started. */
  readonly pid: number;
  /** The process that had started it, if the incident hit only this child of it. */
  readonly parent?: number;
  readonly from: number;
  readonly to: number;
  /**
   * `gone`: ended at `to` without warning. `stopping`: asked to stop at `from`. `away`: frozen or cut off meanwhile. `slow`: its
   * line took long for each round trip.
   */
  readonly effect: "gone" | "stopping" | "away" | "slow";
}

/** A time in which the store could not be used. */
export interface Outage {
  readonly kind: string;
  readonly from: number;
  readonly to: number;
}

/** A jump of the store's clock. */
export interface Jump {
  readonly t: number;
  readonly ms: number;
}

/** Reads the lines of JSON files. A last line that a full disk or a kill cut short is left out. */
export function readLines<T>(files: readonly string[]): T[] {
  const lines: T[] = [];
  for (const file of files) {
    for (const line of readText(file).split("\n")) {
      if (line.endsWith("}")) lines.push(JSON.parse(line));
    }
  }
  return lines;
}

/** Puts the two lines of each run together; in the order of their starts. */
export function runsOf(lines: readonly JournalLine[]): Run[] {
  const runs = new Map<string, Run>();
  for (const { event, t, why: _, ...line } of lines) if (event === "start") runs.set(line.run, { ...line, start: t });
  for (const { event, t, run, why } of lines) {
    const started = runs.get(run);
    if (event === "end" && started) runs.set(run, { ...started, end: t, ...(why !== undefined && { why }) });
  }
  return [...runs.values()].sort((a, b) => a.start - b.start);
}

function readText(file: string): string {
  try {
    return Deno.readTextFileSync(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
