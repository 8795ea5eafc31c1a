/**
 * Alerts about batches and flows that wait for their dead members.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import type { Batch } from "../../store/port/batches.ts";
import { number } from "../../text/format.ts";
import { stuckText } from "../../text/batches.ts";
import { type Alert, MAX_OF_A_KIND, type Situation } from "./alert.ts";

/** A command retries at most this many batches. */
const MAX_RETRIED = 4;

/** One alert for each of the latest, and one for the others. Those of the same kind and name have one cause, and share an alert. */
export function batchAlerts({ stuck, now }: Situation): Alert[] {
  const groups = [...Map.groupBy(stuck, ({ id, name, flow }) => name === undefined ? id : `${flow ?? false} ${name}`)];
  const alerts = groups.slice(0, MAX_OF_A_KIND)
    .map(([, batches]) => batches.length === 1 ? oneAlert(batches[0]!, now) : severalAlert(batches, now));
  const others = groups.slice(MAX_OF_A_KIND).reduce((sum, [, batches]) => sum + batches.length, 0);
  if (others > 0) {
    alerts.push({
      kind: "warn",
      about: "batches",
      title: `${number(others)} more ${others === 1 ? "batch or flow waits" : "batches and flows wait"} for dead jobs`,
      command: "jobs batch list",
      actions: [{ label: "Show batches", path: "/batches" }],
    });
  }
  return alerts;
}

function oneAlert(batch: Batch, now: number): Alert {
  const { id, name, flow } = batch;
  return {
    kind: "warn",
    about: "batches",
    title: `${flow ? "Flow" : "Batch"} ${name === undefined ? id : `"${name}" (${id})`} waits for ${deadText([batch])}${
      sinceText([batch], now)
    }`,
    detail: `${stuckText(batch)}.`,
    command: `jobs ${flow ? "flow" : "batch"} retry ${id}`,
    actions: [
      { label: "Retry dead", path: `${flow ? "/flows" : "/batches"}/${id}/retry`, acts: true },
      { label: `Show ${flow ? "flow" : "batch"}`, path: `${flow ? "/flows" : "/batches"}/${id}` },
    ],
  };
}

function severalAlert(batches: readonly Batch[], now: number): Alert {
  const { name, flow } = batches[0]!;
  const retried = batches.slice(0, MAX_RETRIED);
  const more = batches.length - retried.length;
  return {
    kind: "warn",
    about: "batches",
    title: `${number(batches.length)} ${flow ? "flows" : "batches"} "${name}" wait for ${deadText(batches)}${
      sinceText(batches, now)
    }`,
    detail: `The latest, ${batches[0]!.id}: ${stuckText(batches[0]!)}.${
      more === 0
        ? ""
        : ` The command retries the latest ${retried.length}; jobs ${flow ? "flow" : "batch"} list has the others.`
    }`,
    command: retried.map(({ id }) => `jobs ${flow ? "flow" : "batch"} retry ${id}`).join(" && "),
    actions: [{ label: `Show ${flow ? "flows" : "batches"}`, path: flow ? "/flows" : "/batches" }],
  };
}

function deadText(batches: readonly Batch[]): string {
  const dead = batches.reduce((sum, batch) => sum + batch.dead, 0);
  return `${number(dead)} dead ${batches[0]!.flow ? "node" : "job"}${dead === 1 ? "" : "s"}`;
}

function sinceText(batches: readonly Batch[], now: number): string {
  const since = Math.min(...batches.flatMap(({ completedAt }) => completedAt ?? []));
  return since === Infinity ? "" : `, for ${formatDuration(Math.max(0, now - since))}`;
}
