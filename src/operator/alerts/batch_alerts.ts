/**
 * Alerts about batches and flows that wait for their dead members.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import { number } from "../../text/format.ts";
import { stuckText } from "../../text/batches.ts";
import { type Alert, MAX_OF_A_KIND, type Situation } from "./alert.ts";

/** One alert for each of the latest, and one for the others. */
export function batchAlerts({ stuck, now }: Situation): Alert[] {
  const alerts = stuck.slice(0, MAX_OF_A_KIND).map((batch): Alert => {
    const { id, name, flow, dead, completedAt } = batch;
    const since = completedAt === undefined ? "" : `, for ${formatDuration(Math.max(0, now - completedAt))}`;
    return {
      kind: "warn",
      about: "batches",
      title: `${flow ? "Flow" : "Batch"} ${name === undefined ? id : `"${name}" (${id})`} waits for ${
        number(dead)
      } dead ${flow ? "node" : "job"}${dead === 1 ? "" : "s"}${since}`,
      detail: `${stuckText(batch)}.`,
      command: `jobs ${flow ? "flow" : "batch"} retry ${id}`,
      actions: [
        { label: "Retry dead", path: `${flow ? "/flows" : "/batches"}/${id}/retry`, acts: true },
        { label: `Show ${flow ? "flow" : "batch"}`, path: `${flow ? "/flows" : "/batches"}/${id}` },
      ],
    };
  });
  const others = stuck.length - alerts.length;
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
