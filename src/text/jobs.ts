/**
 * Jobs in lists, as the command line and the dashboard show them.
 *
 * @module
 */
import { formatDuration } from "../job/duration.ts";
import type { Place } from "../store/port/entries.ts";
import { type Columns, timeColumn } from "./columns.ts";

/** A job, read from its payload. */
export interface JobRow {
  /** Empty if the payload has none. */
  readonly jid: string;
  readonly queue: string;
  /** `HardJob("bob", 5)`. */
  readonly call: string;
  /** `TypeError: no such account`, its last failure; empty without one. */
  readonly error: string;
  /** How often it has failed. */
  readonly failures: number;
  /** When it is due, died or was started, in epoch milliseconds. */
  readonly at?: number | undefined;
  readonly enqueuedAt?: number | undefined;
  readonly createdAt?: number | undefined;
  /** The worker that runs it. */
  readonly worker?: string | undefined;
  readonly progress?: string | undefined;
}

/** The state of the jobs in each place. */
export const STATE_BY_PLACE = {
  queue: "queued",
  scheduled: "scheduled",
  retry: "retrying",
  dead: "dead",
  running: "running",
} as const satisfies Readonly<Record<Place["in"], string>>;

/** A state of a job that hasn't ended. */
export type State = typeof STATE_BY_PLACE[Place["in"]];

/** The heading of the time, by state. */
const TIMES = { queued: "enqueued", scheduled: "due", retrying: "due", dead: "died" } as const;

/**
 * Returns the columns of a list of jobs in a state.
 *
 * @param jobOf returns the job of a row
 */
export function jobColumns<Row>(state: State, jobOf: (row: Row) => JobRow): Columns<Row> {
  const since = (row: Row, now: number) => {
    const { at } = jobOf(row);
    return at === undefined ? undefined : formatDuration(Math.max(0, now - at));
  };
  const timeOf = (row: Row) => {
    const { at, enqueuedAt, createdAt } = jobOf(row);
    return at ?? enqueuedAt ?? createdAt;
  };
  return {
    jid: { text: (row) => jobOf(row).jid, is: "whole" },
    ...(state === "running"
      ? { "running for": { text: since, isAmount: true, is: "whole" } }
      : { [TIMES[state]]: timeColumn(timeOf, "whole") }),
    queue: { text: (row) => jobOf(row).queue, is: "optional" },
    ...(state === "running" && { worker: { text: (row) => jobOf(row).worker, is: "optional" } }),
    job: { text: (row) => jobOf(row).call },
    ...(state === "running" && { progress: { text: (row) => jobOf(row).progress } }),
    ...((state === "retrying" || state === "dead") && {
      error: { text: (row) => jobOf(row).error },
      attempts: { text: (row) => jobOf(row).failures, is: "optional" },
    }),
  };
}
