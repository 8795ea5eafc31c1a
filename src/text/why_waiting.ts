/**
 * Why a job isn't running, in sentences. Pure.
 *
 * @module
 */
import { formatDuration } from "../job/duration.ts";
import { parsePayload, type Payload } from "../job/job.ts";
import { readErrors } from "../job/past_errors.ts";
import type { Entry } from "../store/port/entries.ts";
import type { Step } from "../job/step.ts";
import { type Around, type Blocker, blockersOf, type Pause } from "../store/ops/blockers.ts";
import type { JobWaits } from "../store/ops/job_waits.ts";
import { asText } from "../log/value.ts";
import { crashesOf, crashText } from "./crashes.ts";
import { groupCommand, whyGroupHeld, whyGroupHeldSince } from "./held_groups.ts";
import { limitSet, limitUse, raiseLimit } from "./limits.ts";
import { canIsolate, startAdvice } from "./runtimes.ts";
import { shellWord } from "./shell.ts";
import { DEFAULT_EXAMPLE } from "./signals.ts";
import { processText } from "./processes.ts";
import { stallCure, stallText } from "./stalls.ts";
import type { ProcessState } from "../processes.ts";
import type { LastSet } from "../store/admin/audit.ts";
import { isLate, usualMs } from "../store/ops/late.ts";
import { LONG_RUN_MS, longRunning, runningJob, stallsOf } from "../store/ops/stalls.ts";
import { ALL_QUEUES } from "../store/port/paused_queues.ts";
import { localMinute, relative } from "./times.ts";
import { missingWebhook, webhookOf } from "./webhooks.ts";
import { asOf, isEndedByRescue, quietFor } from "./workers.ts";
import { pausedSince, pausedUntil } from "./queues.ts";

/** The queues and workers around a job, and what it waits for itself. */
export interface Surroundings extends Around, JobWaits {
  /** Epoch milliseconds. */
  readonly now: number;
  /** The last pause of each paused queue, as far as it is known. */
  readonly pauses?: ReadonlyMap<string, LastSet>;
  /** The last limit of each queue that is at its limit, as far as it is known. */
  readonly limits?: ReadonlyMap<string, LastSet>;
  /** The last pause or limit of its group. */
  readonly groupSet?: LastSet | undefined;
  /** The workers on this machine whose processes have ended or are stopped, by worker ID. */
  readonly processes?: ReadonlyMap<string, ProcessState>;
}

/** Returns the reasons, the nearest first. For a running job: why it doesn't get on; nothing if no reason is known. */
export function whyNotRunning(entry: Entry, around: Surroundings): readonly string[] {
  const { place } = entry;
  if (place.in === "running") return [...whyStalled(entry, around), ...crashing(parsePayload(entry.payload)?.payload)];
  const job = parsePayload(entry.payload);
  const jid = shellWord(job?.jid ?? "JID");
  if (place.in === "dead") {
    const { error_class: failure, died_by: by, enqueued_at: revived } = job?.payload ?? {};
    // Stored with the step: a retry would throw it again.
    const isStep = by === undefined ? failure === "StepFailed" || failure === "ChildFailed" : by === "step";
    if (isStep && revived === undefined) {
      return [
        `It is dead: one of its steps failed for good. jobs steps rerun ${jid} NAME runs it again from that step; ` +
        `jobs steps ${jid} lists them.`,
      ];
    }
    return [
      `It is dead: ${whyDead(job?.payload, canIsolate(around.workers, job?.class))}. jobs retry ${jid} runs it again.`,
    ];
  }
  const named = job?.payload.queue;
  const queue = place.in === "queue" ? place.queue : typeof named === "string" && named !== "" ? named : "default";
  return [
    ...crashing(job?.payload),
    ...waiting(entry, around, jid),
    ...queueReasons(queue, job?.class, place.in === "queue", around),
  ];
}

/** Describes a job whose worker ended with it. */
function crashing(payload: Payload | undefined): string[] {
  const crashes = crashesOf(payload);
  return crashes === undefined ? [] : [`${crashText(crashes)}.`];
}

/** The worker's `maxRetries`, which the payload doesn't have, unless it is set. */
const DEFAULT_MAX_RETRIES = 25;

function whyDead(payload: Payload | undefined, canIsolate: boolean): string {
  if (payload === undefined) return "its payload can't be read";
  const { error_class: failure, retry, retry_count: count, retry_for: span, died_by: by } = payload;
  // Retried by hand since its death, it was in a queue again.
  if (failure === undefined || by !== undefined && payload.enqueued_at !== undefined) return "it was killed";
  if (typeof by === "string") return causeText(by, payload, canIsolate);
  if (failure === "WorkerDied") return crashedText(canIsolate);
  if (failure === "Kill") return "its handler ended it for good";
  // Each of our workers writes why it has ended a job.
  if (readErrors(payload.errors).length > 0) return "it was killed before its retries were exhausted";
  const isEarly = typeof count === "number" && count < (typeof retry === "number" ? retry : DEFAULT_MAX_RETRIES);
  if (!isEarly || span !== undefined) return "its retries are exhausted";
  if (typeof retry === "number") return "it was killed before its retries were exhausted";
  return `it was killed, or its worker has a lower maxRetries than ${DEFAULT_MAX_RETRIES}`;
}

/** Returns the cause of death that a worker has written. */
function causeText(by: string, payload: Payload, canIsolate: boolean): string {
  switch (by) {
    case "handler":
      return "its handler ended it for good";
    case "crash":
      return crashedText(canIsolate);
    case "payload":
      return `no worker can perform it: ${asText(payload.error_message)}`;
    case "retry_for":
      return "the time of its retry_for has passed";
    case "retryIn":
      return "the retryIn of its class ended it";
  }
  const retries = /^retries:(\d+)$/.exec(by)?.[1];
  if (retries === undefined) return "its retries are exhausted";
  if (retries === "0") return "it has no retries";
  return retries === "1" ? "its retry is used up" : `its ${retries} retries are exhausted`;
}

function crashedText(canIsolate: boolean): string {
  const protection = canIsolate ? "; isolate: true for the class protects the worker" : "";
  return `it crashed its workers, or they ran out of memory${protection}`;
}

function whyStalled(entry: Entry, { workers, now, runTimes, processes }: Surroundings): string[] {
  const { payload, worker, cancelled } = entry;
  if (isEndedByRescue(entry)) return ["It was cancelled, and no worker has it: the next rescue by a worker ends it."];
  const at = workers.filter(({ id }) => id === worker);
  if (at.length > 0 && at.every(({ alive }) => !alive)) {
    return [
      cancelled
        ? "It was cancelled, and its worker is offline: the next rescue by another one ends it."
        : "Its worker is offline: another one rescues it.",
    ];
  }
  const state = processes?.get(worker ?? "");
  if (state !== undefined) {
    const process = `the process of its worker ${processText(state)}`;
    return [
      cancelled
        ? `It was cancelled, and ${process}: it ends once the heartbeat has lapsed.`
        : sentence(`${process}: another worker rescues the job once the heartbeat has lapsed`),
    ];
  }
  const jid = parsePayload(payload)?.jid;
  const stalls = stallsOf(at).filter((stall) => stall.is === "blocked" || stall.jid === jid);
  if (stalls.length > 0) return stalls.map((stall) => sentence(`${stallText(stall, now)}: ${stallCure(stall)}`));
  const running = jid === undefined ? undefined : runningJob(at, jid);
  const unusual = running && runTimes && whyUnusual(now - running.since, runTimes);
  return running && unusual ? [sentence(`${stallText(running, now)}, ${unusual}: ${stallCure(running)}`)] : [];
}

/** Workers that are named. */
const MAX_LACKING = 3;

/** A job that has run for less isn't conspicuous if nothing is known about its class. */
const LONG_UNKNOWN_MS = 60_000;

/** Returns why the age of a running job is conspicuous; undefined if it isn't. */
function whyUnusual(ageMs: number, runTimes: readonly number[]): string | undefined {
  const usual = usualMs(runTimes);
  if (usual === undefined) {
    return ageMs < LONG_UNKNOWN_MS
      ? undefined
      : "and too few jobs of its class have succeeded in the last day to compare it";
  }
  if (!isLate(ageMs, usual)) return undefined;
  return `while 99 % of its class end within ${formatDuration(Math.max(1, Math.round(usual)))}`;
}

function waiting({ place, at }: Entry, around: Surroundings, jid: string): string[] {
  const { now, waitingSteps = [] } = around;
  if (place.in !== "scheduled" && place.in !== "retry") return [];
  if (at !== undefined && at > now) {
    const steps = waitingSteps.filter(({ until = 0 }) => until > now);
    if (steps.length > 0) return steps.flatMap((step) => whyStepWaits(step, around, jid));
    return [`${place.in === "retry" ? "Its next attempt" : "It"} is due ${relative(at, now)}.`];
  }
  return ["It is due. A worker will queue it within seconds, as soon as one is running."];
}

function whyStepWaits(step: Step, around: Surroundings, jid: string): string[] {
  const { name, kind, key = "KEY", until = 0, example } = step;
  const end = `until ${localMinute(until, "UTC")} UTC, ${relative(until, around.now)}`;
  if (kind === "sleep") return [`Step "${name}" sleeps ${end}. jobs steps wake ${jid} ends the sleep.`];
  if (kind === "child") return whyChildWaits(step, end, around);
  const sending = `jobs signal ${shellWord(key)} ${shellWord(example ?? DEFAULT_EXAMPLE)}`;
  const data = example === undefined ? ", with the data that its handler expects" : "";
  return [`Step "${name}" waits for signal "${key}", ${end}, at most. ${sending} sends it${data}.`];
}

/** Returns what a step waits for, and what keeps that job from running. */
function whyChildWaits({ name, child }: Step, end: string, around: Surroundings): string[] {
  const found = around.children?.find(({ jid }) => jid === child);
  const of = found === undefined ? "" : ` of class ${found.class}`;
  const blockers = found === undefined ? [] : queueReasons(found.queue, found.class, false, around);
  return [
    `Step "${name}" waits for job ${child}${of}, ${end}, at most.`,
    ...blockers.map((reason) => `Job ${child}: ${reason}`),
  ];
}

/**
 * Returns why a job of a queue doesn't run.
 *
 * @param className the class of the job; undefined if the payload is unreadable
 * @param isQueued whether it is in the queue, and not only going to be
 */
export function queueReasons(
  queue: string,
  className: string | undefined,
  isQueued: boolean,
  around: Surroundings,
): string[] {
  const blockers = blockersOf({ queue, class: className }, around)
    // Workers that are busy now may be free when the job is due.
    .filter(({ is }) => isQueued || is !== "busy");
  const reasons = blockers.map((blocker) => reasonOf(blocker, queue, className, around));
  const held = isQueued ? groupReason(queue, around) : undefined;
  if (held !== undefined) reasons.push(held);
  if (isQueued && reasons.length === 0) {
    reasons.push(`Nothing blocks it: a worker fetches it in its turn${asOf(serving(queue, around), around.now)}.`);
  }
  return reasons;
}

/**
 * Returns why a job of a queue isn't fetched even if it is the first one, in a few words: its group, its queue or all queues are
 * paused, or its group is at its limit. Returns undefined if it is fetched next, and for a job that isn't queued.
 */
export function whyHeld({ place }: Entry, around: Surroundings): string | undefined {
  if (place.in !== "queue") return undefined;
  const pause = blockersOf(place, around).find((blocker) => "forMs" in blocker);
  return (around.group && whyGroupHeld(around.group, around.now)) ?? (pause && whyPaused(pause, place.queue, around));
}

/** Returns why the group of the job is held, since when, and the command that helps. The jobs of a priority have neither pause nor limit. */
function groupReason(queue: string, { group, groupSet, now }: Surroundings): string | undefined {
  const why = group && whyGroupHeldSince(group, groupSet, now);
  if (why === undefined) return undefined;
  const { command, does } = groupCommand(queue, group!);
  return `${sentence(why)} ${command} ${does}.`;
}

function whyPaused(
  blocker: Pause,
  queue: string,
  around: Surroundings,
  isLong = false,
): string {
  const [name, what] = blocker.is === "all-paused" ? [ALL_QUEUES, "all queues are"] : [queue, `queue "${queue}" is`];
  const since = isLong ? pausedSince(around.pauses?.get(name), around.now) : "";
  return `${what} paused${pausedUntil(blocker.forMs, around.now)}${since}`;
}

function sentence(words: string): string {
  return `${words[0]!.toUpperCase()}${words.slice(1)}.`;
}

function reasonOf(blocker: Blocker, queue: string, className: string | undefined, around: Surroundings): string {
  const webhook = webhookOf(className);
  switch (blocker.is) {
    case "all-paused":
      return `${sentence(whyPaused(blocker, queue, around, true))} jobs resume resumes them.`;
    case "paused":
      return `${sentence(whyPaused(blocker, queue, around, true))} jobs resume ${shellWord(queue)} resumes it.`;
    case "limited": {
      const longest = longRunning(around.workers.filter(({ alive }) => alive), queue, around.now);
      const running = longest === undefined ? "" : ` The longest: ${stallText(longest, around.now)}.`;
      return `Queue "${queue}" is at its limit: ${limitUse(blocker.limit)}${
        limitSet(blocker.limit, around.limits?.get(queue), around.now)
      }.${running} ${raiseLimit(queue, blocker.limit)} raises it.`;
    }
    case "no-worker-online":
      return `No worker is online. Start one with ${startAdvice(around.workers, [queue])}.`;
    case "no-worker-of-queue":
      if (webhook !== undefined) return missingWebhook(webhook);
      return `No worker fetches from queue "${queue}": start one with ${startAdvice(around.workers, [queue])}.`;
    case "quiet":
      return `All workers of queue "${queue}" are quiet${
        quietFor(serving(queue, around), around.now)
      }. jobs resume --all-workers resumes them.`;
    case "stopping":
      return `All workers of queue "${queue}" are stopping. Start one: ${startAdvice(around.workers, [queue])}.`;
    case "busy": {
      const isLong = blocker.stall !== undefined && around.now - blocker.stall.since >= LONG_RUN_MS;
      if (!isLong) return "All processors of its queue are busy.";
      const longest = stallText(blocker.stall!, around.now);
      return `All processors of its queue are busy. The longest: ${longest}; ${stallCure(blocker.stall!)}.`;
    }
    case "blocked":
      return sentence(`${stallText(blocker.stall!, around.now)}: ${stallCure(blocker.stall!)}`);
    case "no-handler":
      if (webhook !== undefined) return missingWebhook(webhook);
      return `No worker of queue "${queue}" has a handler for ${className}: it waits for one.${
        lackingText(serving(queue, around))
      } Start one with ${startAdvice(around.workers, [queue])}.`;
  }
}

/** Returns which workers take the jobs of a class that they lack, and put them aside. */
function lackingText(workers: Surroundings["workers"]): string {
  const names = workers.slice(0, MAX_LACKING).map(({ id }) => id).join(", ");
  const more = workers.length > MAX_LACKING ? ` and ${workers.length - MAX_LACKING} more` : "";
  return ` ${names}${more} ${workers.length === 1 ? "takes its jobs and lacks" : "take its jobs and lack"} it.`;
}

/** Returns the online workers of a queue. */
function serving(queue: string, { workers }: Surroundings): Surroundings["workers"] {
  return workers.filter(({ alive, queues }) => alive && queues.includes(queue));
}
