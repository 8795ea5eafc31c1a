/**
 * Finds a job with the details of its page: by its ref, which is fast, or by its jid.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import { endedProcesses } from "../../processes.ts";
import type { Stats } from "../../store/admin/admin.ts";
import type { Entry, Place } from "../../store/port/entries.ts";
import { findEntries } from "../../operator/actions/job_ids.ts";
import { withFreshReport } from "../../store/ops/fresh_report.ts";
import { readJobWaits } from "../../store/ops/job_waits.ts";
import { readLastSettingsOf } from "../../operator/query/last_settings.ts";
import { whyHeld, whyNotRunning } from "../../text/why_waiting.ts";
import type { Services } from "../services.ts";
import { endedJob, logOf, outputLines } from "./results.ts";
import { MAX_PARSED_CHARS } from "../../operator/query/filter.ts";
import { backtraceOf, type JobView, outputOf, viewEntry, viewRunning } from "./job_view.ts";
import type { RunningJobRecord, WorkerInfo } from "../../store/port/workers.ts";

/** The largest position in a queue that is counted. */
export const FAR = 10_000;

/** One place where the job is. Usually it is in one. */
export interface JobDetail {
  readonly entry: Entry;
  readonly job: JobView;
  readonly reasons: readonly string[];
  readonly backtrace: readonly string[];
  /** The last lines that a failed program printed; empty if there is none. */
  readonly output: readonly string[];
  /** How many jobs precede it in its queue, counted up to {@linkcode FAR}; undefined if it is not in a queue. */
  readonly before: number | undefined;
  /** Why it isn't fetched even as the first job of its queue or group; undefined if it is fetched in its turn. */
  readonly held: string | undefined;
  /** Its last progress text. */
  readonly progress: string | undefined;
  /** The last lines it logged. */
  readonly log: readonly string[];
}

/** Returns each entry of a job, usually one, with the reasons why it doesn't run. Empty if the job no longer exists. */
export async function lookUp(
  services: Services,
  { jid, ref }: { readonly jid: string; readonly ref: string | undefined },
  around: {
    readonly stats: Stats;
    readonly workers: readonly WorkerInfo[];
    /** Whether the worker of a running job is asked for a new report, which may take a moment. */
    readonly isFresh?: boolean;
  },
): Promise<JobDetail[]> {
  const { stats: { queues }, isFresh = false } = around;
  const { store, clock } = services;
  const entries = await findEntries(store, jid, ref);
  const id = entries.find(({ worker }) => worker !== undefined)?.worker;
  const workers = isFresh ? await withFreshReport(store, clock, { workers: around.workers, id }) : around.workers;
  const surroundings = { queues, workers, now: clock.now(), processes: endedProcesses(workers) };
  return await Promise.all(entries.map(async (entry) => {
    const job = viewEntry(entry, services.mask);
    const running = entry.place.in === "running" ? runningJob(services, job.jid, workers) : undefined;
    const ended = entry.place.in === "dead" ? await endedJob(services, job.jid) : undefined;
    // Parsing a large payload would hold the event loop. The group of a queued job is read without its payload.
    const isLarge = entry.payload.length > MAX_PARSED_CHARS;
    const waits = isLarge && entry.place.in !== "queue" ? {} : await readJobWaits(store, entry, surroundings);
    const set = await readLastSettingsOf(store, entry, waits, queues);
    const around = { ...surroundings, ...set, ...waits };
    const held = whyHeld(entry, around);
    return {
      entry,
      job,
      progress: running?.progress,
      log: running?.log ?? logOf(ended),
      before: (await services.store.admin.get([entry.ref], { before: FAR }))[0]?.before,
      held: held && services.mask.text(held),
      reasons: isLarge ? [] : whyNotRunning(entry, around).map((reason) => services.mask.text(reason)),
      output: outputLines(ended?.output) ?? (job.payload && outputOf(job.payload, services.mask)) ?? [],
      backtrace: job.payload ? backtraceOf(job.payload, services.mask) ?? ended?.error?.stack?.map(String) ?? [] : [],
    };
  }));
}

/** Returns a running job with its progress and log, as of its worker's last heartbeat. */
function runningJob(services: Services, jid: string, workers: readonly WorkerInfo[]): JobView | undefined {
  const hasJid = ({ payload }: RunningJobRecord) =>
    // Parsing a megabyte takes milliseconds, and thousands of jobs may run.
    (payload.length < MAX_UNSCANNED_CHARS || payload.includes(jid)) && getJid(payload) === jid;
  const work = workers.flatMap((worker) => worker.work).find(hasJid);
  return work && viewRunning(work, services.mask);
}

/** Longer payloads are parsed only if they contain the jid as text. */
const MAX_UNSCANNED_CHARS = 16 * 1024;

function getJid(payload: string): unknown {
  try {
    return getField(payload, "jid");
  } catch {
    return undefined;
  }
}

/** Returns the text of the schema that a class has declared for its arguments; undefined if it has none. */
export async function declaredSchema(services: Services, name: string): Promise<string | undefined> {
  if (name === "") return undefined;
  const [declared] = await services.store.classes.read([name]);
  try {
    const { schema } = JSON.parse(declared?.options ?? "{}");
    return schema === undefined ? undefined : JSON.stringify(schema, null, 2);
  } catch {
    return undefined;
  }
}

/** Jobs of each place that are read for their classes. */
const SAMPLES_PER_PLACE = 100;

/** Returns class names for suggestions: of declared classes, of this process's handlers, and of a sample of the jobs. */
export async function knownClasses(services: Services): Promise<string[]> {
  const { queues } = await services.store.admin.stats();
  const places: Place[] = [
    { in: "scheduled" },
    { in: "retry" },
    { in: "dead" },
    ...queues.slice(0, 10).map(({ name }): Place => ({ in: "queue", queue: name })),
  ];
  const declared = await services.store.classes.read();
  const pages = await Promise.all(
    places.map((place) => services.store.admin.page(place, { limit: SAMPLES_PER_PLACE })),
  );
  const seen = pages.flatMap((page) => page.entries).map((entry) => {
    try {
      return getField(entry.payload, "class");
    } catch {
      return undefined;
    }
  });
  return [
    ...new Set([
      ...declared.map(({ name }) => name),
      ...services.classes,
      ...seen.filter((name) => typeof name === "string"),
    ]),
  ].sort();
}
