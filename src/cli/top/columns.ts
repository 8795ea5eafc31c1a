/**
 * The columns of each list: their cells, their widths, and the order in which a narrow screen leaves them out.
 *
 * @module
 */
import { formatBytes } from "../../job/bytes.ts";
import { formatDuration } from "../../job/duration.ts";
import { readWireTime } from "../../job/raw.ts";
import type { Entry } from "../../store/port/entries.ts";
import { relative } from "../../text/times.ts";
import { batchProgress } from "../../text/batches.ts";
import { number } from "../../text/format.ts";
import { groupHeldText, groupName, heldGroupsText, limitOfGroup } from "../../text/groups.ts";
import { workerState } from "../../text/workers.ts";
import { stateOfPlace } from "../../operator/actions/places.ts";
import { glance } from "./job_summary.ts";
import { shownQueue } from "../../text/queues.ts";
import type { History } from "./history.ts";
import type { Item, ListName } from "./rows.ts";
import { meter, sparkline } from "./spark.ts";
import type { Span } from "./text.ts";
import type { ClassTotals } from "../../store/port/workers.ts";

/** The input of cells besides their row. */
export interface CellContext {
  readonly history: History;
  /** When the snapshot was read, in epoch milliseconds. */
  readonly now: number;
}

export interface Column<T> {
  readonly heading: string;
  /** In columns of the terminal. Columns with `grows` share the rest of the line. */
  readonly width: number;
  /** Its weight in the rest of the line. */
  readonly grows?: number;
  /** Aligned to the right, as numbers are. */
  readonly right?: boolean;
  /** A narrow screen leaves out the column with the highest number first, and none with 0. */
  readonly dropOrder: number;
  cell(item: T, context: CellContext): Span;
}

type Of<Is extends Item["is"]> = Extract<Item, { is: Is }>;

const WORKERS: readonly Column<Of<"worker">>[] = [
  { heading: "worker", width: 14, grows: 2, dropOrder: 0, cell: ({ worker }) => [worker.id] },
  {
    heading: "tag",
    width: 10,
    dropOrder: 7,
    cell: ({ worker }) => [[worker.tag, ...worker.labels].filter(Boolean).join(" ")],
  },
  {
    heading: "running",
    width: 10,
    dropOrder: 4,
    cell: ({ worker }) => [meter(worker.busy, worker.concurrency, 10), "good"],
  },
  {
    heading: "",
    width: 7,
    right: true,
    dropOrder: 0,
    cell: ({ worker }) => [`${worker.busy}/${worker.concurrency}`],
  },
  { heading: "queues", width: 14, grows: 1, dropOrder: 3, cell: ({ worker }) => [worker.queues.join(" ")] },
  {
    heading: "memory",
    width: 8,
    right: true,
    dropOrder: 2,
    cell: ({ worker }) => [formatBytes(worker.rss)],
  },
  {
    heading: "succeeded",
    width: 9,
    right: true,
    dropOrder: 5,
    cell: ({ worker }) => [totalOf(worker.totals, "succeeded")],
  },
  { heading: "failed", width: 7, right: true, dropOrder: 6, cell: ({ worker }) => [totalOf(worker.totals, "failed")] },
  {
    heading: "uptime",
    width: 7,
    right: true,
    dropOrder: 1,
    cell: ({ worker }, { now }) => [age(worker.startedAt, now)],
  },
  {
    heading: "state",
    width: 8,
    dropOrder: 0,
    cell: ({ worker }) => STATES[workerState(worker)],
  },
];

const STATES: Readonly<Record<ReturnType<typeof workerState>, Span>> = {
  running: ["running", "good"],
  quiet: ["quiet", "warn"],
  stopping: ["stopping", "warn"],
  blocked: ["blocked", "bad"],
  offline: ["offline", "bad"],
};

const QUEUES: readonly Column<Of<"queue">>[] = [
  { heading: "queue", width: 12, grows: 1, dropOrder: 0, cell: ({ queue }) => [shownQueue(queue.name)] },
  { heading: "queued", width: 9, right: true, dropOrder: 0, cell: ({ queue }) => [number(queue.size)] },
  {
    heading: "depth",
    width: 24,
    dropOrder: 2,
    cell: ({ queue }, { history }) => [sparkline(history.queueDepths(queue.name), 24), "good"],
  },
  {
    heading: "latency",
    width: 8,
    right: true,
    dropOrder: 1,
    cell: ({ queue }) => [queue.size === 0 ? "" : formatDuration(queue.latencyMs)],
  },
  {
    heading: "state",
    width: 18,
    dropOrder: 0,
    cell: ({ queue, fetched }) => {
      if (!queue.paused && !fetched && queue.size > 0) return ["no worker", "bad"];
      if (!queue.paused && queue.limit && queue.limit.freeInMs !== 0) return ["at its limit"];
      if (!queue.paused) return [queue.heldGroups === undefined ? "" : heldGroupsText(queue.heldGroups)];
      return [queue.pausedForMs === undefined ? "paused" : `paused ${formatDuration(queue.pausedForMs)}`, "warn"];
    },
  },
];

const RUNNING: readonly Column<Of<"running">>[] = [
  { heading: "job", width: 14, grows: 2, dropOrder: 0, cell: ({ job }) => [glance(job).call] },
  { heading: "jid", width: 24, dropOrder: 2, cell: ({ job }) => [glance(job).jid ?? ""] },
  { heading: "queue", width: 10, dropOrder: 4, cell: ({ job }) => [job.queue] },
  { heading: "worker", width: 14, grows: 1, dropOrder: 5, cell: ({ job }) => [job.worker] },
  { heading: "elapsed", width: 7, right: true, dropOrder: 0, cell: ({ job }, { now }) => [age(job.since, now)] },
  {
    heading: "progress",
    width: 12,
    grows: 1,
    dropOrder: 1,
    cell: ({ job }) => [job.progress ?? job.lastLine ?? "", "dim"],
  },
];

const BATCHES: readonly Column<Of<"batch">>[] = [
  { heading: "batch", width: 14, grows: 1, dropOrder: 0, cell: ({ batch }) => [batch.name ?? batch.id] },
  { heading: "kind", width: 5, dropOrder: 3, cell: ({ batch }) => [batch.flow ? "flow" : "batch", "dim"] },
  {
    heading: "progress",
    width: 10,
    dropOrder: 2,
    cell: ({ batch: { total, pending } }) => [meter(total - pending, total, 10), "good"],
  },
  { heading: "done", width: 20, right: true, dropOrder: 0, cell: ({ batch }) => [batchProgress(batch)] },
  {
    heading: "failed",
    width: 7,
    right: true,
    dropOrder: 1,
    cell: ({ batch: { dead, failed } }) => [number(dead + failed), dead + failed > 0 ? "bad" : undefined],
  },
  {
    heading: "age",
    width: 7,
    right: true,
    dropOrder: 4,
    cell: ({ batch }, { now }) => [age(batch.createdAt, now)],
  },
  {
    heading: "state",
    width: 9,
    dropOrder: 0,
    cell: ({ batch: { state } }) => [state, state === "stuck" ? "bad" : undefined],
  },
];

const SETS: readonly Column<Of<"set">>[] = [
  { heading: "set", width: 12, grows: 1, dropOrder: 0, cell: ({ set }) => [stateOfPlace({ in: set })] },
  {
    heading: "size",
    width: 9,
    right: true,
    dropOrder: 0,
    cell: ({ set, size }) => [number(size), set === "dead" && size > 0 ? "bad" : undefined],
  },
  {
    heading: "history",
    width: 24,
    dropOrder: 1,
    cell: ({ set }, { history }) => [sparkline(history.setSizes(set), 24), "good"],
  },
  { heading: "", width: 21, dropOrder: 2, cell: ({ set, waits }) => [waits ?? MEANING[set], "dim"] },
];

const MEANING = { scheduled: "run later", retry: "failed, run again", dead: "retries exhausted" } as const;

const ENTRIES: readonly Column<Of<"entry">>[] = [
  { heading: "jid", width: 24, dropOrder: 2, cell: ({ entry }) => [glance(entry).jid ?? ""] },
  { heading: "when", width: 12, dropOrder: 1, cell: ({ entry }, { now }) => [when(entry, now)] },
  { heading: "queue", width: 10, dropOrder: 3, cell: ({ entry }) => [glance(entry).queue ?? ""] },
  { heading: "job", width: 14, grows: 1, dropOrder: 0, cell: ({ entry }) => [glance(entry).call] },
  { heading: "error", width: 14, grows: 1, dropOrder: 4, cell: ({ entry }) => [glance(entry).failure, "bad"] },
];

const GROUPS: readonly Column<Of<"group">>[] = [
  {
    heading: "group",
    width: 12,
    grows: 1,
    dropOrder: 0,
    cell: ({ group, isOpen }) => [groupName(group.name), isOpen ? "title" : undefined],
  },
  { heading: "queued", width: 9, right: true, dropOrder: 0, cell: ({ group }) => [number(group.size)] },
  {
    heading: "latency",
    width: 8,
    right: true,
    dropOrder: 2,
    cell: ({ group }) => [group.size === 0 ? "" : formatDuration(group.latencyMs)],
  },
  { heading: "running", width: 7, right: true, dropOrder: 0, cell: ({ group }) => [number(group.running)] },
  { heading: "limit", width: 20, dropOrder: 1, cell: ({ group }) => [limitOfGroup(group), "dim"] },
  { heading: "held", width: 26, dropOrder: 0, cell: ({ group }) => [groupHeldText(group), "warn"] },
];

export function columnsOf(list: ListName): readonly Column<Item>[] {
  return COLUMNS[list] as readonly Column<Item>[];
}

const COLUMNS: Readonly<Record<ListName, readonly Column<never>[]>> = {
  workers: WORKERS,
  queues: QUEUES,
  running: RUNNING,
  batches: BATCHES,
  sets: SETS,
  groups: GROUPS,
  entries: ENTRIES,
};

/** Returns the age; at least 0, because the clocks of two machines may differ. */
function age(since: number, now: number): string {
  return formatDuration(Math.max(0, now - since));
}

/** Returns a total over all classes; empty for Sidekiq's workers, which report none. */
function totalOf(totals: Readonly<Record<string, ClassTotals>> | undefined, count: "succeeded" | "failed"): string {
  if (totals === undefined) return "";
  return number(Object.values(totals).reduce((sum, one) => sum + one[count], 0));
}

function when(entry: Entry, now: number): string {
  const at = entry.place.in === "queue" ? readWireTime(glance(entry).enqueuedAt) : entry.at;
  return relative(at, now);
}
