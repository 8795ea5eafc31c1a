/** `jobs cron list|next|history`. @module */
import type { CrontabEntry } from "../../client/crontab.ts";
import { systemClock } from "../../clock.ts";
import type { CronRecord } from "../../cron/occurrence.ts";
import { describeSchedule } from "../../cron/schedule_spec.ts";
import { relative } from "../../text/times.ts";
import { cronEntryJson, cronRecordJson, inZone, outcomeOf, utc } from "../../text/cron.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import { argsText } from "../shared/job_rows.ts";
import { countOf, oneName, withCrontab } from "../shared/cron_store.ts";
import { printJson } from "../terminal/output.ts";
import { type Column, printTable } from "../terminal/table.ts";

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
  if (flags.json) printJson(entries.map(cronEntryJson));
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
        entry.definition ? `${entry.definition.class}(${argsText(entry.definition.args)})` : "",
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
  if (flags.json) printJson(records.map(cronRecordJson));
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

function stateOf({ definition, state, isCarried }: CrontabEntry): string {
  if (definition === undefined) return "(not understood)";
  if (state?.paused) return "paused";
  return isCarried ? "never" : "(no process carries it)";
}

function late({ outcome, scheduledAt, decidedAt }: CronRecord): string {
  return outcome === "enqueued" ? `${decidedAt - scheduledAt} ms` : "";
}
