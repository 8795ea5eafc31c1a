/**
 * Batches and flows in tables.
 *
 * @module
 */
import type { Batch } from "../../store/port/batches.ts";
import { batchProgress } from "../../text/batches.ts";
import { localTime } from "../../text/times.ts";
import { type Column, STATE_COLORS } from "../terminal/table.ts";

/** The columns of {@linkcode batchRow}. */
export const BATCH_COLUMNS: readonly Column[] = [
  { heading: "id", is: "whole" },
  "name",
  { heading: "state", colors: STATE_COLORS },
  "done",
  "dead",
  { heading: "created", is: "optional" },
  { heading: "tags", is: "optional" },
];

/** Returns the row of a batch or a flow. `now` is in epoch milliseconds. */
export function batchRow(batch: Batch, now: number): unknown[] {
  return [
    batch.id,
    batch.name ?? "",
    batch.state,
    batchProgress(batch),
    batch.dead > 0 ? batch.dead : "",
    localTime(batch.createdAt, now),
    batch.tags.join(", "),
  ];
}
