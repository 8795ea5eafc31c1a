/**
 * One job, looked up: by its ref at once, else by its jid.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import type { Entry, Place, Stats } from "../../store/admin/admin.ts";
import { whyNotRunning } from "../../text/why_waiting.ts";
import type { Services } from "../services.ts";
import { endedJob, logOf } from "./results.ts";
import { FAR, type JobDetail } from "../pages/job.tsx";
import { backtraceOf, type JobView, MAX_PARSED_CHARS, viewEntry, viewRunning } from "./job_view.ts";
import type { RunningJobRecord, WorkerInfo } from "../../store/port/workers.ts";

/** Where the job is, with the reasons why it does not run. Usually one place; none when it is gone. */
export async function lookUp(
  services: Services,
  { jid, ref }: { readonly jid: string; readonly ref: string | undefined },
  around: { readonly stats: Stats; readonly processes: readonly WorkerInfo[] },
): Promise<JobDetail[]> {
  const { stats: { queues }, processes } = around;
  const surroundings = { queues, processes, now: services.clock.now() };
  const entries = await findEntries(services, jid, ref);
  return await Promise.all(entries.map(async (entry) => {
    const job = viewEntry(entry, services.mask);
    const running = entry.place.in === "leased" ? runningJob(services, job.jid, processes) : undefined;
    const ended = entry.place.in === "dead" ? await endedJob(services, job.jid) : undefined;
    return {
      entry,
      job,
      progress: running?.progress,
      log: running?.log ?? logOf(ended),
      before: await services.store.admin.position(entry.ref, FAR),
      reasons: entry.payload.length > MAX_PARSED_CHARS
        ? []
        : whyNotRunning(entry, surroundings).map((reason) => services.mask.text(reason)),
      backtrace: job.payload ? backtraceOf(job.payload, services.mask) : [],
    };
  }));
}

/** What a job that runs says of itself, as its process told at its last heartbeat. */
function runningJob(services: Services, jid: string, processes: readonly WorkerInfo[]): JobView | undefined {
  const isIt = ({ payload }: RunningJobRecord) =>
    // Reading a field of a megabyte takes milliseconds, and thousands of jobs may run.
    (payload.length < SCANNED_CHARS || payload.includes(jid)) && getJid(payload) === jid;
  const work = processes.flatMap((process) => process.work).find(isIt);
  return work && viewRunning(work, services.mask);
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
export async function findEntries(services: Services, jid: string, ref: string | undefined): Promise<Entry[]> {
  const entry = ref ? await services.store.admin.get(ref) : undefined;
  if (entry) return [entry];
  return jid === "" || jid === "-" ? [] : await services.store.admin.find([jid]);
}

const SEEN_PER_PLACE = 100;

/** Classes to choose from: those that servers have told of, those performed here, and those of the jobs that are there. */
export async function knownClasses(services: Services): Promise<string[]> {
  const { queues } = await services.store.admin.stats();
  const places: Place[] = [
    { in: "scheduled" },
    { in: "retry" },
    { in: "dead" },
    ...queues.slice(0, 10).map(({ name }): Place => ({ in: "queue", queue: name })),
  ];
  const declared = await services.store.classes.read();
  const pages = await Promise.all(places.map((place) => services.store.admin.page(place, { limit: SEEN_PER_PLACE })));
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
