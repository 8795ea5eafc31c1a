/**
 * The store of a command: from its options, the environment, the configuration file, or the default file.
 *
 * @module
 */
import type { Store } from "../../store/admin/store.ts";
import { handlerCheck, loadConfig, type LoadedConfig, readEnv, SYSTEM_FOLDER } from "../../config/load.ts";
import type { SettingName, Settings } from "../../config/settings.ts";
import { StoreError } from "../../store/port/errors.ts";
import { sqliteUrl } from "../../store/open_file.ts";
import { hidePassword } from "../../store/port/hide_password.ts";
import { openStore, type StoreOptions } from "../../store/open.ts";
import { attempt } from "./report.ts";
import { UsageError } from "../terminal/errors.ts";
import { printError } from "../terminal/output.ts";

/** Options that choose the sources of settings. */
export interface ConfigFlags {
  readonly store: string | undefined;
  readonly config: string | undefined;
  readonly environment: string | undefined;
}

/**
 * Loads the settings of a command.
 *
 * @param more settings given by options of the command
 * @throws {ConfigError}
 */
export function loadSettings(
  flags: ConfigFlags,
  more: Partial<Record<SettingName, unknown>> = {},
): Promise<LoadedConfig> {
  return loadConfig({
    file: flags.config,
    environment: flags.environment,
    env: (name) => Deno.env.get(name),
    envNames: Object.keys(Deno.env.toObject()),
    flags: { ...more, store: flags.store },
  });
}

/** Returns the check of handlers to load them with; undefined if they were named. */
export function handlerCheckOf(config: LoadedConfig): ReturnType<typeof handlerCheck> {
  return handlerCheck(config, (name) => Deno.env.get(name));
}

/**
 * Returns the address of the store: as set, or the default file.
 *
 * @throws {UsageError} if no store is set, and the user has no home folder for the default
 */
export function storeUrl(settings: Settings): string {
  if (settings.store !== undefined) return settings.store;
  const [state, home] = [folderIn("XDG_STATE_HOME"), folderIn("HOME")];
  if (state !== undefined) return sqliteUrl(`${state}/jobs/jobs.db`);
  if (home !== undefined) return sqliteUrl(`${home}/.local/state/jobs/jobs.db`);
  const given = readEnv((name) => Deno.env.get(name), "HOME");
  throw new UsageError(
    `No store is set, and HOME is ${
      given ? `"${given}"` : "not set"
    }: expected an absolute path; name the store with --store or JOBS_STORE: sqlite:/PATH, redis://HOST or postgres://HOST/DATABASE`,
  );
}

/** Returns the folder that a variable names; undefined if it isn't an absolute path, as the XDG specification says. */
function folderIn(name: string): string | undefined {
  const folder = readEnv((name) => Deno.env.get(name), name);
  return folder?.startsWith("/") ? folder.replace(/\/+$/, "") : undefined;
}

/**
 * Checks the scheme of an address.
 *
 * @throws {UsageError}
 */
export function checkAddress(url: string): void {
  if (/^(sqlite|rediss?|redis\+(unix|sentinel)|postgres(ql)?):/.test(url)) return;
  throw new UsageError(
    `Invalid store "${
      hidePassword(url)
    }": expected sqlite:PATH, redis://HOST, rediss://HOST, redis+unix:PATH, redis+sentinel://HOST/NAME or postgres://HOST/DATABASE`,
  );
}

/** Returns the options to open the store with. */
export function storeOptions(settings: Settings): StoreOptions {
  return {
    deadMaxJobs: settings.deadMaxJobs,
    deadMaxAgeMs: settings.deadMaxAgeMs,
    durability: settings.durability,
    sidekiqWire: settings.sidekiqWire,
  };
}

/** How a command treats a store that doesn't exist. */
export interface MissingStore {
  /**
   * `always`: creates it. `unnamed`: creates only the default, which can't be a typo. `never` (the default): a named store
   * that doesn't exist is an error, and the default counts as empty.
   */
  readonly make?: "always" | "unnamed" | "never";
}

/**
 * Opens the store of a command, uses it, and closes it.
 *
 * @throws {ConfigError}
 * @throws {UsageError} if the address has an unknown scheme
 * @throws {StoreError}
 */
export async function withStore<Result>(
  flags: ConfigFlags,
  use: (store: Store, settings: Settings) => Promise<Result>,
  { make = "never" }: MissingStore = {},
): Promise<Result> {
  const { settings, origins } = await loadSettings(flags);
  // A user in any other folder may expect another store than the service's. Scripts and cron expect silence.
  const isService = flags.config === undefined && origins.store.startsWith(`${SYSTEM_FOLDER}/`);
  if (make !== "never" && isService && Deno.stderr.isTerminal()) {
    printError(`jobs: the store is ${hidePassword(storeUrl(settings))}, from ${origins.store}`);
  }
  const named = settings.store !== undefined;
  checkAddress(storeUrl(settings));
  const options: StoreOptions = {
    ...storeOptions(settings),
    create: make === "always" || make === "unnamed" && !named,
    log: (level, message) => level === "info" ? undefined : printError(`jobs: ${message}`),
  };
  const store = await openStore(storeUrl(settings), options).catch((error) => {
    if (named || !(error instanceof StoreError) || error.code !== "missing") throw error;
    return openStore("sqlite::memory:", options);
  });
  try {
    return await use(store, settings);
  } finally {
    // The command has done its work by then.
    await attempt(() => store[Symbol.asyncDispose](), "can't close the store");
  }
}
