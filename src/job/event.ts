/**
 * Events: the ends of jobs, batches and flows and other things that happen, in one log of the store that programs follow. An event is written in the step that ends its subject.
 *
 * A store keeps the **members** of an event: JSON text without braces, of which it knows nothing but the job's own fields.
 *
 * @module
 */
import { closestWord } from "./suggest.ts";
import { JOB_ENDS, type JobEnd, matches } from "./webhook.ts";

/** A type of event. `gap`: events were not kept, or not recorded. */
export type EventType = JobEnd | "batch.complete" | "flow.ended" | "cron.missed" | "worker.offline" | "gap";

/** The types of events, without `gap`. */
export const EVENT_TYPES: readonly Exclude<EventType, "gap">[] = [
  ...JOB_ENDS,
  "batch.complete",
  "flow.ended",
  "cron.missed",
  "worker.offline",
];

/** An event has no longer messages, in characters. */
const MAX_MESSAGE = 300;

/**
 * An event. It has no arguments and no results: the record of the job has them.
 *
 * @example
 * ```ts
 * import type { JobEvent } from "@jobs/jobs";
 *
 * const line = ({ type, class: name, jid, error }: JobEvent) => `${type} ${name} ${jid} ${error?.message ?? ""}`;
 * ```
 */
export interface JobEvent {
  /** Its position in the log: later events have greater ones. */
  readonly id: number;
  /** Its type. */
  readonly type: EventType;
  /** When, in epoch milliseconds. */
  readonly at: number;
  /** The job. */
  readonly jid?: string;
  /** The class of the job, or of the jobs of the cron entry. */
  readonly class?: string;
  /** The queue that the job names, or that of the jobs of the cron entry. */
  readonly queue?: string;
  /** The batch or flow that has ended, or that the job belongs to. */
  readonly batch?: string;
  /** The name of the batch or flow. */
  readonly name?: string;
  /** The tags of the job, batch or flow. */
  readonly tags?: readonly string[];
  /** How the batch or flow has ended: `succeeded`, `failed`, `stuck` or `cancelled`. */
  readonly state?: string;
  /** Why the job is dead or has failed; the message is cut. */
  readonly error?: { readonly class: string; readonly message: string };
  /** The cron entry. */
  readonly entry?: string;
  /** How many runs it missed. */
  readonly count?: number;
  /** The worker. */
  readonly worker?: string;
  /** Of a gap: the events after this ID, up to that of the gap, are no longer kept. */
  readonly after?: number;
  /** Of a gap: when recording ended, in epoch milliseconds. It began again at `at`. */
  readonly since?: number;
}

/** Which events to read. Those that have a value must match each given list; a gap always does. */
export interface EventFilter {
  /** Types. */
  readonly type?: readonly EventType[];
  /** Names or patterns such as `Import*`. */
  readonly class?: readonly string[];
  /** Names or patterns. */
  readonly queue?: readonly string[];
  /** IDs. */
  readonly batch?: readonly string[];
  /** One of these tags. */
  readonly tag?: readonly string[];
}

/** Returns what is wrong with a list of types, after its name: `"ded"; did you mean dead?`. Undefined if nothing is. */
export function wrongType(types: readonly string[]): string | undefined {
  const unknown = types.find((type) => EVENT_TYPES.every((one) => one !== type));
  if (unknown === undefined) return undefined;
  const meant = closestWord(unknown, EVENT_TYPES);
  return `"${unknown.slice(0, 40)}"; ${
    meant === undefined ? `expected one of ${EVENT_TYPES.join(", ")}` : `did you mean ${meant}?`
  }`;
}

/** Returns the members of the event of a job's end. */
export function endMembers(
  type: JobEnd,
  error?: { readonly class: string; readonly message: string },
): string {
  const short = error && { class: error.class, message: error.message.slice(0, MAX_MESSAGE) };
  return membersOf({ type, ...(short && { error: short }) });
}

/** Returns members as a store keeps them. */
export function membersOf(event: Omit<JobEvent, "id" | "at">): string {
  return JSON.stringify(event).slice(1, -1);
}

/** Returns the event in the body that a store has kept. Members of the wrong type are left out: payloads have fields of any type. */
export function readEvent(
  { id, at, body }: { readonly id: number; readonly at: number; readonly body: string },
): JobEvent {
  const read = JSON.parse(body) as Record<string, unknown>;
  const event: Record<string, unknown> = { id, type: read["type"], at };
  for (const [name, is] of MEMBERS) if (is(read[name])) event[name] = read[name];
  if (event["class"] !== undefined) event["queue"] ??= "default";
  return event as unknown as JobEvent;
}

const isText = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) => typeof value === "number";
const isTags = (value: unknown) => Array.isArray(value) && value.length > 0 && value.every(isText);
const isError = (value: unknown) => typeof value === "object" && value !== null;

const MEMBERS: readonly (readonly [string, (value: unknown) => boolean])[] = [
  ["jid", isText],
  ["class", isText],
  ["queue", isText],
  ["batch", isText],
  ["name", isText],
  ["tags", isTags],
  ["state", isText],
  ["error", isError],
  ["entry", isText],
  ["count", isNumber],
  ["worker", isText],
  ["after", isNumber],
  ["since", isNumber],
];

/** Returns whether an event passes a filter. */
export function passes(event: JobEvent, { type, class: classes, queue, batch, tag }: EventFilter): boolean {
  if (event.type === "gap") return true;
  const isOneOf = (patterns: readonly string[] | undefined, value: string | undefined) =>
    patterns === undefined || value !== undefined && patterns.some((pattern) => matches(pattern, value));
  return (type === undefined || type.includes(event.type)) && isOneOf(classes, event.class) &&
    isOneOf(queue, event.queue) && (batch === undefined || event.batch !== undefined && batch.includes(event.batch)) &&
    (tag === undefined || tag.some((one) => event.tags?.includes(one)));
}
