/**
 * Alerts about cron entries: they did not run, missed runs, or their last job failed.
 *
 * @module
 */
import type { CronDefinition } from "../../cron/definition.ts";
import type { CronRecord } from "../../cron/occurrence.ts";
import type { CronState } from "../../cron/plan.ts";
import { openSchedule } from "../../cron/schedule_spec.ts";
import { formatDuration } from "../../job/duration.ts";
import { number } from "../../text/format.ts";
import { shellWord } from "../../text/shell.ts";
import { enqueuedJid, runFields } from "../query/cron_ends.ts";
import { type Alert, type AlertAction, MAX_OF_A_KIND, type Situation } from "./alert.ts";

/** A cron entry whose run is overdue by more than this is late. */
const LATE_MS = 60_000;
const DAY_MS = 86_400_000;

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

/** The entries that need attention. */
export function cronAlerts({ cron, cronEnds, workers, now }: Situation): Alert[] {
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
