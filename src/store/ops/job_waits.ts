/**
 * Reads what one job waits for, apart from its queue and the workers: a turn of its group, its durable steps, or, while it runs, an
 * end that others of its class reach sooner.
 *
 * @module
 */
import { asideIn } from "../../job/aside.ts";
import { parsePayload } from "../../job/job.ts";
import { mayHaveSteps, readStepHead, type Step } from "../../job/step.ts";
import type { Entry } from "../port/entries.ts";
import type { Store } from "../admin/store.ts";
import type { GroupInfo } from "../port/groups.ts";
import { MIN_LATE_MS, usualMs } from "./late.ts";
import { runningJob, type StallingWorker } from "./stalls.ts";

/** See {@linkcode readJobWaits}. */
export interface JobWaits {
  /** The group in which the job is queued. */
  readonly group?: GroupInfo;
  /** The steps that sleep or wait, in the order in which they began, without large values. */
  readonly waitingSteps?: readonly Step[];
  /** The children that those steps wait for, as far as they aren't running and haven't ended. */
  readonly children?: readonly WaitingChild[];
  /** The histogram of the run times of its class. Read only for a job that may be late. */
  readonly runTimes?: readonly number[];
}

/** A job that hasn't begun, for which a step of another one waits. */
export interface WaitingChild {
  readonly jid: string;
  readonly class: string;
  readonly queue: string;
}

/** Values of steps that are larger are not read. */
const MAX_VALUE_CHARS = 1_000;
/** Further children are not looked for. */
const MAX_CHILDREN = 20;
/** A larger child is not read: parsing it would hold the event loop. */
const MAX_CHILD_CHARS = 65_536;

/** Returns what a job waits for. */
export async function readJobWaits(
  store: Pick<Store, "admin" | "jobs" | "steps" | "series">,
  entry: Entry,
  { workers, now }: { readonly workers: readonly StallingWorker[]; readonly now: number },
): Promise<JobWaits> {
  const { place } = entry;
  if (place.in === "running") {
    const stall = runningJob(workers.filter(({ id }) => id === entry.worker), parsePayload(entry.payload)?.jid ?? "");
    if (stall?.class === undefined || stall.is !== "running" || now - stall.since < MIN_LATE_MS) return {};
    return { runTimes: await readRunTimes(store, stall.class) };
  }
  if (place.in === "queue" && place.group !== undefined) {
    const aside = asideIn(place.group);
    const name = aside === undefined ? place.group : aside.group;
    if (name === undefined) return {};
    const [group] = (await store.admin.groups(place.queue, { group: name })).groups;
    return group === undefined ? {} : { group };
  }
  if (place.in !== "scheduled") return {};
  const job = parsePayload(entry.payload);
  if (job === undefined || !mayHaveSteps(job.payload)) return {};
  const steps = (await store.steps.read(job.jid)).map(({ name, record }) =>
    readStepHead(name, record, MAX_VALUE_CHARS)
  );
  const waitingSteps = steps.filter(({ state }) => state === "waiting");
  const jids = waitingSteps.flatMap(({ kind, child }) => kind === "child" && child !== undefined ? [child] : []);
  if (jids.length === 0) return { waitingSteps };
  const entries = await store.jobs.find(jids.slice(0, MAX_CHILDREN));
  return { waitingSteps, children: entries.flatMap(waitingChild) };
}

function waitingChild({ place, payload }: Entry): WaitingChild[] {
  if (place.in !== "queue" && place.in !== "scheduled" && place.in !== "retry") return [];
  const job = payload.length > MAX_CHILD_CHARS ? undefined : parsePayload(payload);
  if (job === undefined) return [];
  const named = job.payload.queue;
  const queue = place.in === "queue" ? place.queue : typeof named === "string" && named !== "" ? named : "default";
  return [{ jid: job.jid, class: job.class, queue }];
}

/** Reads the run times of a class in the last hour, or in the last day if those are too few. */
async function readRunTimes({ series }: Pick<Store, "series">, className: string): Promise<number[]> {
  const read = async (window: "1h" | "24h") => {
    const steps = await series.read("histograms", { class: className, window });
    return steps.reduce((sum, step) => step.map((count, bucket) => (sum[bucket] ?? 0) + count), []);
  };
  const latest = await read("1h");
  return usualMs(latest) === undefined ? await read("24h") : latest;
}
