/**
 * Batches, as the command line and the dashboard show them.
 *
 * @module
 */
import type { Batch } from "../store/port/batches.ts";
import type { batchShape } from "../operator/shapes/batches.ts";
import type { JsonOf } from "../operator/shapes/shape.ts";
import { formatDuration } from "../job/duration.ts";
import { type Columns, timeColumn } from "./columns.ts";
import { number } from "./format.ts";
import { isoTime, localTime, relative } from "./times.ts";

const STATES: Readonly<Record<Exclude<Batch["state"], "stuck">, string>> = {
  open: "more members may come",
  running: "no more members come; some are pending",
  succeeded: "every member has succeeded",
  failed: "finished; not every member has succeeded",
  cancelled: "what waited is cancelled, running jobs are aborted",
  abandoned: "it was not closed in time",
};

/** The columns of a list of batches or flows. */
export const BATCH_COLUMNS = {
  id: { text: ({ id }) => id, is: "whole" },
  name: { text: ({ name }) => name },
  state: { text: ({ state }) => state, isState: true },
  done: { text: (batch) => batchProgress(batch) },
  dead: { text: ({ dead }) => dead > 0 ? dead : undefined, isAmount: true },
  created: timeColumn(({ createdAt }) => createdAt, "optional"),
  tags: { text: ({ tags }) => tags.join(", "), is: "optional" },
} as const satisfies Columns<Batch>;

/** Returns what a state means. */
export function batchStateText(batch: Batch): string {
  if (batch.state === "stuck") return stuckText(batch);
  return batch.flow && batch.state === "running" ? "nodes are waiting or pending" : STATES[batch.state];
}

/** Returns why a batch is stuck: `47 of 10,000 jobs are dead, the others have ended: retry or delete the dead ones`. */
export function stuckText(batch: Batch): string {
  const { dead, total, waiting = 0 } = batch;
  const others = total === dead
    ? ""
    : waiting > 0
    ? `, and ${number(waiting)} ${waiting === 1 ? "waits" : "wait"} for others`
    : ", the others have ended";
  return `${number(dead)} of ${membersText(total, batch)} ${
    dead === 1 ? "is" : "are"
  } dead${others}: retry or delete the dead ones`;
}

/** Returns what keeps a batch or a flow from its end, and the command that helps; nothing once it has ended. */
export function whyNotEnded(batch: Batch, now: number): string[] {
  const { id, flow, state, dead, pending, total, completedAt, dueAt } = batch;
  if (state === "stuck") {
    const since = completedAt === undefined ? "" : `, for ${formatDuration(Math.max(0, now - completedAt))}`;
    const isOne = dead === 1;
    return [
      `It waits for its dead ${flow ? "node" : "job"}${isOne ? "" : "s"}${since}. jobs ${
        flow ? "flow" : "batch"
      } retry ` +
      `${id} runs ${isOne ? "it" : "them"} again; jobs list dead --batch ${id} lists ${isOne ? "it" : "them"}, and ` +
      `jobs delete --all dead --batch ${id} gives ${isOne ? "it" : "them"} up.`,
    ];
  }
  if (state === "open") {
    const end = dueAt === undefined ? "" : `; without more members it is abandoned ${relative(dueAt, now)}`;
    const has = total === 0
      ? "It is open, and has no members"
      : pending === 0
      ? "It is open, and its members have ended"
      : "It is open";
    return [`${has}: jobs batch close ${id} closes it once all members are pushed${end}.`];
  }
  // The nodes of a flow are listed with it.
  if (state !== "running" || flow || pending <= 0) return [];
  return [
    `${membersText(pending, batch)} ${pending === 1 ? "is" : "are"} pending: jobs find --batch ${id} lists ${
      pending === 1 ? "it" : "them"
    }, and jobs show JID says why one isn't running.`,
  ];
}

/** Returns a number of members: `1 job`, `3 nodes`. */
export function membersText(count: number, { flow }: Pick<Batch, "flow">): string {
  const noun = flow ? "node" : "job";
  return count === 1 ? `1 ${noun}` : `${number(count)} ${noun}s`;
}

/** Returns how far a batch is: `40 of 100`. */
export function batchProgress({ total, pending }: Batch): string {
  return `${number(total - pending)} of ${number(total)}`;
}

/**
 * Returns how many members have ended per second since the batch was created, and about how long the others take at that
 * pace: `12.3 jobs/s, about 5m left`; undefined in the first second, or if none has ended.
 */
export function batchThroughput(batch: Batch, now: number): string | undefined {
  const { createdAt, closedAt, completedAt = now, total, pending, waiting = 0, state } = batch;
  const [ended, elapsedMs] = [total - pending, completedAt - createdAt];
  if (ended === 0 || elapsedMs < 1_000) return undefined;
  const perSecond = ended / elapsedMs * 1_000;
  const [each, unit] = perSecond >= 1 ? [1, "s"] : perSecond >= 1 / 60 ? [60, "min"] : [3_600, "h"];
  const rate = `${(each * perSecond).toFixed(1)} jobs/${unit}`;
  const leftMs = Math.ceil(pending / perSecond) * 1_000;
  // Nodes that wait may take any time, and more members may come.
  const isKnown = state === "running" && closedAt !== undefined && waiting === 0;
  return isKnown ? `${rate}, about ${formatDuration(leftMs)} left` : rate;
}

/** Returns a batch or a flow in full, as lines with a label. `now` is in epoch milliseconds. */
export function batchLines(batch: Batch, now: number): string[] {
  const { flow, tags, closedAt, completedAt } = batch;
  const states = (["waiting", ...(flow ? [] : ["pending"] as const), ...ENDS] as const)
    .filter((state) => (batch[state] ?? 0) > 0).map((state) => `${batch[state]} ${state}`);
  const rows: (readonly [string, string | undefined])[] = [
    ["id", batch.id],
    ["name", batch.name],
    ["state", `${batch.state}: ${batchStateText(batch)}`],
    [flow ? "nodes" : "members", `${batch.total}${states.length > 0 ? ` (${states.join(", ")})` : ""}`],
    ...whyNotEnded(batch, now).map((reason) => ["why", reason] as const),
    ["throughput", batchThroughput(batch, now)],
    ["tags", tags.length > 0 ? tags.join(", ") : undefined],
    [flow ? "batch" : "parent", batch.parent],
    ["created", localTime(batch.createdAt, now)],
    ["closed", flow || closedAt === undefined ? undefined : localTime(closedAt, now)],
    ["completed", completedAt === undefined ? undefined : localTime(completedAt, now)],
    ...batch.callbacks.map(({ event, jid, class: className, pushedAt }) =>
      [
        event,
        `${className} ${pushedAt === undefined ? "not pushed" : `pushed ${localTime(pushedAt, now)}, job ${jid}`}`,
      ] as const
    ),
  ];
  return rows.flatMap(([label, text]) => text === undefined ? [] : [`${label.padEnd(10)} ${text}`]);
}

const ENDS = ["dead", "succeeded", "failed", "cancelled", "expired", "deleted"] as const;

/** Returns a batch as `--json` and the HTTP API have it: times in ISO 8601. */
export function batchJson(batch: Batch): JsonOf<typeof batchShape> {
  const { createdAt, closedAt, completedAt, dueAt, version: _, callbacks, ...rest } = batch;
  return {
    ...rest,
    createdAt: isoTime(createdAt)!,
    closedAt: isoTime(closedAt),
    completedAt: isoTime(completedAt),
    dueAt: isoTime(dueAt),
    callbacks: callbacks.map(({ pushedAt, ...callback }) => ({ ...callback, pushedAt: isoTime(pushedAt) })),
  };
}
