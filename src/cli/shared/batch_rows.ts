/**
 * Batches and flows in tables.
 *
 * @module
 */
import type { Batch } from "../../store/port/batches.ts";
import { batchProgress } from "../../text/batches.ts";
import { localTime } from "../../text/times.ts";
import { optional, type RowColumn } from "../terminal/table.ts";

/** Returns the columns of a list of batches or flows. `now` is in epoch milliseconds. */
export function batchColumns(now: number): RowColumn<Batch>[] {
  return [
    [{ heading: "id", is: "whole" }, ({ id }) => id],
    ["name", ({ name = "" }) => name],
    [{ heading: "state", isState: true }, ({ state }) => state],
    ["done", batchProgress],
    ["dead", ({ dead }) => dead > 0 ? dead : ""],
    [optional("created"), ({ createdAt }) => localTime(createdAt, now)],
    [optional("tags"), ({ tags }) => tags.join(", ")],
  ];
}
