/**
 * The audit log: the actions of users, through the dashboard or the command line.
 *
 * An event is written next to the action, not in the same step: an event that can't be written doesn't prevent the action, and
 * is in the log of the process.
 *
 * @module
 */
import type { LogStore } from "../port/logs.ts";

/** An action of a user. */
export interface AuditEvent {
  /** The user. */
  readonly user: string;
  /** How the user was identified: `cookie`, `token`, …, `command line`. */
  readonly by: string;
  /** The origin: an address, or the name of a machine. */
  readonly from: string;
  /** The action: `retry`, `pause`, `cron run`, … */
  readonly action: string;
  /** The target: a jid, a place, a queue, a worker, a cron entry. */
  readonly target?: string;
  /** Number of affected jobs or workers. */
  readonly count?: number;
  /** The outcome; absent: success. */
  readonly outcome?: string;
  /** Further details. */
  readonly details?: string;
}

/** An event in the log. */
export interface AuditEntry extends AuditEvent {
  /** When, by the store's clock. */
  readonly at: number;
}

/** When, and by whom, a pause or a limit was set. */
export type LastSet = Pick<AuditEntry, "at" | "user" | "details">;

/** One page of events, the latest first. */
export interface AuditPage {
  /** The events, latest first. */
  readonly events: readonly AuditEntry[];
  /** Pass it to get the next page; absent on the last. */
  readonly next?: string;
}

/** A store with the audit log. */
export interface AuditLog {
  /** Its logs. */
  readonly logs: LogStore;
}

/** Adds an event. */
export function recordEvent({ logs }: AuditLog, event: AuditEvent): Promise<void> {
  return logs.add("audit", eventText(event));
}

/** Returns a page of events, latest first; at most `limit`, default 25. */
export async function readEvents(
  { logs }: AuditLog,
  request?: { readonly cursor?: string; readonly limit?: number },
): Promise<AuditPage> {
  const { entries, next } = await logs.page("audit", request);
  return { events: entries.map(({ at, text }) => readEvent(text, at)), ...(next !== undefined && { next }) };
}

/** Longest text of an event. */
const MAX_TEXT_CHARS = 1_000;
const TEXTS = ["user", "by", "from", "action", "target", "outcome", "details"] as const;

/** Returns an event as text of bounded length. */
function eventText(event: AuditEvent): string {
  const texts = TEXTS.filter((field) => event[field] !== undefined)
    .map((field) => [field, event[field]!.slice(0, MAX_TEXT_CHARS).toWellFormed()]);
  return JSON.stringify({ ...Object.fromEntries(texts), ...(event.count !== undefined && { count: event.count }) });
}

/** Parses an event. Of an unreadable text, everything that can be read is returned: an audit log omits nothing. */
function readEvent(text: string, at: number): AuditEntry {
  const read = readObject(text);
  const texts = TEXTS.filter((field) => typeof read[field] === "string").map((field) => [field, read[field]]);
  return {
    user: "?",
    by: "?",
    from: "?",
    action: "?",
    ...Object.fromEntries(texts),
    ...(typeof read.count === "number" && { count: read.count }),
    at,
  };
}

function readObject(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return { details: text.slice(0, MAX_TEXT_CHARS) };
  }
}
