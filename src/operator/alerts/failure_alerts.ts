/**
 * Alerts about jobs: they fail, crash their workers, or no worker has a handler for them.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import type { QueueInfo } from "../../store/admin/admin.ts";
import type { ClassMetricsSeries } from "../../store/port/metrics.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { crashText } from "../../text/crashes.ts";
import { listNotices, missingWebhook, webhookOf } from "../../text/webhooks.ts";
import { number } from "../../text/format.ts";
import { pausedSince, pauseText } from "../../text/queues.ts";
import { canIsolate, startCommand } from "../../text/runtimes.ts";
import { shellWord } from "../../text/shell.ts";
import { type Alert, type AlertAction, MAX_OF_A_KIND, type Situation, unfetchedCause } from "./alert.ts";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** The error of jobs that are moved to dead because they crash their workers. */
export const CRASH_ERROR = "WorkerDied";
/** The minutes over which failures count, and the fewest attempts for a rate. */
const FAILURE_MINUTES = 15;
/** Failures that are older are over, as far as is known. */
const ENDED_MINUTES = 2;
const MIN_ATTEMPTS = 20;
const WARN_RATE = 0.1;
const BAD_RATE = 0.5;
/** Most attempts fail, so that retries grow. */
const FAILURES = "failures";
/** Fewer retries don't count as growing; this many are a problem in any case. */
const MIN_RETRIES = 100;
const MANY_RETRIES = 10_000;
const GROWTH = 0.1;
/** A text names at most this many workers. */
const MAX_NAMED = 3;

/** Many attempts fail: of all, or of some classes. */
export function failureAlerts(situation: Situation): Alert[] {
  const { today, now } = situation;
  // An open circuit explains the failures of its classes.
  const explained = new Set(
    situation.workers.flatMap(({ alive, circuits = [] }) =>
      alive ? circuits.flatMap(({ classes = [] }) => classes) : []
    ),
  );
  const metrics = situation.metrics.filter((one) => !explained.has(one.class));
  const retrying = situation.retrying.filter((one) => !explained.has(one.class));
  const recent = metrics.map((measured) => ({
    name: measured.class,
    measured,
    processed: sum(measured.series.slice(-FAILURE_MINUTES)),
    failed: sum(measured.failedSeries.slice(-FAILURE_MINUTES)),
  })).filter(({ processed }) => processed > 0).sort((a, b) => b.failed - a.failed);
  const processed = sum(recent.map((one) => one.processed));
  const hasRecent = processed >= MIN_ATTEMPTS;
  // The day's totals are of all classes.
  if (!hasRecent && explained.size > 0) return [];
  const attempts = hasRecent ? processed : today.processed;
  const failed = hasRecent ? sum(recent.map((one) => one.failed)) : today.failed;
  if (attempts >= MIN_ATTEMPTS && failed / attempts >= WARN_RATE) {
    const isBad = failed / attempts >= BAD_RATE;
    const errors: AlertAction = { label: "Show errors", path: "/retrying", query: { by: "error" } };
    const [first] = recent;
    // The counts of the first minute aren't stored yet.
    const name = hasRecent ? first?.name : mostFrequent(retrying.map((job) => job.class));
    const jobs = retrying.filter((job) => job.class === name);
    const since = hasRecent && first !== undefined ? sinceText(first.measured) : firstFailure(jobs, now);
    const most = name === undefined
      ? ""
      : `, most of class ${name}${hasRecent ? ` (${number(first!.failed)})` : ""}${since}`;
    const queue = mostFrequent(jobs.map((job) => job.queue));
    return [{
      kind: isBad ? "bad" : "warn",
      about: "jobs",
      cause: FAILURES,
      title: `${percent(failed / attempts)} of attempts failed ${
        hasRecent ? `in the last ${FAILURE_MINUTES} minutes` : "today"
      }`,
      detail: `${number(failed)} of ${number(attempts)} attempts${most}.${
        queue === undefined ? "" : ` ${pauseAdvice(queue, situation)}.`
      }`,
      command: name === undefined ? "jobs errors" : `jobs errors --class ${shellWord(name)}`,
      actions: isBad && queue !== undefined && pausedOf(queue, situation) === undefined
        ? [errors, pauseAction(queue)]
        : [errors],
    }];
  }
  return recent.filter((one) => one.processed >= MIN_ATTEMPTS && one.failed / one.processed >= WARN_RATE)
    .slice(0, MAX_OF_A_KIND).map(({ name, measured, processed, failed }) => ({
      kind: failed / processed >= BAD_RATE ? "bad" : "warn",
      about: "jobs",
      title: `${percent(failed / processed)} of ${name} failed in the last ${FAILURE_MINUTES} minutes`,
      detail: `${number(failed)} of ${number(processed)} attempts${sinceText(measured)}.`,
      command: `jobs errors --class ${shellWord(name)}`,
      actions: [
        { label: "Show errors", path: "/retrying", query: { by: "error", class: name } },
        { label: "Show class", path: `/classes/${encodeURIComponent(name)}` },
      ],
    }));
}

/** Returns the text that occurs most often; undefined if there is none. */
function mostFrequent(texts: readonly string[]): string | undefined {
  const groups = [...Map.groupBy(texts, (text) => text)];
  return groups.toSorted(([, a], [, b]) => b.length - a.length)[0]?.[0];
}

function firstFailure(jobs: Situation["retrying"], now: number): string {
  const since = Math.min(...jobs.flatMap((job) => job.since ?? []));
  return since === Infinity ? "" : `, for ${formatDuration(Math.max(0, now - since))}`;
}

/** Returns what holds a queue: itself, or all queues; undefined if neither is paused. */
function pausedOf(queue: string, { stats }: Situation): QueueInfo | undefined {
  const paused = stats.queues.filter((one) => one.paused);
  return paused.find(({ name }) => name === ALL_QUEUES) ?? paused.find(({ name }) => name === queue);
}

/** Returns how the damage is stopped, or that it is, and how the queue continues. */
function pauseAdvice(queue: string, situation: Situation): string {
  const paused = pausedOf(queue, situation);
  if (paused === undefined) return `jobs pause ${shellWord(queue)} stops the damage`;
  const { pauses, now } = situation;
  const isAll = paused.name === ALL_QUEUES;
  return `${isAll ? "All queues are" : `Queue "${queue}" is`} ${pauseText(paused)}${
    pausedSince(pauses.get(paused.name), now)
  }, which stops the damage. jobs resume${isAll ? "" : ` ${shellWord(queue)}`} continues it, once the cause is mended`;
}

function pauseAction(queue: string): AlertAction {
  return { label: `Pause queue ${queue}`, path: `/queues/${encodeURIComponent(queue)}/pause`, acts: true };
}

/**
 * Returns since when a class fails: the first minute with failures after the last one with successes only; and when it failed last, if
 * that is a while ago.
 */
function sinceText({ series, failedSeries }: ClassMetricsSeries): string {
  const healthy = series.findLastIndex((count, i) => count > 0 && failedSeries[i]! / count < WARN_RATE);
  const ago = (minute: number) => formatDuration((failedSeries.length - minute) * MINUTE_MS);
  const first = failedSeries.findIndex((count, i) => i > healthy && count > 0);
  const last = failedSeries.findLastIndex((count) => count > 0);
  const since = first <= 0 ? "" : `, for ${ago(first)}`;
  return failedSeries.length - last <= ENDED_MINUTES ? since : `${since}, the last ${ago(last)} ago`;
}

/** Retries grow, or are many. */
export function retryAlerts({ stats, samples, now }: Situation): Alert[] {
  const first = samples[0];
  const growth = first === undefined ? 0 : stats.retry - first.retrying;
  const isGrowing = first !== undefined && stats.retry >= MIN_RETRIES &&
    growth >= Math.max(20, first.retrying * GROWTH);
  if (!isGrowing && stats.retry < MANY_RETRIES) return [];
  return [{
    kind: stats.retry >= MANY_RETRIES ? "bad" : "warn",
    about: "jobs",
    cause: FAILURES,
    title: isGrowing
      ? `Retries are growing: ${number(stats.retry)} jobs, +${number(growth)} in ${formatDuration(now - first.at)}`
      : `${number(stats.retry)} jobs wait for a retry`,
    command: "jobs errors",
    actions: [{ label: "Group by error", path: "/retrying", query: { by: "error" } }],
  }];
}

/** One alert for each class that crashed workers within the last hour. */
export function crashAlerts({ crashes, workers, now }: Situation): Alert[] {
  const recent = crashes.filter(({ at }) => at > now - HOUR_MS);
  return [...Map.groupBy(recent, ({ class: name }) => name)].slice(0, MAX_OF_A_KIND).map(([name, jobs]) => {
    const { jid, ref, at } = jobs[0]!;
    return {
      kind: "bad",
      about: "jobs",
      title: `${name} crashes its workers: ${
        jobs.length === 1 ? "1 job" : `${number(jobs.length)} jobs`
      } moved to dead`,
      detail: `${formatDuration(Math.max(0, now - at))} ago. Each attempt ended its worker.${
        canIsolate(workers, name) ? " isolate: true for the class protects the worker." : ""
      }`,
      command: `jobs show ${shellWord(jid)}`,
      actions: [
        { label: "Show job", path: `/jobs/${encodeURIComponent(jid)}`, query: { ref } },
        { label: "Show dead jobs", path: "/dead", query: { class: name, error: CRASH_ERROR } },
      ],
    };
  });
}

/** Jobs that may crash their workers again, before they are dead. */
export function suspectAlerts({ suspects, workers }: Situation): Alert[] {
  return suspects.toSorted((a, b) => b.rescues - a.rescues).slice(0, MAX_OF_A_KIND).map((job) => ({
    kind: "warn",
    about: "jobs",
    title: `${job.class} ${job.jid}: ${crashText(job).replace(/^I/, "i")}`,
    detail: `A cancel keeps it from the next worker${
      canIsolate(workers, job.class) ? "; isolate: true for the class protects them" : ""
    }.`,
    command: `jobs cancel ${shellWord(job.jid)}`,
    actions: [{ label: "Show job", path: `/jobs/${encodeURIComponent(job.jid)}` }],
  }));
}

/** Classes without a handler. */
export function unhandledAlerts({ unhandled, workers, now }: Situation): Alert[] {
  return unhandled.slice(0, MAX_OF_A_KIND).map(({ class: name, queue, since, isScheduled, isKnown = true }) => {
    const webhook = webhookOf(name);
    return {
      kind: "bad",
      about: "jobs",
      cause: unfetchedCause(queue, workers) ?? `unhandled ${queue}`,
      title: webhook === undefined
        ? `No worker of queue "${queue}" has a handler for ${name}${isKnown ? "" : ", and none has ever had one"}`
        : `No worker has the webhook "${webhook}": its notices wait`,
      detail: webhook !== undefined
        ? missingWebhook(webhook)
        : `Its jobs wait for one${since === undefined ? "" : `, for ${formatDuration(Math.max(0, now - since))}`}.` +
          lackingText(name, lackingIn(workers, queue), isScheduled === true),
      command: webhook === undefined ? startCommand(workers, [queue]) : listNotices(webhook),
      actions: [
        {
          label: "Show jobs",
          path: isScheduled ? "/scheduled" : `/queues/${encodeURIComponent(queue)}`,
          query: { class: name },
        },
      ],
    };
  });
}

/** Returns the online workers that fetch from a queue: none has a handler for the class in question. */
function lackingIn(workers: Situation["workers"], queue: string): readonly string[] {
  return workers.filter(({ alive, quiet, queues }) => alive && !quiet && queues.includes(queue)).map(({ id }) => id);
}

/** Returns which workers take the jobs of a class that they lack, and what to start. Where Sidekiq takes them, too, they are postponed. */
function lackingText(name: string, lacking: readonly string[], isScheduled: boolean): string {
  if (lacking.length === 0) return "";
  const more = lacking.length > MAX_NAMED ? ` and ${number(lacking.length - MAX_NAMED)} more` : "";
  const names = `${lacking.slice(0, MAX_NAMED).join(", ")}${more}`;
  return ` ${names} ${
    lacking.length === 1 ? "takes them and lacks" : "take them and lack"
  } the class: start a worker whose handlers ` +
    `include ${name}.${isScheduled ? " Postponed jobs run within minutes; jobs retry JID runs one now." : ""}`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}
