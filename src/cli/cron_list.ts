/** `jobs cron list|next|history`. @module */
import type { CrontabEntry } from "../client/crontab.ts";
import { systemClock } from "../clock.ts";
import type { CronRecord } from "../cron/occurrence.ts";
import { describeSchedule, type ScheduleSpec } from "../cron/schedule_spec.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "./args.ts";
import { countOf, oneName, withCrontab } from "./cron_store.ts";
import { relative } from "./entries.ts";
import { printJson } from "./output.ts";
import { type Column, printTable } from "./table.ts";

const LIST_COLUMNS: readonly Column[] = [
  { heading: "name", is: "whole" },
  "when",
  { heading: "next", is: "whole" },
  { heading: "utc", is: "optional" },
  { heading: "last", is: "optional" },
  "job",
  { heading: "memo", is: "optional" },
];

/** Lists the crontab. */
export async function list(argv: readonly string[]): Promise<number> {
  const { flags, args: [superfluous] } = parseCommand("cron list", argv, COMMON_FLAGS);
  if (superfluous !== undefined) throw new UsageError(`Superfluous: "${superfluous}"`);
  const entries = await withCrontab(flags, (crontab) => crontab.list());
  if (flags.json) printJson(entries.map(entryJson));
  else {
    const now = systemClock.now();
    printTable(
      LIST_COLUMNS,
      entries.map((entry) => [
        entry.name,
        entry.definition ? describeSchedule(entry.definition.schedule) : "",
        entry.next === undefined ? stateOf(entry) : inZone(entry.next, entry.definition!.schedule),
        entry.next === undefined ? "" : utc(entry.next),
        entry.last ? `${entry.last.outcome} ${relative(entry.last.decidedAt, now)}` : "",
        entry.definition ? call(entry.definition.class, entry.definition.args) : "",
        entry.definition?.memo ?? "",
      ]),
      'No cron entries: write "cron" into the configuration, or jobs cron add',
    );
  }
  return 0;
}

/** Prints the next times of an entry. */
export async function next(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("cron next", argv, { ...COMMON_FLAGS, number: { takes: "text", short: "n" } });
  const name = oneName("next", args);
  const count = countOf(flags.number, 5, 1_000);
  const { times, schedule } = await withCrontab(flags, async (crontab) => ({
    times: await crontab.next(name, count),
    schedule: (await crontab.get(name))!.definition!.schedule,
  }));
  if (flags.json) printJson(times.map((at) => ({ at: utc(at), local: inZone(at, schedule) })));
  else printTable(["next", "utc"], times.map((at) => [inZone(at, schedule), utc(at)]), "It does not occur any more");
  return 0;
}

/** Prints what became of an entry's occurrences. */
export async function history(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("cron history", argv, {
    ...COMMON_FLAGS,
    number: { takes: "text", short: "n" },
  });
  const name = oneName("history", args);
  const records = await withCrontab(flags, (crontab) => crontab.history(name, countOf(flags.number, 20, 100)));
  if (flags.json) printJson(records.map(recordJson));
  else {
    const rows = records.map((record) => [utc(record.scheduledAt), outcomeOf(record), late(record), record.jid ?? ""]);
    printTable(
      [{ heading: "scheduled", is: "whole" }, "outcome", "late", { heading: "job", is: "whole" }],
      rows,
      `Nothing became of "${name}" yet`,
    );
  }
  return 0;
}

function entryJson({ name, definition, state, next, live, isCarried, last }: CrontabEntry): Record<string, unknown> {
  return {
    name,
    ...definition,
    when: definition && describeSchedule(definition.schedule),
    next: next === undefined ? undefined : utc(next),
    local: next === undefined ? undefined : inZone(next, definition!.schedule),
    paused: state?.paused ?? false,
    waiting: state?.waiting === undefined ? undefined : utc(state.waiting),
    live,
    carried: isCarried,
    counts: state?.counts ?? {},
    last: last && recordJson(last),
  };
}

function recordJson({ scheduledAt, decidedAt, first, ...rest }: CronRecord): Record<string, unknown> {
  return {
    ...rest,
    scheduledAt: utc(scheduledAt),
    decidedAt: utc(decidedAt),
    first: first === undefined ? undefined : utc(first),
  };
}

function stateOf({ definition, state, isCarried }: CrontabEntry): string {
  if (definition === undefined) return "(not understood)";
  if (state?.paused) return "paused";
  return isCarried ? "never" : "(no process carries it)";
}

function outcomeOf({ outcome, count, first, reason }: CronRecord): string {
  if (outcome === "missed" && (count ?? 1) > 1) return `${count} missed since ${utc(first!)}`;
  return reason === undefined ? outcome : `${outcome}: ${reason}`;
}

function late({ outcome, scheduledAt, decidedAt }: CronRecord): string {
  return outcome === "enqueued" ? `${decidedAt - scheduledAt} ms` : "";
}

/** In the rule's zone; `every` has none. */
function inZone(at: number, schedule: ScheduleSpec): string {
  if (!("rule" in schedule)) return utc(at);
  const zoned = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(schedule.timezone);
  return zoned.toString({ smallestUnit: "second", timeZoneName: "never" });
}

function utc(at: number): string {
  return new Date(at).toISOString();
}

function call(name: string, args: readonly unknown[]): string {
  const text = args.map((arg) => JSON.stringify(arg, (_, inner) => typeof inner === "bigint" ? String(inner) : inner));
  return `${name}(${text.join(", ")})`;
}
