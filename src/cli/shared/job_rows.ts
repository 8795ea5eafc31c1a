/**
 * Jobs in tables: their columns and cells.
 *
 * @module
 */
import type { RunningJobRecord } from "../../store/port/workers.ts";
import { formatDuration } from "../../job/duration.ts";
import { readWireTime } from "../../job/raw.ts";
import type { Entry } from "../../store/port/entries.ts";

import type { Mask } from "../../text/mask.ts";
import { localTime } from "../../text/times.ts";
import type { Column } from "../terminal/table.ts";
import { glance } from "../top/job_summary.ts";
import { type State, stateOfPlace } from "../../operator/actions/places.ts";

/** Returns `queued`, `scheduled`, `retrying`, `dead` or `running`. */
export function stateOf(entry: Entry): State {
  return stateOfPlace(entry.place);
}

/** Data for rows besides the entries. */
export interface RowContext {
  /** Epoch milliseconds. */
  readonly now: number;
  /** jid → the last report of its worker; of running jobs. */
  readonly running?: ReadonlyMap<string, RunningJobRecord>;
  /** Masks those reports. */
  readonly mask?: Mask;
}

interface JobColumn {
  readonly column: Column;
  readonly cell: (entry: Entry, context: RowContext) => unknown;
}

const JID: JobColumn = { column: { heading: "jid", is: "whole" }, cell: (entry) => glance(entry).jid ?? "" };
const QUEUE: JobColumn = {
  column: { heading: "queue", is: "optional" },
  cell: (entry) => entry.place.in === "queue" ? entry.place.queue : glance(entry).queue ?? "",
};
const JOB: JobColumn = { column: "job", cell: (entry) => glance(entry).call };
const ERROR: JobColumn = { column: "error", cell: (entry) => glance(entry).failure };

function time(heading: string): JobColumn {
  return { column: { heading, is: "whole" }, cell: ({ at }, { now }) => localTime(at, now) };
}

const COLUMNS: Readonly<Record<State, readonly JobColumn[]>> = {
  queued: [
    JID,
    {
      column: { heading: "waiting", is: "whole" },
      cell: (entry, { now }) => {
        const since = readWireTime(glance(entry).enqueuedAt);
        return since === undefined ? "" : formatDuration(Math.max(0, now - since));
      },
    },
    QUEUE,
    JOB,
  ],
  scheduled: [JID, time("due"), QUEUE, JOB],
  retrying: [JID, time("due"), QUEUE, JOB, ERROR],
  dead: [JID, time("died"), QUEUE, JOB, ERROR],
  running: [
    JID,
    {
      column: { heading: "for", is: "whole" },
      cell: ({ at }, { now }) => at === undefined ? "" : formatDuration(Math.max(0, now - at)),
    },
    QUEUE,
    { column: { heading: "worker", is: "optional" }, cell: ({ worker }) => worker ?? "" },
    JOB,
    {
      column: "progress",
      cell: (entry, { running, mask }) => {
        const job = running?.get(glance(entry).jid ?? "");
        const text = job?.progress ?? job?.lastLine ?? "";
        return mask?.text(text) ?? text;
      },
    },
  ],
};

/** Returns the columns of a list of jobs in a state. */
export function jobColumns(state: State): Column[] {
  return COLUMNS[state].map(({ column }) => column);
}

/** Returns the row of a job in a list of that state. */
export function jobRow(state: State, entry: Entry, context: RowContext): unknown[] {
  return COLUMNS[state].map(({ cell }) => cell(entry, context));
}
