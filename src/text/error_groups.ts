/**
 * Failed jobs grouped by error, as the command line and the dashboard show them.
 *
 * @module
 */
import type { ErrorGroup } from "../operator/query/error_groups.ts";
import type { errorsShape } from "../operator/shapes/jobs.ts";
import type { JsonOf } from "../operator/shapes/shape.ts";
import { type Columns, timeColumn } from "./columns.ts";
import { isoTime } from "./times.ts";

/** The columns of a list of groups. */
export const ERROR_COLUMNS = {
  dead: { text: ({ dead }) => dead, is: "whole" },
  retrying: { text: ({ retrying }) => retrying, is: "whole" },
  class: { text: ({ class: name }) => name },
  error: { text: ({ error }) => error },
  "first seen": timeColumn(({ firstAt }) => firstAt, "optional"),
  "last seen": timeColumn(({ lastAt }) => lastAt, "whole"),
  example: { text: ({ jid }) => jid, is: "whole" },
} as const satisfies Columns<ErrorGroup>;

/** Returns a group as JSON. */
export function errorGroupJson(
  { class: name, error, dead, retrying, firstAt, lastAt, jid }: ErrorGroup,
): JsonOf<typeof errorsShape>["groups"][number] {
  return { class: name, error, dead, retrying, firstAt: isoTime(firstAt), lastAt: isoTime(lastAt), jid };
}
