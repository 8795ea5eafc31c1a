/**
 * How the jobs of cron entries ended: whether a run was enqueued says nothing about its job.
 *
 * @module
 */
import type { CrontabEntry } from "../../client/crontab_entry.ts";
import type { CronRecord } from "../../cron/occurrence.ts";
import { isDuration } from "../../job/failure.ts";
import { getField } from "../../job/raw.ts";
import { asText } from "../../log/value.ts";
import type { ResultStore } from "../../store/port/results.ts";

/** Results that are read, of the first records. */
const MAX_READ = 100;

/** How a job ended. */
export interface JobEnd {
  readonly state: string;
  /** The duration of its last attempt. */
  readonly elapsedMs?: number;
  /** `Class: message`. */
  readonly error?: string;
}

/** The ends of jobs, by jid, as far as their results are kept. */
export type JobEnds = ReadonlyMap<string, JobEnd>;

/** A run with the end of its job. */
export interface EndedRun extends CronRecord {
  /** How the job ended, or `not ended`; undefined if none was enqueued, or its result is no longer kept. */
  readonly jobEnded?: string | undefined;
  /** The duration of its last attempt. */
  readonly jobElapsedMs?: number | undefined;
  /** Its error, `Class: message`. */
  readonly jobError?: string | undefined;
}

/** Returns the ends of the jobs that runs have enqueued. */
export async function readEnds(
  { results }: { readonly results: ResultStore },
  records: readonly (CronRecord | undefined)[],
): Promise<JobEnds> {
  const jids = records.flatMap((record) => (record && enqueuedJid(record)) ?? []).slice(0, MAX_READ);
  if (jids.length === 0) return new Map();
  const ended = (await results.read({ jids })).records;
  return new Map(ended.map((record) => [String(getField(record, "jid")), readEnd(record)]));
}

/** Any program may have written the record. */
function readEnd(record: string): JobEnd {
  const elapsedMs = getField(record, "elapsedMs");
  const error = getField(record, "error") as { readonly class?: unknown; readonly message?: unknown } | undefined;
  return {
    state: asText(getField(record, "state")),
    ...(isDuration(elapsedMs) && { elapsedMs }),
    ...(error && { error: `${asText(error.class)}: ${asText(error.message)}` }),
  };
}

/** Returns the job that a run has enqueued; undefined if it has enqueued none. A skipped run names the job that blocked it. */
export function enqueuedJid({ outcome, jid }: CronRecord): string | undefined {
  return outcome === "enqueued" || outcome === "manual" ? jid : undefined;
}

/** Returns the runs of an entry with the ends of their jobs, with secrets masked. */
export async function withEnds(
  store: { readonly results: ResultStore },
  records: readonly CronRecord[],
  entry: Pick<CrontabEntry, "live"> | undefined,
  mask: { text(text: string): string },
): Promise<EndedRun[]> {
  const ends = await readEnds(store, records);
  return records.map((record) => {
    const jid = enqueuedJid(record);
    if (jid === undefined) return record;
    const end = ends.get(jid);
    return {
      ...record,
      jobEnded: end?.state ?? (jid === entry?.live ? "not ended" : undefined),
      jobElapsedMs: end?.elapsedMs,
      jobError: end?.error && mask.text(end.error),
    };
  });
}

/**
 * Returns the fields of a button that runs an entry now. They identify the run after the latest one: a button that is pressed twice
 * enqueues one job. Random ones would make live updates replace the button.
 */
export function runFields(last: CronRecord | undefined): { readonly once: string } {
  return { once: last === undefined ? "first" : `${last.decidedAt} ${last.jid ?? last.outcome}` };
}
