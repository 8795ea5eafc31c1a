/**
 * The part of the store port that keeps the audit log: what people did, through the dashboard or the command line. The
 * latest {@linkcode MAX_ACTS} are kept.
 *
 * An act is written down beside what was done, not in the same step: what cannot be written down is done all the same, and
 * is in the log of the process.
 *
 * @module
 */

/** What somebody did. */
export interface AuditEvent {
  /** Who. */
  readonly user: string;
  /** How that is known: `cookie`, `token`, …, `command line`. */
  readonly by: string;
  /** From where: an address, or the name of a machine. */
  readonly from: string;
  /** What: `retry`, `pause`, `cron run`, … */
  readonly action: string;
  /** To what: a jid, a place, a queue, a process, an entry. */
  readonly target?: string;
  /** How many jobs or processes were changed or asked. */
  readonly count?: number;
  /** What came of it; absent: it was done. */
  readonly outcome?: string;
  /** What else there is to say of it. */
  readonly details?: string;
}

/** An act as it stands in the log. */
export interface AuditEntry extends AuditEvent {
  /** When, by the store's clock. */
  readonly at: number;
}

/** One page of acts, the latest first. */
export interface AuditPage {
  /** Newest first. */
  readonly acts: readonly AuditEntry[];
  /** Pass it to get the next page; absent on the last. */
  readonly next?: string;
}

/** Keeps the audit log. */
export interface AuditStore {
  /** Adds an event. */
  record(event: AuditEvent): Promise<void>;

  /** Returns a page of events, latest first; at most `limit`, default 25. */
  page(request?: { readonly cursor?: string; readonly limit?: number }): Promise<AuditPage>;
}

/** So many acts are kept. */
export const MAX_ACTS = 10_000;
/** No text of an act is longer. */
const LONGEST = 1_000;
const TEXTS = ["user", "by", "from", "action", "target", "outcome", "details"] as const;

/** An act as a text to keep: bounded, whatever it says. */
export function actText(act: AuditEvent): string {
  const texts = TEXTS.filter((field) => act[field] !== undefined)
    .map((field) => [field, act[field]!.slice(0, LONGEST).toWellFormed()]);
  return JSON.stringify({ ...Object.fromEntries(texts), ...(act.count !== undefined && { count: act.count }) });
}

/** What the text says. Whatever else stands there is shown as far as it can be: of an audit log nothing is left out. */
export function readAct(text: string, at: number): AuditEntry {
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
    return { details: text.slice(0, LONGEST) };
  }
}
