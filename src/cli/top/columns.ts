/**
 * The columns of each list: what stands in them, how wide they are, and which go first where there is little room.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import { readWireTime } from "../../job/raw.ts";
import type { Entry } from "../../store/admin/admin.ts";
import { relative } from "../../text/times.ts";
import { number } from "../../text/format.ts";
import { glance } from "./job_summary.ts";
import { shownQueue } from "../shared/queue_rows.ts";
import type { History } from "./history.ts";
import type { ListName, Thing } from "./rows.ts";
import { meter, sparkline } from "./spark.ts";
import type { Span } from "./text.ts";
import type { ClassTotals } from "../../store/port/workers.ts";

/** What cells may look at besides their thing. */
export interface Surroundings {
  readonly history: History;
  /** When the snapshot was read. */
  readonly now: number;
}

/** One column. */
export interface Column<T> {
  readonly heading: string;
  /** Columns of the terminal; the rest is shared by those with `grows`. */
  readonly width: number;
  /** Its share of the rest. */
  readonly grows?: number;
  /** Numbers stand to the right. */
  readonly right?: boolean;
  /** The highest goes first where there is no room; 0 stays. */
  readonly goes: number;
  cell(thing: T, around: Surroundings): Span;
}

type Of<Is extends Thing["is"]> = Extract<Thing, { is: Is }>;

const PROCESSES: readonly Column<Of<"process">>[] = [
  { heading: "process", width: 14, grows: 2, goes: 0, cell: ({ process }) => [process.identity] },
  {
    heading: "tag",
    width: 10,
    goes: 7,
    cell: ({ process }) => [[process.tag, ...process.labels].filter(Boolean).join(" ")],
  },
  {
    heading: "busy",
    width: 10,
    goes: 4,
    cell: ({ process }) => [meter(process.busy, process.concurrency, 10), "good"],
  },
  {
    heading: "",
    width: 7,
    right: true,
    goes: 0,
    cell: ({ process }) => [`${process.busy}/${process.concurrency}`],
  },
  { heading: "queues", width: 14, grows: 1, goes: 3, cell: ({ process }) => [process.queues.join(" ")] },
  {
    heading: "memory",
    width: 8,
    right: true,
    goes: 2,
    cell: ({ process }) => [`${Math.round(process.rss / 1024 / 1024)} MB`],
  },
  { heading: "done", width: 8, right: true, goes: 5, cell: ({ process }) => [doneBy(process.totals, "done")] },
  { heading: "failed", width: 7, right: true, goes: 6, cell: ({ process }) => [doneBy(process.totals, "failed")] },
  {
    heading: "up",
    width: 7,
    right: true,
    goes: 1,
    cell: ({ process }, { now }) => [age(process.startedAt, now)],
  },
  {
    heading: "state",
    width: 7,
    goes: 0,
    cell: ({ process }) => process.alive ? process.quiet ? ["quiet", "warn"] : ["running", "good"] : ["dead", "bad"],
  },
];

const QUEUES: readonly Column<Of<"queue">>[] = [
  { heading: "queue", width: 12, grows: 1, goes: 0, cell: ({ queue }) => [shownQueue(queue.name)] },
  { heading: "size", width: 9, right: true, goes: 0, cell: ({ queue }) => [number(queue.size)] },
  {
    heading: "depth",
    width: 24,
    goes: 2,
    cell: ({ queue }, { history }) => [sparkline(history.queueDepths(queue.name), 24), "good"],
  },
  {
    heading: "latency",
    width: 8,
    right: true,
    goes: 1,
    cell: ({ queue }) => [queue.size === 0 ? "" : formatDuration(queue.latencyMs)],
  },
  {
    heading: "state",
    width: 13,
    goes: 0,
    cell: ({ queue, taken }) => {
      if (!queue.paused && !taken && queue.size > 0) return ["nobody", "bad"];
      if (!queue.paused) return [queue.limit && queue.limit.freeInMs !== 0 ? "at its limit" : ""];
      return [queue.pausedForMs === undefined ? "paused" : `paused ${formatDuration(queue.pausedForMs)}`, "warn"];
    },
  },
];

const RUNNING: readonly Column<Of<"running">>[] = [
  { heading: "job", width: 14, grows: 2, goes: 0, cell: ({ job }) => [glance(job).call] },
  { heading: "jid", width: 24, goes: 2, cell: ({ job }) => [glance(job).jid ?? ""] },
  { heading: "queue", width: 10, goes: 4, cell: ({ job }) => [job.queue] },
  { heading: "process", width: 14, grows: 1, goes: 5, cell: ({ owner }) => [owner] },
  { heading: "elapsed", width: 7, right: true, goes: 0, cell: ({ job }, { now }) => [age(job.since, now)] },
  { heading: "progress", width: 12, grows: 1, goes: 1, cell: ({ job }) => [job.progress ?? job.lastLine ?? "", "dim"] },
];

const SETS: readonly Column<Of<"set">>[] = [
  { heading: "set", width: 12, grows: 1, goes: 0, cell: ({ set }) => [set] },
  {
    heading: "size",
    width: 9,
    right: true,
    goes: 0,
    cell: ({ set, size }) => [number(size), set === "dead" && size > 0 ? "bad" : undefined],
  },
  {
    heading: "size so far",
    width: 24,
    goes: 1,
    cell: ({ set }, { history }) => [sparkline(history.setSizes(set), 24), "good"],
  },
  { heading: "", width: 21, goes: 2, cell: ({ set }) => [MEANING[set], "dim"] },
];

const MEANING = { scheduled: "to run later", retry: "failed, to run again", dead: "failed for good" } as const;

const ENTRIES: readonly Column<Of<"entry">>[] = [
  { heading: "jid", width: 24, goes: 2, cell: ({ entry }) => [glance(entry).jid ?? ""] },
  { heading: "when", width: 12, goes: 1, cell: ({ entry }, { now }) => [when(entry, now)] },
  { heading: "queue", width: 10, goes: 3, cell: ({ entry }) => [glance(entry).queue ?? ""] },
  { heading: "job", width: 14, grows: 1, goes: 0, cell: ({ entry }) => [glance(entry).call] },
  { heading: "error", width: 14, grows: 1, goes: 4, cell: ({ entry }) => [glance(entry).failure, "bad"] },
];

/** The columns of a list. */
export function columnsOf(list: ListName): readonly Column<Thing>[] {
  return COLUMNS[list] as readonly Column<Thing>[];
}

const COLUMNS: Readonly<Record<ListName, readonly Column<never>[]>> = {
  processes: PROCESSES,
  queues: QUEUES,
  running: RUNNING,
  sets: SETS,
  entries: ENTRIES,
};

/** Clocks of two machines may differ: nothing is younger than now. */
function age(since: number, now: number): string {
  return formatDuration(Math.max(0, now - since));
}

/** Nothing is known of a process of Sidekiq's. */
function doneBy(totals: Readonly<Record<string, ClassTotals>> | undefined, what: "done" | "failed"): string {
  if (totals === undefined) return "";
  return number(Object.values(totals).reduce((sum, one) => sum + one[what], 0));
}

function when(entry: Entry, now: number): string {
  const enqueued = entry.place.in === "queue" ? readWhen(entry) : entry.at;
  return relative(enqueued, now);
}

function readWhen(entry: Entry): number | undefined {
  return readWireTime(glance(entry).enqueuedAt);
}
