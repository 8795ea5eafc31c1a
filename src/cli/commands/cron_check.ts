/** `jobs cron check`. @module */
import type { LoadedConfig } from "../../config/load.ts";
import { type CheckedEntries, checkEntries } from "../../cron/entry_check.ts";
import { systemClock } from "../../clock.ts";
import type { CronEntry } from "../../cron/entry.ts";
import { describeSchedule, openSchedule } from "../../cron/schedule_spec.ts";
import { zoneOf } from "../../text/cron.ts";
import { Mask } from "../../text/mask.ts";
import { localMinute } from "../../text/times.ts";
import { loadHandlers } from "../../handlers/load.ts";
import { Registry } from "../../handlers/registry.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { handlerCheckOf, loadSettings } from "../shared/store.ts";
import { printTable } from "../terminal/table.ts";

/** Runs of each entry that are shown. */
const SHOWN_RUNS = 2;

/** Checks the cron entries of the configuration, against the handlers if there are any. Exit 1 if one is invalid. */
export async function check(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("cron check", argv, COMMON_FLAGS, "[HANDLERS …]");
  const config = await loadSettings(flags, { handlers: args.length > 0 ? args : undefined });
  const { active, inactive, problems } = await checkConfigured(config);
  if (flags.json) {
    const mask = new Mask(config.settings.webMask, true);
    printJson({
      active: active.map((entry) => mask.value(entry)),
      inactive: inactive.map(({ entry, by }) => ({ name: entry.name, by })),
      problems,
    });
    return problems.length > 0 ? 1 : 0;
  }
  for (const { message } of problems) printError(`jobs: ${message}`);
  if (problems.length > 0) return 1;
  printTable(
    ["name", "when", "next runs", "class", ""],
    [
      ...active.map((entry) => [entry.name, describeSchedule(entry.schedule), nextRuns(entry), entry.class, ""]),
      ...inactive.map(({ entry, by }) => [entry.name, describeSchedule(entry.schedule), "", entry.class, `off: ${by}`]),
    ],
    'No cron entries: the configuration has no "cron"',
  );
  const count = active.length + inactive.length;
  print(`Checked ${count} cron ${count === 1 ? "entry" : "entries"}: all valid`);
  return 0;
}

/** Returns the next two runs, in the zone of the entry. */
function nextRuns({ schedule: spec }: CronEntry): string {
  const schedule = openSchedule(spec);
  const zone = zoneOf(spec);
  const runs: string[] = [];
  let at: number | undefined = systemClock.now();
  while (runs.length < SHOWN_RUNS && (at = schedule.next(at)) !== undefined) runs.push(localMinute(at, zone));
  return [runs.join(", "), ...(zone === undefined || runs.length === 0 ? [] : [zone])].join(" ");
}

/**
 * Checks the cron entries of the settings, against the handlers if there are any.
 *
 * @throws {HandlerError} if the handlers can't be loaded
 */
export async function checkConfigured(config: LoadedConfig): Promise<CheckedEntries> {
  const { settings, environment } = config;
  const registry = new Registry();
  await loadHandlers(settings.handlers, registry, handlerCheckOf(config));
  const outside = [...settings.programs, ...settings.http].map((one) => one.class);
  const classes = new Set([...registry.classes(), ...outside]);
  const queues = settings.queues.length > 0
    ? settings.queues.map(({ name }) => name)
    : ["default", ...registry.queues()];
  return checkEntries(settings.cron, {
    environment,
    optionsOf: (className) => registry.get(className)?.options,
    ...(classes.size > 0 && { classes, queues: new Set(queues) }),
  });
}
