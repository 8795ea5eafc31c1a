/** `jobs cron list|next|history`. @module */
import type { CrontabEntry } from "../../client/crontab_entry.ts";
import { systemClock } from "../../clock.ts";
import type { CronEntry } from "../../cron/entry.ts";
import { checkEntries } from "../../cron/entry_check.ts";
import { readLastSettings } from "../../operator/query/last_settings.ts";
import { withEnds } from "../../operator/query/cron_ends.ts";
import type { LastSet } from "../../store/admin/audit.ts";
import type { Store } from "../../store/admin/store.ts";
import { hidePassword } from "../../store/port/hide_password.ts";
import { StoreError } from "../../store/port/errors.ts";
import { pausedSince } from "../../text/queues.ts";
import { shellWord } from "../../text/shell.ts";
import { Mask } from "../../text/mask.ts";
import { relative } from "../../text/times.ts";
import {
  CRON_COLUMNS,
  cronEntryJson,
  cronRecordJson,
  type CronRow,
  ENDED_RUN_COLUMNS,
  inZone,
  NO_WORKER,
  noneSchedules,
  pauseJson,
  utc,
  zoneOf,
} from "../../text/cron.ts";
import { COMMON_FLAGS, parseCommand, parseLimit } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import { ListWriter } from "../shared/list_writer.ts";
import { type CronFilter, cronRequest, InvalidCronFilter } from "../../operator/query/cron.ts";
import { MAX_CRON_PAGE } from "../../store/port/cron.ts";
import { findEntry, parseCount, withCrontab } from "../shared/cron_store.ts";
import { loadSettings, storeUrl } from "../shared/store.ts";
import { printError, printJson } from "../terminal/output.ts";
import { printList, printTable } from "../terminal/table.ts";

const IDLE = `jobs: ${NO_WORKER}: no run takes place until one is; start one: jobs run`;

/** Entries that are listed unless asked for more. */
const DEFAULT_LIMIT = 100;

/** Lists entries: those of the store, and those of the configuration that no worker has loaded. */
export async function list(argv: readonly string[]): Promise<number> {
  const { flags } = parseCommand("cron list", argv, {
    ...COMMON_FLAGS,
    prefix: { takes: "text" },
    tag: { takes: "text" },
    sort: { takes: "text" },
    limit: { takes: "text", short: "n" },
    cursor: { takes: "text" },
  }, "");
  const { settings, environment, file } = await loadSettings(flags);
  const { active } = checkEntries(settings.cron, { environment });
  const request = requestOf(flags);
  const mask = new Mask(settings.webMask, true);
  let isStored = true;
  const writer = new ListWriter(flags.json, CRON_COLUMNS, cronEntryJson, "entries");
  let left = parseLimit(flags.limit ?? `${DEFAULT_LIMIT}`);
  let [isIdle, hasRuns] = [false, false];
  const { next, pending } = await withCrontab(flags, async ({ crontab }, store) => {
    let next = flags.cursor;
    isIdle = noneSchedules(await store.workers.list());
    do {
      const page = await crontab.page({ ...request, cursor: next, limit: Math.min(left, MAX_CRON_PAGE) });
      const pauses = (await readLastSettings(store, [], undefined, page.entries)).cronPauses;
      writer.write(page.entries.map((entry): CronRow => ({
        ...masked(entry, mask),
        isIdle,
        pause: pauses.get(entry.name),
      })));
      hasRuns ||= page.entries.some(({ next }) => next !== undefined);
      left -= page.entries.length;
      next = page.next;
    } while (left > 0 && next !== undefined);
    const { entries } = await store.cron.read(active.map(({ name }) => name));
    return { next, pending: new Set(entries.map(({ name }) => name)) };
  }).then(({ next, pending: known }) => ({ next, pending: active.filter(({ name }) => !known.has(name)) })).catch(
    (error) => {
      // The first worker makes the store.
      if (!(error instanceof StoreError) || error.code !== "missing" || active.length === 0) throw error;
      isStored = false;
      isIdle = true;
      return { next: undefined, pending: active };
    },
  );
  const isFirstPage = flags.cursor === undefined && Object.values(request).every((value) => value === undefined);
  const shown = isFirstPage && next === undefined ? pending : [];
  writer.write(shown.map((entry) => masked(pendingEntry(entry), mask)));
  writer.end(
    next,
    isFirstPage
      ? 'No cron entries; add some under "cron" in the configuration, or with jobs cron add'
      : "No such cron entries",
    { idle: isIdle },
  );
  if (shown.length > 0 && !flags.json) {
    const count = shown.length === 1 ? "1 entry isn't" : `${shown.length} entries aren't`;
    const reason = isStored ? "no worker" : `there is no store at ${hidePassword(storeUrl(settings))}, and no worker`;
    printError(`jobs: ${count} active yet: ${reason} has loaded ${file ?? "the configuration"}; start one: jobs run`);
  } else if (isIdle && hasRuns && !flags.json) printError(IDLE);
  return 0;
}

function requestOf(filter: CronFilter): ReturnType<typeof cronRequest> {
  try {
    return cronRequest(filter);
  } catch (error) {
    throw error instanceof InvalidCronFilter ? new UsageError(error.message) : error;
  }
}

/** Returns an entry without the secrets of its arguments. */
function masked(entry: CrontabEntry, mask: Mask): CrontabEntry {
  const { definition } = entry;
  return { ...entry, definition: definition && mask.value(definition) as typeof definition };
}

/** An entry that no worker has loaded. */
function pendingEntry(entry: CronEntry): CrontabEntry {
  const unknown = { state: undefined, next: undefined, live: undefined, last: undefined };
  return { name: entry.name, definition: { ...entry, source: "config" }, isLoaded: false, ...unknown };
}

/** Prints the next runs of an entry. */
export async function next(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("cron next", argv, {
    ...COMMON_FLAGS,
    limit: { takes: "text", short: "n" },
  }, "NAME");
  const count = parseCount(flags.limit, 5, 1_000);
  const { times, schedule, isIdle, pause } = await withCrontab(flags, async ({ crontab }, store) => {
    const entry = await findEntry(crontab, args[0]!);
    return {
      pause: await pauseOf(store, entry),
      isIdle: noneSchedules(await store.workers.list()),
      times: await crontab.next(args[0]!, count),
      schedule: (await crontab.get(args[0]!))!.definition!.schedule,
    };
  });
  if (flags.json) {
    printJson({
      runs: times.map((at) => ({ at: utc(at), local: inZone(at, schedule) })),
      idle: isIdle,
      pause: pause && pauseJson(pause.set),
    });
  } else {
    const now = systemClock.now();
    const zone = zoneOf(schedule) ?? "UTC";
    const columns = ["next run", zone, ...(zone === "UTC" ? [] : ["UTC"])];
    const second = (at: number) => utc(at).slice(0, 19).replace("T", " ");
    const local = (at: number) => inZone(at, schedule).slice(0, 19).replace("T", " ");
    const row = (at: number) => [relative(at, now), local(at), ...(zone === "UTC" ? [] : [second(at)])];
    printTable(columns, times.map(row), "No more runs");
    if (pause !== undefined) printError(`jobs: ${pauseText(args[0]!, pause)}`);
    else if (isIdle && times.length > 0) printError(IDLE);
  }
  return 0;
}

/** The pause of an entry. */
interface Pause {
  /** Its event; absent if the audit log doesn't go back to it. */
  readonly set: LastSet | undefined;
}

/** Returns the pause of an entry; undefined if it isn't paused. */
async function pauseOf(store: Store, entry: CrontabEntry): Promise<Pause | undefined> {
  if (!entry.state?.paused) return undefined;
  const { cronPauses } = await readLastSettings(store, [], undefined, [entry]);
  return { set: cronPauses.get(entry.name) };
}

/** Returns since when a paused entry doesn't run, by whom, and the command that resumes it. */
function pauseText(name: string, { set }: Pause): string {
  const since = pausedSince(set, systemClock.now());
  return `Cron entry "${name}" is paused${since}: no run takes place until it is resumed: jobs cron resume ${
    shellWord(name)
  }`;
}

/** Prints the past runs of an entry. */
export async function history(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("cron history", argv, {
    ...COMMON_FLAGS,
    limit: { takes: "text", short: "n" },
  }, "NAME");
  const count = parseCount(flags.limit, 20, 100);
  const { records, pause } = await withCrontab(flags, async ({ crontab, mask }, store) => {
    const found = await crontab.history(args[0]!, count);
    // The history of a removed entry stays.
    if (found.length === 0) await findEntry(crontab, args[0]!);
    const entry = await crontab.get(args[0]!);
    return {
      records: await withEnds(store, found, entry, mask),
      pause: entry && await pauseOf(store, entry),
    };
  });
  if (flags.json) printJson({ history: records.map(cronRecordJson), pause: pause && pauseJson(pause.set) });
  else {
    printList(ENDED_RUN_COLUMNS, records, `Cron entry "${args[0]}" has no runs yet`);
    if (pause !== undefined) printError(`jobs: ${pauseText(args[0]!, pause)}`);
  }
  return 0;
}
