/**
 * The crontab that a process carries: what its configuration and its program say, checked against its handlers.
 *
 * @module
 */
import { checkCrontab } from "../../cron/crontab.ts";
import type { CronEntry, CronEntryInput } from "../../cron/entry.ts";
import type { Registry } from "../../handlers/registry.ts";
import { merge } from "../../job/payload.ts";

/** What a crontab is read from. */
export interface CronSources {
  /** From the configuration. */
  readonly configured: readonly unknown[];
  /** From the program, by `defineCron`. */
  readonly defined: readonly CronEntryInput[];
  /** Its name decides which entries are active. */
  readonly environment: string;
  readonly registry: Registry;
  /** The queues that this process takes: what runs in others may have its handler elsewhere. */
  readonly queues: Iterable<string>;
}

/** A crontab, ready to be carried. */
export interface ProcessCrontab {
  /** Each with what its class says about its jobs: whoever enqueues them need not know the class. */
  readonly entries: readonly CronEntry[];
  /** Names of entries that are switched off. */
  readonly switchedOff: readonly string[];
}

/**
 * Reads the crontab.
 *
 * @throws {CrontabError} when anything is wrong with it
 */
export function readCrontab({ configured, defined, environment, registry, queues }: CronSources): ProcessCrontab {
  const { active, inactive } = checkCrontab([...configured, ...defined], {
    environment,
    classes: new Set(registry.classes()),
    queues: new Set(queues),
  });
  return {
    entries: active.map((entry) => withClassOptions(entry, registry)),
    switchedOff: inactive.map(({ entry }) => entry.name),
  };
}

function withClassOptions(entry: CronEntry, registry: Registry): CronEntry {
  const said = registry.get(entry.class)?.options;
  return said === undefined ? entry : { ...entry, options: { ...merge(entry.options, said) } };
}
