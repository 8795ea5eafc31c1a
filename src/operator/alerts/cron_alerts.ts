/**
 * Alerts about cron entries: they did not run, missed runs, are paused, or their last job failed.
 *
 * @module
 */
import type { CrontabEntry } from "../../client/crontab_entry.ts";
import type { CronDefinition } from "../../cron/definition.ts";
import type { CronRecord } from "../../cron/occurrence.ts";
import type { CronState } from "../../cron/plan.ts";
import { openSchedule } from "../../cron/schedule_spec.ts";
import { formatDuration } from "../../job/duration.ts";
import { pausedSince } from "../../text/queues.ts";
import { number } from "../../text/format.ts";
import { shellWord } from "../../text/shell.ts";
import { longestRunning, type Stall, stallsOf } from "../../store/ops/stalls.ts";
import { stallCommand, stallText } from "../../text/stalls.ts";
import { enqueuedJid, runFields } from "../query/cron_ends.ts";
import {
  type Alert,
  type AlertAction,
  type HeldRuns,
  MAX_OF_A_KIND,
  sentence,
  type Situation,
  stallCause,
} from "./alert.ts";

/** A cron entry whose run is overdue by more than this is late. */
const LATE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Fewer runs in a row that a job holds up aren't reported. */
const MIN_HELD = 3;
/** The outcomes of runs that a job holds up. */
const HELD: readonly CronRecord["outcome"][] = ["skipped", "waiting"];

/** Returns when the first run of an entry is due that no worker has decided on, in epoch milliseconds; undefined if none follows. */
export function nextDue(definition: CronDefinition | undefined, state: CronState | undefined): number | undefined {
  if (definition === undefined || state === undefined || state.paused) return undefined;
  return openSchedule(definition.schedule).next(state.considered);
}

/** Returns the latest run of each entry that counts as recent, the latest first. */
export function recentRuns(cron: Situation["cron"], now: number): CronRecord[] {
  return cron.flatMap(({ last }) => last !== undefined && last.decidedAt > now - DAY_MS ? [last] : [])
    .sort((a, b) => b.decidedAt - a.decidedAt);
}

/** Returns the entries whose latest run is held up by a job, those with the latest runs. */
export function heldEntries(cron: Situation["cron"], now: number): CrontabEntry[] {
  return cron.filter(({ live, last, state }) =>
    live !== undefined && last?.jid === live && HELD.includes(last.outcome) && !state?.paused &&
    last.decidedAt > now - DAY_MS
  ).sort((a, b) => b.last!.decidedAt - a.last!.decidedAt).slice(0, MAX_OF_A_KIND);
}

/** Returns the runs that a job has held up since it was enqueued; undefined if they are few. Records are the latest first. */
export function heldRuns(jid: string, records: readonly CronRecord[]): HeldRuns | undefined {
  const own = records.findIndex((record) => record.jid === jid && !HELD.includes(record.outcome));
  const held = records.slice(0, own < 0 ? undefined : own)
    .filter((record) => record.jid === jid && HELD.includes(record.outcome));
  const times = new Set(held.map(({ scheduledAt }) => scheduledAt));
  return times.size < MIN_HELD ? undefined : { jid, count: times.size, since: Math.min(...times) };
}

/** Names the job that holds up the runs of an entry. */
function heldAlert(name: string, held: HeldRuns, { workers, now }: Situation): Alert {
  const { jid, count, since } = held;
  const stall = stallsOf(workers).find((one) => one.jid === jid) ?? runningJob(workers, jid);
  const show = `jobs show ${shellWord(jid)}`;
  return {
    kind: "warn",
    about: "cron",
    ...(stall !== undefined && { cause: stallCause(stall) }),
    title: `The last ${number(count)} runs of cron entry "${name}" weren't enqueued, for ${
      formatDuration(Math.max(0, now - since))
    }: job ${jid} of an earlier run hasn't ended`,
    detail: stall === undefined
      ? `${show} shows why; jobs cancel ${shellWord(jid)} ends it.`
      : `${sentence(stallText(stall, now))}; ${show} shows more.`,
    command: stall === undefined
      ? show
      : stall.is === "running"
      ? `jobs cancel ${shellWord(jid)}`
      : stallCommand(stall),
    actions: [
      { label: "Show job", path: `/jobs/${encodeURIComponent(jid)}` },
      { label: "Show entry", path: `/cron/${encodeURIComponent(name)}` },
    ],
  };
}

function runningJob(workers: Situation["workers"], jid: string): Stall | undefined {
  const holders = workers.filter(({ alive }) => alive).flatMap((worker) =>
    worker.work.filter(({ payload }) => payload.includes(jid)).map((job) => ({ ...worker, work: [job] }))
  );
  return holders.flatMap((worker) => longestRunning([worker]) ?? []).find((one) => one.jid === jid);
}

/** The entries that need attention. Paused ones come last: they may be paused on purpose. */
export function cronAlerts(situation: Situation): Alert[] {
  return [...runAlerts(situation), ...pauseAlerts(situation)];
}

function pauseAlerts({ cron, cronPauses, now }: Situation): Alert[] {
  const paused = cron.filter(({ state }) => state?.paused);
  if (paused.length > MAX_OF_A_KIND) {
    const names = paused.slice(0, MAX_OF_A_KIND).map(({ name }) => name);
    return [{
      kind: "warn",
      about: "cron",
      title: `${number(paused.length)} cron entries are paused`,
      detail: `${names.join(", ")} and ${number(paused.length - names.length)} more.`,
      command: "jobs cron list",
      actions: [{ label: "Show entries", path: "/cron" }],
    }];
  }
  return paused.map(({ name }): Alert => {
    const path = `/cron/${encodeURIComponent(name)}`;
    return {
      kind: "warn",
      about: "cron",
      title: `Cron entry "${name}" is paused${pausedSince(cronPauses.get(name), now)}`,
      command: `jobs cron resume ${shellWord(name)}`,
      actions: [
        { label: `Resume entry ${name}`, path: `${path}/resume`, acts: true },
        { label: "Show entry", path },
      ],
    };
  });
}

function runAlerts(situation: Situation): Alert[] {
  const { cron, cronEnds, cronHeld, workers, now } = situation;
  const isOnline = workers.some(({ alive }) => alive);
  return cron.flatMap(({ name, definition, state, last, isLoaded }): Alert[] => {
    if (definition === undefined || state?.paused) return [];
    const actions: AlertAction[] = [
      {
        label: "Run now",
        path: `/cron/${encodeURIComponent(name)}/run`,
        acts: true,
        fields: runFields(last),
      },
      { label: "Show entry", path: `/cron/${encodeURIComponent(name)}` },
    ];
    const alert = { kind: "warn", about: "cron", command: `jobs cron run ${shellWord(name)}`, actions } as const;
    const due = nextDue(definition, state);
    if (due !== undefined && due < now - LATE_MS) {
      return [{
        ...alert,
        kind: "bad",
        title: `Cron entry "${name}" did not run: due ${formatDuration(now - due)} ago`,
        detail: !isOnline
          ? "No worker is running."
          : isLoaded
          ? "No worker enqueued it. Is it still in their configuration? Otherwise see their logs."
          : "No running worker has it in its configuration: add it there and restart the worker. The command runs it once.",
        ...(!isOnline && { command: "jobs run handlers.js" }),
      }];
    }
    const held = cronHeld.get(name);
    if (held !== undefined) return [heldAlert(name, held, situation)];
    if (last === undefined || last.decidedAt <= now - DAY_MS) return [];
    const ago = `${formatDuration(Math.max(0, now - last.decidedAt))} ago`;
    if (last.outcome === "missed") {
      return [{
        ...alert,
        title: `Cron entry "${name}" missed ${last.count === 1 ? "a run" : `${number(last.count ?? 1)} runs`}`,
        detail: `No worker was online at their time. That was found ${ago}.`,
      }];
    }
    const jid = enqueuedJid(last);
    const end = jid === undefined ? undefined : cronEnds.get(jid);
    if (jid === undefined || (end?.state !== "failed" && end?.state !== "dead")) return [];
    return [{
      ...alert,
      title: `The last job of cron entry "${name}" ${end.state === "dead" ? "is dead" : "failed"}`,
      detail: `It was enqueued ${ago}.`,
      command: `jobs show ${shellWord(jid)}`,
      actions: [{ label: "Show job", path: `/jobs/${encodeURIComponent(jid)}` }, ...actions],
    }];
  }).slice(0, MAX_OF_A_KIND);
}
