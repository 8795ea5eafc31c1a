/**
 * One job, looked up: by its ref at once, else by its jid.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import type { Entry, Place, ProcessInfo, Stats } from "../../store/admin/admin.ts";
import type { RunningJob } from "../../store/port/jobs.ts";
import { whyNotRunning } from "../../text/why_waiting.ts";
import type { Desk } from "../services.ts";
import { endedJob, logOf } from "./results.ts";
import { FAR, type JobDetail } from "../pages/job.tsx";
import { backtraceOf, MAX_PARSED_CHARS, showEntry, type ShownJob, showRunning } from "./job_view.ts";

/** Where the job is, with the reasons why it does not run. Usually one place; none when it is gone. */
export async function lookUp(
  desk: Desk,
  { jid, ref }: { readonly jid: string; readonly ref: string | undefined },
  around: { readonly stats: Stats; readonly processes: readonly ProcessInfo[] },
): Promise<JobDetail[]> {
  const { stats: { queues }, processes } = around;
  const surroundings = { queues, processes, now: desk.clock.now() };
  const entries = await findEntries(desk, jid, ref);
  return await Promise.all(entries.map(async (entry) => {
    const job = showEntry(entry, desk.mask);
    const running = entry.place.in === "leased" ? runningJob(desk, job.jid, processes) : undefined;
    const ended = entry.place.in === "dead" ? await endedJob(desk, job.jid) : undefined;
    return {
      entry,
      job,
      progress: running?.progress,
      log: running?.log ?? logOf(ended),
      before: await desk.store.before(entry.ref, FAR),
      reasons: entry.payload.length > MAX_PARSED_CHARS
        ? []
        : whyNotRunning(entry, surroundings).map((reason) => desk.mask.text(reason)),
      backtrace: job.payload ? backtraceOf(job.payload, desk.mask) : [],
    };
  }));
}

/** What a job that runs says of itself, as its process told at its last heartbeat. */
function runningJob(desk: Desk, jid: string, processes: readonly ProcessInfo[]): ShownJob | undefined {
  const isIt = ({ payload }: RunningJob) =>
    // Reading a field of a megabyte takes milliseconds, and thousands of jobs may run.
    (payload.length < SCANNED_CHARS || payload.includes(jid)) && getJid(payload) === jid;
  const work = processes.flatMap((process) => process.work).find(isIt);
  return work && showRunning(work, desk.mask);
}

/** Shorter payloads are read right away. */
const SCANNED_CHARS = 16 * 1024;

function getJid(payload: string): unknown {
  try {
    return getField(payload, "jid");
  } catch {
    return undefined;
  }
}

/** The entries of a job: what the ref names, if it is there still; else all with the jid. */
export async function findEntries(desk: Desk, jid: string, ref: string | undefined): Promise<Entry[]> {
  const entry = ref ? await desk.store.get(ref) : undefined;
  if (entry) return [entry];
  return jid === "" || jid === "-" ? [] : await desk.store.find(jid);
}

const SEEN_PER_PLACE = 100;

/** Classes to choose from: those that servers have told of, those performed here, and those of the jobs that are there. */
export async function knownClasses(desk: Desk): Promise<string[]> {
  const { queues } = await desk.store.stats();
  const places: Place[] = [
    { in: "scheduled" },
    { in: "retry" },
    { in: "dead" },
    ...queues.slice(0, 10).map(({ name }): Place => ({ in: "queue", queue: name })),
  ];
  const declared = await desk.store.declaredClasses();
  const pages = await Promise.all(places.map((place) => desk.store.page(place, { limit: SEEN_PER_PLACE })));
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
      ...desk.classes,
      ...seen.filter((name) => typeof name === "string"),
    ]),
  ].sort();
}
