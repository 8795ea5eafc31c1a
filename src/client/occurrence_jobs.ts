/**
 * Builds the jobs of cron runs.
 *
 * @module
 */
import { type CronEntry, occurrenceRequest } from "../cron/entry.ts";
import type { CronRecord, OccurrenceJob } from "../cron/occurrence.ts";
import { InvalidPayload } from "../job/errors.ts";
import type { NewJob } from "../store/port/jobs.ts";
import type { Client } from "./client.ts";

export interface BuiltOccurrences {
  readonly jobs: readonly NewJob[];
  /** The given records. The record of a job that could not be built has the outcome `skipped` and the reason. */
  readonly records: readonly CronRecord[];
}

/**
 * Builds the jobs of an entry's runs as pushes would, through middleware.
 *
 * @param decided the jobs, and the record of each
 * @throws any error of middleware except {@linkcode InvalidPayload}
 */
export async function buildOccurrences(
  client: Client,
  entry: CronEntry,
  decided: { readonly jobs: readonly OccurrenceJob[]; readonly records: readonly CronRecord[] },
): Promise<BuiltOccurrences> {
  const jobs: NewJob[] = [];
  /** Changes to the records, by the jid that was decided. */
  const changes = new Map<string, Partial<CronRecord>>();
  for (const { jid, occurrence } of decided.jobs) {
    const off = { unique_for: false, debounce: false, throttle: false } as const;
    const job = await build(client, { ...occurrenceRequest(entry, jid, occurrence), ...off });
    if ("reason" in job) changes.set(jid, { outcome: "skipped", reason: job.reason });
    else {
      // A run is enqueued now and once. A lock or a time that middleware has set is ignored.
      const { group } = job;
      jobs.push({ jid: job.jid, queue: job.queue, payload: job.payload, ...(group !== undefined && { group }) });
      if (job.jid !== jid) changes.set(jid, { jid: job.jid });
    }
  }
  const records = decided.records.map((record) => {
    const change = record.jid === undefined ? undefined : changes.get(record.jid);
    if (change?.reason === undefined) return { ...record, ...change };
    const { jid: _, ...rest } = record;
    return { ...rest, ...change };
  });
  return { jobs, records };
}

async function build(
  client: Client,
  request: Parameters<Client["build"]>[0],
): Promise<NewJob | { readonly reason: string }> {
  try {
    return await client.build(request) ?? { reason: "stopped by middleware" };
  } catch (error) {
    if (error instanceof InvalidPayload) return { reason: error.message };
    throw error;
  }
}
