/**
 * The rows of each list, in order and filtered. Keys act on the chosen row.
 *
 * @module
 */
import type { QueueInfo, Stats } from "../../store/admin/admin.ts";
import type { Entry, SetName } from "../../store/port/entries.ts";
import type { GroupInfo } from "../../store/port/groups.ts";
import { number } from "../../text/format.ts";
import { groupName } from "../../text/groups.ts";
import { stateOfPlace } from "../../operator/actions/places.ts";
import { shownQueue } from "../../text/queues.ts";
import type { RunningJob } from "./running_jobs.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Batch } from "../../store/port/batches.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";

/** The panes of the main screen, from top to bottom. */
export const PANES = ["workers", "queues", "running", "batches", "sets"] as const;
export type PaneName = typeof PANES[number];
/** A list with a chosen row: a pane, or the jobs of a queue or a set; or the groups above the jobs of a queue. */
export type ListName = PaneName | "entries" | "groups";

/** The subject of a row. */
export type Item =
  | { readonly is: "worker"; readonly worker: WorkerInfo }
  | {
    readonly is: "queue";
    readonly queue: QueueInfo; /** Whether a worker fetches from it. */
    readonly fetched: boolean;
  }
  | { readonly is: "running"; readonly job: RunningJob }
  | { readonly is: "batch"; readonly batch: Batch }
  | {
    readonly is: "set";
    readonly set: SetName;
    readonly size: number;
    /** Durable steps that sleep and wait, in `scheduled`. */
    readonly waits?: string;
  }
  | {
    readonly is: "group";
    readonly group: GroupInfo;
    /** Whether its jobs are listed. */
    readonly isOpen: boolean;
  }
  | { readonly is: "entry"; readonly entry: Entry };

export interface Row {
  /** The same at each reading, so that the choice stays on the item when other rows come and go. */
  readonly key: string;
  readonly item: Item;
}

/** The chosen row: by its key, or by its last index if no row has the key. */
export interface Choice {
  readonly key?: string;
  readonly index: number;
}

const SETS = ["scheduled", "retry", "dead"] as const;

/** Returns the panes to show: batches only if there are some, or if the keys move in them. */
export function panesOf(snapshot: Snapshot, active: PaneName): readonly PaneName[] {
  return PANES.filter((pane) => pane !== "batches" || pane === active || snapshot.batches.length > 0);
}

/** Returns the rows of a list; with a filter, those that contain it, ignoring case. */
export function rowsOf(list: ListName, snapshot: Snapshot, filter = ""): readonly Row[] {
  const rows = ROWS[list](snapshot);
  if (filter === "" || list === "sets") return rows;
  const lowercase = filter.toLowerCase();
  return rows.filter((row) => textOf(row.item).toLowerCase().includes(lowercase));
}

/** Returns the index of the chosen row; -1 if `rows` is empty. */
export function indexOf(rows: readonly Row[], choice: Choice): number {
  const index = choice.key === undefined ? -1 : rows.findIndex((row) => row.key === choice.key);
  return index >= 0 ? index : Math.min(Math.max(0, choice.index), rows.length - 1);
}

const ROWS: Readonly<Record<ListName, (snapshot: Snapshot) => readonly Row[]>> = {
  workers: ({ workers }) =>
    workers.toSorted((a, b) => compare(a.id, b.id)).map((worker) => ({
      key: worker.id,
      item: { is: "worker", worker },
    })),
  queues: ({ stats, workers }) => {
    const fetched = new Set(workers.filter(({ alive, quiet }) => alive && !quiet).flatMap(({ queues }) => queues));
    return stats.queues.map((queue) => ({
      key: queue.name,
      item: { is: "queue", queue, fetched: fetched.has(queue.name) },
    }));
  },
  running: ({ running }) => running.map((job) => ({ key: job.key, item: { is: "running", job } })),
  batches: ({ batches }) => batches.map((batch) => ({ key: batch.id, item: { is: "batch", batch } })),
  sets: ({ stats }) =>
    SETS.map((set) => {
      const waits = set === "scheduled" ? waitsText(stats) : "";
      return { key: set, item: { is: "set", set, size: stats[set], ...(waits !== "" && { waits }) } };
    }),
  groups: ({ list }) => {
    const open = list?.place.in === "queue" ? list.place.group : undefined;
    return (list?.groups ?? []).map((group) => ({
      key: group.name,
      item: { is: "group", group, isOpen: group.name === open },
    }));
  },
  entries: ({ list }) => list?.page.entries.map((entry) => ({ key: entry.ref, item: { is: "entry", entry } })) ?? [],
};

/** Returns how many durable steps sleep and wait: `2 sleeping, 1 waiting`; empty for none. */
function waitsText({ waits }: Stats): string {
  const counts = { sleeping: waits.sleep, waiting: waits.wait + waits.child };
  return Object.entries(counts).flatMap(([name, count]) => count > 0 ? [`${number(count)} ${name}`] : []).join(", ");
}

/** Returns the text that a filter searches. */
function textOf(item: Item): string {
  switch (item.is) {
    case "worker": {
      const { id, tag, labels, queues } = item.worker;
      return [id, tag, ...labels, ...queues].join(" ");
    }
    case "queue":
      return shownQueue(item.queue.name);
    case "running":
      return `${item.job.worker} ${item.job.queue} ${item.job.progress ?? ""} ${item.job.payload}`;
    case "batch": {
      const { id, name = "", tags, state } = item.batch;
      return [id, name, ...tags, state].join(" ");
    }
    case "set":
      return stateOfPlace({ in: item.set });
    case "group":
      return groupName(item.group.name);
    case "entry":
      return item.entry.payload;
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
