/**
 * The cron entries of a worker: those of its configuration and its program, checked against its handlers.
 *
 * @module
 */
import { checkCrontab } from "../../cron/crontab.ts";
import type { CronEntry, CronEntryInput } from "../../cron/entry.ts";
import type { Registry } from "../../handlers/registry.ts";
import { merge } from "../../job/payload.ts";

/** Where the entries come from. */
export interface CronSources {
  /** Entries of the configuration. */
  readonly configured: readonly unknown[];
  /** Entries of the program, by `defineCron`. */
  readonly defined: readonly CronEntryInput[];
  /** Selects the active entries. */
  readonly environment: string;
  readonly registry: Registry;
  /** The queues that this worker takes from: the handlers of other queues may be in other workers. */
  readonly queues: Iterable<string>;
}

/** The entries of a worker. */
export interface ProcessCrontab {
  /** Active entries, with the options of their classes: other workers that enqueue their jobs need not know these. */
  readonly entries: readonly CronEntry[];
  /** Names of entries that the configuration switches off. */
  readonly switchedOff: readonly string[];
}

/**
 * Checks the entries of a worker.
 *
 * @throws {CrontabError} if an entry is invalid
 */
export function readCrontab({ configured, defined, environment, registry, queues }: CronSources): ProcessCrontab {
  const { active, inactive } = checkCrontab([...configured, ...defined], {
    environment,
    classes: new Set(registry.classes()),
    optionsOf: (className) => registry.get(className)?.options,
    queues: new Set(queues),
  });
  return {
    entries: active.map((entry) => withClassOptions(entry, registry)),
    switchedOff: inactive.map(({ entry }) => entry.name),
  };
}

function withClassOptions(entry: CronEntry, registry: Registry): CronEntry {
  const options = registry.get(entry.class)?.options;
  return options === undefined ? entry : { ...entry, options: { ...merge(entry.options, options) } };
}
