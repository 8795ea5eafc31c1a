/**
 * The rows of each list, in order and filtered: what a key acts on.
 *
 * @module
 */
import type { Entry, QueueInfo, SetName } from "../../store/admin/admin.ts";
import { glance } from "./job_summary.ts";
import { shownQueue } from "../shared/queue_rows.ts";
import type { Snapshot } from "./snapshot.ts";
import type { RunningJobRecord, WorkerInfo } from "../../store/port/workers.ts";

/** The panes of the main screen, from top to bottom. */
export const PANES = ["processes", "queues", "running", "sets"] as const;
export type PaneName = typeof PANES[number];
/** A list that has a chosen row: a pane, or the list of a queue's or a set's jobs. */
export type ListName = PaneName | "entries";

/** One thing that a row is about. */
export type Thing =
  | { readonly is: "process"; readonly process: WorkerInfo }
  | { readonly is: "queue"; readonly queue: QueueInfo; /** Whether a process takes from it. */ readonly taken: boolean }
  | { readonly is: "running"; readonly job: RunningJobRecord; readonly owner: string }
  | { readonly is: "set"; readonly set: SetName; readonly size: number }
  | { readonly is: "entry"; readonly entry: Entry };

/** One row. */
export interface Row {
  /** The same at each reading, whatever comes and goes around it. */
  readonly key: string;
  readonly thing: Thing;
}

/** Which row is chosen: by its key; where that is gone, by where it was. */
export interface Choice {
  readonly key?: string;
  readonly index: number;
}

const SETS = ["scheduled", "retry", "dead"] as const;

/** The rows of a list; with a filter, those that contain it, whatever the case. */
export function rowsOf(list: ListName, snapshot: Snapshot, filter = ""): readonly Row[] {
  const rows = ROWS[list](snapshot);
  if (filter === "" || list === "sets") return rows;
  const wanted = filter.toLowerCase();
  return rows.filter((row) => textOf(row.thing).toLowerCase().includes(wanted));
}

/** Where the choice is among these rows; -1 when there are none. */
export function indexOf(rows: readonly Row[], choice: Choice): number {
  const index = choice.key === undefined ? -1 : rows.findIndex((row) => row.key === choice.key);
  return index >= 0 ? index : Math.min(Math.max(0, choice.index), rows.length - 1);
}

const ROWS: Readonly<Record<ListName, (snapshot: Snapshot) => readonly Row[]>> = {
  processes: ({ processes }) =>
    processes.toSorted((a, b) => compare(a.identity, b.identity)).map((process) => ({
      key: process.identity,
      thing: { is: "process", process },
    })),
  queues: ({ stats, processes }) => {
    const taken = new Set(processes.filter(({ alive, quiet }) => alive && !quiet).flatMap(({ queues }) => queues));
    return stats.queues.map((queue) => ({
      key: queue.name,
      thing: { is: "queue", queue, taken: taken.has(queue.name) },
    }));
  },
  // Those that run longest first.
  running: ({ processes }) =>
    processes.flatMap(({ identity, work }) => work.map((job) => ({ job, owner: identity })))
      .toSorted((a, b) => a.job.since - b.job.since || compare(a.owner, b.owner) || compare(a.job.task, b.job.task))
      .map(({ job, owner }) => ({
        key: `${owner} ${job.task} ${job.since} ${glance(job).jid}`,
        thing: { is: "running", job, owner },
      })),
  sets: ({ stats }) => SETS.map((set) => ({ key: set, thing: { is: "set", set, size: stats[set] } })),
  entries: ({ list }) => list?.page.entries.map((entry) => ({ key: entry.ref, thing: { is: "entry", entry } })) ?? [],
};

/** What a filter looks at. */
function textOf(thing: Thing): string {
  switch (thing.is) {
    case "process": {
      const { identity, tag, labels, queues } = thing.process;
      return [identity, tag, ...labels, ...queues].join(" ");
    }
    case "queue":
      return shownQueue(thing.queue.name);
    case "running":
      return `${thing.owner} ${thing.job.queue} ${thing.job.progress ?? ""} ${thing.job.payload}`;
    case "set":
      return thing.set;
    case "entry":
      return thing.entry.payload;
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
