/**
 * A job as `jobs show` reads it, with secrets masked as on the dashboard.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { withFreshReport } from "../../store/ops/fresh_report.ts";
import { decodeBacktrace } from "../../job/failure.ts";
import { readErrors } from "../../job/past_errors.ts";
import type { Payload } from "../../job/job.ts";
import { getField } from "../../job/raw.ts";
import { type EndedJob, readEnded } from "../../job/result.ts";
import type { Entry } from "../../store/port/entries.ts";
import type { Store } from "../../store/admin/store.ts";
import { readablePayload } from "../../text/job_json.ts";
import type { Mask } from "../../text/mask.ts";
import { maskedEnded } from "./masked.ts";

/** The last attempt of a job. */
export interface Report extends Pick<Partial<EndedJob>, "progress" | "lastLine" | "log" | "worker" | "output"> {
  readonly abortReason?: string;
  /** When the worker of a running job reported it, in epoch milliseconds. */
  readonly reportedAt?: number;
  /** Of a dead job: its record keeps the stack, also without `backtrace`. */
  readonly stack?: readonly string[];
}

/**
 * Returns what a running job last reported, at most a second ago if its worker replies, or what the record of a dead one keeps of its
 * last attempt.
 */
export async function reportOf(
  store: Store,
  jid: string,
  entries: readonly Entry[],
  mask: Mask,
): Promise<Report | undefined> {
  if (entries.some((entry) => entry.worker !== undefined)) {
    const id = entries.find(({ worker }) => worker !== undefined)?.worker;
    const workers = await withFreshReport(store, systemClock, { workers: await store.workers.list(), id });
    const work = workers.flatMap((worker) => worker.work);
    const { progress, lastLine, log, abortReason } = work.find(({ payload }) => getField(payload, "jid") === jid) ?? {};
    const reportedAt = workers.find(({ id }) => entries.some(({ worker }) => worker === id))?.heartbeatAt;
    return { ...mask.value(given({ progress, lastLine, log, abortReason })) as Report, ...given({ reportedAt }) };
  }
  if (!entries.some(({ place }) => place.in === "dead")) return undefined;
  const { progress, lastLine, log, worker, error, output } = await readMasked(store, jid, mask) ?? {};
  return given({ progress, lastLine, log, worker, output, stack: error?.stack });
}

function given<Fields extends object>(fields: Fields): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

/** Returns the record of a job; undefined if none is kept. */
export async function readMasked(store: Store, jid: string, mask: Mask): Promise<EndedJob | undefined> {
  const record = (await store.results.read({ jids: [jid] })).records[0];
  if (record === undefined) return undefined;
  return maskedEnded(readEnded(record), mask);
}

/** The parts of an entry that are shown. */
export interface ShownEntry {
  /** Undefined if it can't be read. */
  readonly payload: Payload | undefined;
  /** The stack of the last failure: the payload keeps it with `backtrace`, the record of a dead job also without. */
  readonly stack: readonly string[] | undefined;
  /** The last lines that a failed program printed: the record of a dead job has more of it than the payload. */
  readonly output: readonly string[] | undefined;
  /** The worker of the last failed attempt. */
  readonly worker: string | undefined;
}

/** Returns the parts of an entry that are shown. */
export function shownEntry(entry: Entry, report: Report | undefined, mask: Mask): ShownEntry {
  const payload = readablePayload(entry);
  const unpacked = (packed: unknown) => decodeBacktrace(packed)?.map((line) => mask.text(line));
  return {
    payload: payload && mask.payload(payload),
    stack: unpacked(payload?.error_backtrace) ?? report?.stack,
    output: report?.output ?? unpacked(payload?.error_output),
    worker: report?.worker ?? readErrors(payload?.errors).at(-1)?.worker,
  };
}
