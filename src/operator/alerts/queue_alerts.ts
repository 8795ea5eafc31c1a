/**
 * Alerts about queues: paused, without a worker, behind.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import type { QueueInfo } from "../../store/admin/admin.ts";
import { blockersOf } from "../../store/ops/blockers.ts";
import { LONG_RUN_MS, longRunning, type Stall } from "../../store/ops/stalls.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import { number, rateText } from "../../text/format.ts";
import { groupName, heldGroupsText } from "../../text/groups.ts";
import { groupCommand, whyGroupHeldSince } from "../../text/held_groups.ts";
import { limitSet, limitUse, raiseLimit } from "../../text/limits.ts";
import { pausedSince, pauseText } from "../../text/queues.ts";
import { startCommand, startHint } from "../../text/runtimes.ts";
import { shellWord } from "../../text/shell.ts";
import { stallCommand, stallHint, stallText } from "../../text/stalls.ts";
import { quietFor } from "../../text/workers.ts";
import type { Backlog } from "../query/backlog.ts";
import { type Alert, type AlertAction, hinted, sentence, type Situation, stallCause, unfetchedCause } from "./alert.ts";
import { isStuck, longestOf, noEndMs, notEndedText, runningJobs } from "./running_jobs.ts";

/** A queue whose oldest job has waited longer than this is behind. */
export const BEHIND_MS = 30_000;
/** Alerts about single queues. The page of queues shows the rest. */
const MAX_QUEUE_ALERTS = 8;
/** Jobs that hold a limit for longer without an end are the reason, not the limit. */
const HUNG_MS = 300_000;
/** A command names at most this many workers. */
const MAX_WORKERS = 3;
/** More queues than this that are behind share an alert. */
export const MAX_BEHIND = 3;
/** An alert names at most this many held groups. */
const MAX_HELD_GROUPS = 3;

/** Returns the problems of queues: paused, without a worker, behind. */
export function queueAlerts(situation: Situation): Alert[] {
  const { stats, workers, pauses, now } = situation;
  const online = workers.filter((worker) => worker.alive);
  const fetched = fetchedQueues(workers);
  const alerts: Alert[] = [];
  const all = stats.queues.find(({ name, paused }) => name === ALL_QUEUES && paused);
  if (all !== undefined) {
    alerts.push({
      kind: "bad",
      about: "queues",
      title: `All queues are ${pauseText(all)}${pausedSince(pauses.get(ALL_QUEUES), now)}`,
      command: "jobs resume",
      actions: [{ label: "Resume all queues", path: "/queues/resume", acts: true }],
    });
  }
  const filled = stats.queues.filter(({ name, size }) => size > 0 && name !== ALL_QUEUES);
  for (const queue of filled) {
    const alert = pausedAlert(queue, situation) ??
      (fetched.has(queue.name) ? undefined : unfetchedAlert(queue, online, situation));
    if (alert !== undefined && alerts.length < MAX_QUEUE_ALERTS) alerts.push(alert);
  }
  const behind = behindQueues(stats.queues, workers).map((queue) => ({ queue, alert: behindAlert(queue, situation) }));
  const explained = behind.filter(({ alert }) => alert.cause !== undefined);
  const others = behind.filter(({ alert }) => alert.cause === undefined);
  return [
    ...alerts,
    ...explained.map(({ alert }) => alert),
    ...others.length > MAX_BEHIND ? [manyBehind(others.map(({ queue }) => queue))] : others.map(({ alert }) => alert),
  ];
}

/** Returns the queues that are behind although a worker fetches from them: without one, all fall behind. */
export function behindQueues(queues: readonly QueueInfo[], workers: readonly WorkerInfo[]): QueueInfo[] {
  const fetched = fetchedQueues(workers);
  return queues.filter(({ name, size, paused, latencyMs }) =>
    size > 0 && name !== ALL_QUEUES && fetched.has(name) && !paused && latencyMs >= BEHIND_MS
  );
}

function fetchedQueues(workers: readonly WorkerInfo[]): ReadonlySet<string> {
  return new Set(workers.filter(({ alive, quiet }) => alive && !quiet).flatMap((worker) => worker.queues));
}

function pathOf(name: string): string {
  return `/queues/${encodeURIComponent(name)}`;
}

function showAction(name: string): AlertAction {
  return { label: "Show queue", path: pathOf(name) };
}

/** Returns `1 job waiting`, or `12 jobs waiting, the oldest for 5m`. */
function waitingText({ size, latencyMs }: QueueInfo): string {
  const waiting = `${number(size)} ${size === 1 ? "job" : "jobs"} waiting`;
  return latencyMs < 1_000 ? waiting : `${waiting}, ${size === 1 ? "" : "the oldest "}for ${formatDuration(latencyMs)}`;
}

function pausedAlert(queue: QueueInfo, { pauses, now }: Situation): Alert | undefined {
  const { name, paused } = queue;
  if (!paused) return undefined;
  return {
    kind: "warn",
    about: "queues",
    title: `Queue "${name}" is ${pauseText(queue)}${pausedSince(pauses.get(name), now)} (${waitingText(queue)})`,
    command: `jobs resume ${shellWord(name)}`,
    actions: [{ label: `Resume queue ${name}`, path: `${pathOf(name)}/resume`, acts: true }, showAction(name)],
  };
}

/** `online`: none of these workers fetches from the queue. */
function unfetchedAlert(
  queue: QueueInfo,
  online: readonly WorkerInfo[],
  { now, workers }: Situation,
): Alert | undefined {
  const { name } = queue;
  const serving = online.filter(({ queues }) => queues.includes(name));
  const quiet = serving.filter(({ stopping }) => !stopping);
  // That no worker is online, or that all are quiet or stopping, says enough.
  if (online.every((worker) => worker.quiet)) return undefined;
  if (quiet.length > 0) {
    return {
      kind: "bad",
      about: "queues",
      cause: unfetchedCause(name, workers)!,
      title: `All workers of queue "${name}" are quiet${quietFor(quiet, now)} (${waitingText(queue)})`,
      command: `jobs resume ${quiet.slice(0, MAX_WORKERS).map(({ id }) => `--worker ${shellWord(id)}`).join(" ")}`,
      actions: [{ label: "Show workers", path: "/workers" }, showAction(name)],
    };
  }
  return {
    kind: "bad",
    about: "queues",
    cause: unfetchedCause(name, workers)!,
    title: serving.length > 0
      ? `All workers of queue "${name}" are stopping (${waitingText(queue)})`
      : `Queue "${name}" has no worker (${waitingText(queue)})`,
    ...hinted(startHint(workers, [name])),
    command: startCommand(workers, [name]),
    actions: [showAction(name)],
  };
}

function behindAlert(queue: QueueInfo, situation: Situation): Alert {
  const { workers, stats, limits, now } = situation;
  const { name, limit, heldGroups } = queue;
  const alert = { kind: "warn", about: "queues", title: behindText(queue), actions: [showAction(name)] } as const;
  const blockers = blockersOf({ queue: name }, { workers, queues: stats.queues });
  const isLimited = blockers.some(({ is }) => is === "limited");
  const isHeld = isLimited || heldGroups !== undefined;
  const hung = hungAlert(queue, situation, isHeld ? HUNG_MS : 0);
  if (hung !== undefined) return hung;
  if (isLimited) {
    const longest = longRunning(workers.filter(({ alive }) => alive), name, now);
    return {
      ...alert,
      detail: `It is at its limit: ${limitUse(limit!)}${limitSet(limit!, limits.get(name), now)}.${
        longest === undefined ? "" : ` The longest: ${stallText(longest, now)}.`
      }`,
      command: raiseLimit(name, limit!),
      actions: [{ label: "Change the limit", path: pathOf(name) }],
    };
  }
  const busy = blockers.find((blocker) => "stall" in blocker);
  if (busy?.is === "blocked" && busy.stall !== undefined) {
    return {
      ...alert,
      cause: stallCause(busy.stall),
      detail: `${sentence(stallText(busy.stall, now))}.`,
      command: stallCommand(busy.stall),
      actions: [...showStall(busy.stall), showAction(name)],
    };
  }
  if (heldGroups !== undefined) return { ...alert, ...heldGroupsHelp(name, heldGroups, situation) };
  const flood = situation.backlogs.get(name)?.flood;
  if (flood !== undefined) return { ...alert, ...floodHelp(queue, flood, situation) };
  if (busy?.stall !== undefined && now - busy.stall.since >= LONG_RUN_MS) {
    return {
      ...alert,
      cause: stallCause(busy.stall),
      detail: `All processors are busy. The longest: ${stallText(busy.stall, now)}. ${
        sentence(stallHint(busy.stall))
      }.`,
      command: stallCommand(busy.stall),
      actions: [...showStall(busy.stall), showAction(name)],
    };
  }
  const detail = [
    ratesText(situation.backlogs.get(name)?.rates),
    ...busy?.stall === undefined
      ? []
      : ["All processors are busy, none of them for long. Add workers, or raise their concurrency."],
  ].join(" ");
  return { ...alert, detail, command: "jobs workers" };
}

function behindText({ name, latencyMs, size }: QueueInfo): string {
  return `Queue "${name}" is ${formatDuration(latencyMs)} behind (${number(size)} ${
    size === 1 ? "job" : "jobs"
  } waiting)`;
}

/**
 * A queue whose running jobs don't end: most of them, or the jobs on most processors of its workers.
 *
 * @param minMs jobs that haven't ended for less aren't the reason
 */
function hungAlert(queue: QueueInfo, situation: Situation, minMs: number): Alert | undefined {
  const { now, workers } = situation;
  const running = runningJobs(situation);
  const own = running.filter(({ job }) => job.queue === queue.name);
  const stuck = own.filter(isStuck);
  if (stuck.length > 0 && 2 * stuck.length >= own.length && noEndMs(stuck) >= minMs) {
    const longest = longestOf(stuck);
    return {
      kind: "warn",
      about: "queues",
      cause: stallCause(longest),
      title: `Queue "${queue.name}": ${notEndedText(stuck, own.length)}`,
      detail: `${behindText(queue)}. The longest: ${stallText(longest, now)}. ${sentence(stallHint(longest))}.`,
      command: stallCommand(longest),
      actions: [...showStall(longest), showAction(queue.name)],
    };
  }
  if (own.length > 0) return undefined;
  const serving = workers.filter(({ alive, quiet, queues }) => alive && !quiet && queues.includes(queue.name));
  const processors = serving.reduce((sum, { concurrency }) => sum + concurrency, 0);
  const ids = new Set(serving.map(({ id }) => id));
  const others = running.filter((one) => isStuck(one) && ids.has(one.worker.id));
  if (others.length === 0 || 2 * others.length < processors || noEndMs(others) < minMs) return undefined;
  const longest = longestOf(others);
  return {
    kind: "warn",
    about: "queues",
    cause: stallCause(longest),
    title: behindText(queue),
    detail: `Jobs of other queues hold ${number(others.length)} of the ${
      number(processors)
    } processors of its workers, and have not ended for ${formatDuration(noEndMs(others))}. The longest: ${
      stallText(longest, now)
    }. ${sentence(stallHint(longest))}.`,
    command: stallCommand(longest),
    actions: [...showStall(longest), showAction(queue.name)],
  };
}

function showStall({ jid }: Stall): AlertAction[] {
  return jid === undefined ? [] : [{ label: "Show job", path: `/jobs/${encodeURIComponent(jid)}` }];
}

/** Returns how a queue moves, in a sentence. */
function ratesText(rates: Backlog["rates"]): string {
  if (rates === undefined) return "Its workers take jobs, but have not caught up.";
  const both = `in ${rateText(rates.in)}, out ${rateText(rates.out)}`;
  const over = `in the last ${formatDuration(Math.round(rates.overMs / 1_000) * 1_000)}`;
  if (rates.out === 0) return `No job has left it ${over}: ${both}.`;
  return rates.out > rates.in
    ? `Its workers catch up ${over}: ${both}.`
    : `Jobs arrive faster than its workers process them ${over}: ${both}.`;
}

/** Names the group that most jobs of a queue belong to, and the limit that keeps processors free for the others. */
function floodHelp(
  { name, size }: QueueInfo,
  { group, othersWaitMs }: NonNullable<Backlog["flood"]>,
  { workers, backlogs }: Situation,
): Required<Pick<Alert, "detail" | "command">> {
  const rates = backlogs.get(name)?.rates;
  const serving = workers.filter(({ alive, quiet, queues }) => alive && !quiet && queues.includes(name));
  const processors = serving.reduce((sum, { concurrency }) => sum + concurrency, 0);
  return {
    detail: [
      `${number(group.size)} of ${number(size)} are of group ${groupName(group.name)}${
        othersWaitMs === undefined ? "" : `; the others wait ${formatDuration(othersWaitMs)}`
      }.`,
      ...rates === undefined ? [] : [ratesText(rates)],
      "A limit of the group keeps processors free for the others.",
    ].join(" "),
    command: group.limit === undefined
      ? `jobs limit ${shellWord(name)} --group ${shellWord(group.name)} --running ${
        Math.max(1, Math.floor(processors / 2))
      }`
      : `jobs list groups ${shellWord(name)}`,
  };
}

/** Returns the slowest held groups of a queue, and the command that helps the first of them. */
function heldGroupsHelp(
  queue: string,
  count: number,
  { heldGroups, now }: Situation,
): Required<Pick<Alert, "detail" | "command">> {
  const list = `jobs list groups ${shellWord(queue)}`;
  const counted = sentence(heldGroupsText(count));
  const held = heldGroups.filter((group) => group.queue === queue);
  // None of those that were read is held, or not any more.
  if (held.length === 0) return { detail: `${counted}: at the limit, or paused.`, command: list };
  const shown = held.slice(0, MAX_HELD_GROUPS);
  const { command: first } = groupCommand(queue, shown[0]!.group);
  const reasons = shown.map(({ group, set }) => {
    const { command, does } = groupCommand(queue, group);
    const why = `${sentence(whyGroupHeldSince(group, set, now) ?? "")}.`;
    return command === first ? why : `${why} ${command} ${does}.`;
  });
  const more = count > shown.length ? [`${list} shows the others.`] : [];
  return { detail: [`${counted}.`, ...reasons, ...more].join(" "), command: first };
}

function manyBehind(queues: readonly QueueInfo[]): Alert {
  const slowest = queues.toSorted((a, b) => b.latencyMs - a.latencyMs);
  const names = slowest.slice(0, MAX_BEHIND).map(({ name, latencyMs }) => `${name} ${formatDuration(latencyMs)}`);
  return {
    kind: "warn",
    about: "queues",
    title: `${number(queues.length)} queues are behind`,
    detail: `${names.join(", ")} and ${
      number(queues.length - names.length)
    } more. Add workers, or raise their concurrency.`,
    command: "jobs workers",
    actions: [{ label: "Show queues", path: "/queues" }],
  };
}
