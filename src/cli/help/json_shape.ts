/**
 * The output of one command with `--json`: a row of the table in `json_shapes.ts`.
 *
 * @module
 */
import { limitShape, queueShape } from "../../operator/shapes/queues.ts";
import { rowsOf } from "../../operator/shapes/rows.ts";
import type { Shape as Shape_ } from "../../operator/shapes/shape.ts";

/**
 * Path of a field → its type and meaning. `[]` is each element of a list, `{}` each value of an object by name. `?` at the end
 * marks a field that may be absent. Values of type `any` aren't described further.
 */
export type Fields = Readonly<Record<string, readonly [type: string, about: string]>>;

/** The output of one command. */
export interface Shape {
  /** As typed, without `--json`. */
  readonly command: string;
  readonly prints: "an object" | "a list of objects" | "an object a line" | "an object by jid";
  readonly fields: Fields;
  /** A remark. */
  readonly note?: string;
}

/** Returns the fields of an object at a path. */
export function under(prefix: string, fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([path, about]) => [`${prefix}.${path}`, about]));
}

/** Returns the fields as absent together with the object that they belong to. */
export function optional(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([path, about]) => [path.replace(/\??$/, "?"), about]));
}

/** The limit of a queue, and its use. */
export const LIMIT: Fields = fieldsOf(limitShape);

/** A queue. */
export const QUEUE: Fields = fieldsOf(queueShape);

function fieldsOf(shape: Shape_<unknown>): Fields {
  return Object.fromEntries(rowsOf(shape).map(([path, ...about]) => [path, about]));
}

/** A group of a queue. */
export const GROUP: Fields = {
  "name": ["text", "the group; `|high` and `|low` are the jobs of these priorities"],
  "size": ["number", "queued jobs"],
  "latencyMs": ["number", "age of its oldest queued job; 0 without one"],
  "running": ["number", "running jobs"],
  "weight": ["number", "its weight, 1 by default"],
  "fairShare?": [
    "number",
    "the part of the queue's next jobs that its weight gives it, 0 to 1; not measured. Absent if it has no turns: no queued jobs, at its limit, or paused",
  ],
  "limit?": ["object", "its limit; absent if it has none"],
  ...optional(under("limit", LIMIT)),
  "isOwn": ["boolean", "whether it has a separate limit or weight; if not, that of each group applies"],
  "sharesLimit?": ["boolean", "true if just its weight is separate"],
  "endsInMs?": ["number", "time until its separate limit ends; absent if it doesn't"],
  "paused": ["boolean", "whether it is paused"],
  "pausedForMs?": ["number", "remaining time of the pause; absent if it has no end"],
};
