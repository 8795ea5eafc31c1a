/** `jobs cron list|next|history`. @module */
import type { CrontabEntry } from "../../client/crontab.ts";
import { systemClock } from "../../clock.ts";
import type { CronEntry } from "../../cron/entry.ts";
import { checkEntries } from "../../cron/entry_check.ts";
import type { CronRecord } from "../../cron/occurrence.ts";
import { describeSchedule, type ScheduleSpec } from "../../cron/schedule_spec.ts";
import { formatDuration } from "../../job/duration.ts";
import { hidePassword } from "../../store/port/hide_password.ts";
import { StoreError } from "../../store/port/errors.ts";
import { localMinute, localTime, relative } from "../../text/times.ts";
import { cronEntryJson, cronRecordJson, inZone, outcomeOf, utc, zoneOf } from "../../text/cron.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { argsText } from "../shared/job_text.ts";
import { findEntry, parseCount, withCrontab } from "../shared/cron_store.ts";
import { loadSettings, storeUrl } from "../shared/store.ts";
import { printError, printJson } from "../terminal/output.ts";
import { type Column, printTable } from "../terminal/table.ts";

const LIST_COLUMNS: readonly Column[] = [
  { heading: "name", is: "whole" },
  "when",
  { heading: "next run", is: "whole" },
  { heading: "last run", is: "optional" },
  "job",
  { heading: "memo", is: "optional" },
];

/** Lists entries: those of the store, and those of the configuration that no worker has loaded. */
export async function list(argv: readonly string[]): Promise<number> {
  const { flags } = parseCommand("cron list", argv, COMMON_FLAGS, "");
  const { settings, environment, file } = await loadSettings(flags);
  const { active } = checkEntries(settings.cron, { environment });
  let isStored = true;
  const entries = await withCrontab(flags, ({ crontab }) => crontab.list()).catch((error) => {
    // The first worker makes the store.
    if (!(error instanceof StoreError) || error.code !== "missing" || active.length === 0) throw error;
    isStored = false;
    return [];
  });
  const known = new Set(entries.map(({ name }) => name));
  const pending = active.filter(({ name }) => !known.has(name));
  if (flags.json) printJson([...entries.map(cronEntryJson), ...pending.map(pendingJson)]);
  else {
    const now = systemClock.now();
    printTable(
      LIST_COLUMNS,
      [...entries.map((entry) => entryRow(entry, now)), ...pending.map(pendingRow)],
      'No cron entries; add some under "cron" in the configuration, or with jobs cron add',
    );
    if (pending.length > 0) {
      const count = pending.length === 1 ? "1 entry isn't" : `${pending.length} entries aren't`;
      const reason = isStored ? "no worker" : `there is no store at ${hidePassword(storeUrl(settings))}, and no worker`;
      printError(`jobs: ${count} active yet: ${reason} has loaded ${file ?? "the configuration"}; start one: jobs run`);
    }
  }
  return 0;
}

function entryRow(entry: CrontabEntry, now: number): unknown[] {
  const { name, definition, next, last } = entry;
  return [
    name,
    definition ? describeSchedule(definition.schedule) : "",
    next === undefined ? stateText(entry) : nextText(next, now, definition!.schedule),
    last ? `${last.outcome} ${relative(last.decidedAt, now)}` : "",
    definition ? `${definition.class}(${argsText(definition.args)})` : "",
    definition?.memo ?? "",
  ];
}

function pendingRow({ name, schedule, class: className, args, memo }: CronEntry): unknown[] {
  return [name, describeSchedule(schedule), "not loaded", "", `${className}(${argsText(args)})`, memo ?? ""];
}

function pendingJson(entry: CronEntry): unknown {
  return { ...entry, when: describeSchedule(entry.schedule), paused: false, loaded: false, counts: {} };
}

function nextText(at: number, now: number, schedule: ScheduleSpec): string {
  const zone = zoneOf(schedule);
  const isLocal = zone === undefined || localMinute(at, zone) === localMinute(at);
  return isLocal ? localTime(at, now) : `${relative(at, now)} (${localMinute(at, zone)} ${zone})`;
}

function stateText({ definition, state, isLoaded }: CrontabEntry): string {
  if (definition === undefined) return "unknown format";
  if (state?.paused) return "paused";
  return isLoaded ? "none" : "not loaded";
}

/** Prints the next runs of an entry. */
export async function next(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("cron next", argv, {
    ...COMMON_FLAGS,
    limit: { takes: "text", short: "n" },
  }, "NAME");
  const count = parseCount(flags.limit, 5, 1_000);
  const { times, schedule } = await withCrontab(flags, async ({ crontab }) => {
    await findEntry(crontab, args[0]!);
    return {
      times: await crontab.next(args[0]!, count),
      schedule: (await crontab.get(args[0]!))!.definition!.schedule,
    };
  });
  if (flags.json) printJson(times.map((at) => ({ at: utc(at), local: inZone(at, schedule) })));
  else {
    const now = systemClock.now();
    const zone = zoneOf(schedule) ?? "UTC";
    const columns = ["next run", zone, ...(zone === "UTC" ? [] : ["UTC"])];
    const second = (at: number) => utc(at).slice(0, 19).replace("T", " ");
    const local = (at: number) => inZone(at, schedule).slice(0, 19).replace("T", " ");
    const row = (at: number) => [relative(at, now), local(at), ...(zone === "UTC" ? [] : [second(at)])];
    printTable(columns, times.map(row), "No more runs");
  }
  return 0;
}

/** Prints the past runs of an entry. */
export async function history(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("cron history", argv, {
    ...COMMON_FLAGS,
    limit: { takes: "text", short: "n" },
  }, "NAME");
  const count = parseCount(flags.limit, 20, 100);
  const records = await withCrontab(flags, async ({ crontab }) => {
    const found = await crontab.history(args[0]!, count);
    // The history of a removed entry stays.
    if (found.length === 0) await findEntry(crontab, args[0]!);
    return found;
  });
  if (flags.json) printJson(records.map(cronRecordJson));
  else {
    const now = systemClock.now();
    const rows = records.map((record) => [
      localTime(record.scheduledAt, now),
      outcomeOf(record),
      late(record),
      record.jid ?? "",
    ]);
    printTable(
      [{ heading: "scheduled", is: "whole" }, "outcome", "late", { heading: "jid", is: "whole" }],
      rows,
      `Cron entry "${args[0]}" has no runs yet`,
    );
  }
  return 0;
}

function late({ outcome, scheduledAt, decidedAt }: CronRecord): string {
  return outcome === "enqueued" ? formatDuration(Math.max(0, decidedAt - scheduledAt)) : "";
}
