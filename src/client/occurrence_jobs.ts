/**
 * Occurrences → jobs as the store takes them.
 *
 * @module
 */
import { type CronEntry, occurrenceRequest } from "../cron/entry.ts";
import type { CronRecord, OccurrenceJob } from "../cron/occurrence.ts";
import { InvalidPayload } from "../job/errors.ts";
import type { NewJob } from "../store/port/jobs.ts";
import type { Client } from "./client.ts";

/** Jobs to store together with the records that tell of them. */
export interface BuiltOccurrences {
  readonly jobs: readonly NewJob[];
  /** Those given; of a job that was not built, what it came to instead. */
  readonly records: readonly CronRecord[];
}

/**
 * Builds the jobs of an entry's occurrences as pushes would, through middleware.
 *
 * @param records what is to be recorded when each of the jobs is stored
 * @throws whatever middleware throws but {@linkcode InvalidPayload}
 */
export async function buildOccurrences(
  client: Client,
  entry: CronEntry,
  decided: { readonly jobs: readonly OccurrenceJob[]; readonly records: readonly CronRecord[] },
): Promise<BuiltOccurrences> {
  const jobs: NewJob[] = [];
  /** By the jid that was decided on. */
  const built = new Map<string, Partial<CronRecord>>();
  for (const { jid, occurrence } of decided.jobs) {
    const job = await build(client, { ...occurrenceRequest(entry, jid, occurrence), unique_for: false });
    if ("reason" in job) built.set(jid, { outcome: "skipped", reason: job.reason });
    else {
      // An occurrence is enqueued now, and once: neither a lock nor a time that middleware gave it counts.
      jobs.push({ jid: job.jid, queue: job.queue, payload: job.payload });
      if (job.jid !== jid) built.set(jid, { jid: job.jid });
    }
  }
  const records = decided.records.map((record) => {
    const change = record.jid === undefined ? undefined : built.get(record.jid);
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
