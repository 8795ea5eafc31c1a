/**
 * The store that a command works on: from the flags, the environment, the configuration file, or the embedded default.
 *
 * @module
 */
import { loadConfig, type LoadedConfig } from "../../config/load.ts";
import type { SettingName, Settings } from "../../config/settings.ts";
import { StoreError } from "../../store/port/errors.ts";
import { openStore, type StoreOptions } from "../../store/open.ts";
import { printError } from "../terminal/output.ts";
import type { Store } from "../../store/admin/store.ts";

/** Flags that say where settings come from. */
export interface ConfigFlags {
  readonly store: string | undefined;
  readonly config: string | undefined;
  readonly environment: string | undefined;
}

/**
 * The settings for a command.
 *
 * @param more settings given by this command's own flags
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

/** The address of the store: as set, or the embedded default. */
export function storeUrl(settings: Settings): string {
  if (settings.store !== undefined) return settings.store;
  const state = Deno.env.get("XDG_STATE_HOME") || `${Deno.env.get("HOME") || "."}/.local/state`;
  return `sqlite:${state}/jobs/jobs.db`;
}

/** How to open the store, by the settings. */
export function storeOptions(settings: Settings): StoreOptions {
  return {
    deadMaxJobs: settings.deadMaxJobs,
    deadMaxAgeMs: settings.deadMaxAgeMs,
    durability: settings.durability,
    sidekiqWire: settings.sidekiqWire,
  };
}

/** How a command meets a store that is not there. */
export interface MissingStore {
  /**
   * `always`: it is made. `unnamed`: only the embedded default, which nobody can have mistyped. `never`, the default: a
   * store that was named is an error, and the embedded default is empty.
   */
  readonly make?: "always" | "unnamed" | "never";
}

/**
 * Opens the command's store, uses it, and closes it.
 *
 * @throws {ConfigError}
 * @throws {StoreError}
 */
export async function withStore<Result>(
  flags: ConfigFlags,
  use: (store: Store, settings: Settings) => Promise<Result>,
  { make = "never" }: MissingStore = {},
): Promise<Result> {
  const { settings } = await loadSettings(flags);
  const named = settings.store !== undefined;
  const options: StoreOptions = {
    ...storeOptions(settings),
    create: make === "always" || make === "unnamed" && !named,
    log: (level, message) => level === "info" ? undefined : printError(`jobs: ${message}`),
  };
  await using store = await openStore(storeUrl(settings), options).catch((error) => {
    if (named || !(error instanceof StoreError) || error.code !== "missing") throw error;
    return openStore("sqlite::memory:", options);
  });
  return await use(store, settings);
}
