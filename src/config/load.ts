/**
 * Loads settings from their sources, each overriding the one before: defaults, file, the file's section for the environment,
 * environment variables, flags. Records the origin of each value for `jobs doctor`.
 *
 * Unknown keys and invalid values are errors, so that a typo shows up at start and not at night.
 *
 * @module
 */
import { defaultSettings, type Setting, type SettingName, SETTINGS, type Settings } from "./settings.ts";
import { stringifyLossless } from "../job/json.ts";
import { decodeText } from "../job/utf8.ts";
import { parseDocument } from "./document.ts";
import { InvalidValue } from "./kinds.ts";
import { TRUSTED_FOLDER, whyUntrusted } from "./ownership.ts";
import { closestWord } from "../job/suggest.ts";

/**
 * The configuration is invalid. The message is one line for users.
 *
 * @example
 * ```ts
 * import { ConfigError, startServer } from "@jobs/jobs";
 *
 * try {
 *   await using server = await startServer({ store: "sqlite::memory:", settings: { concurrency: 0 }, log: false });
 * } catch (error) {
 *   if (!(error instanceof ConfigError)) throw error;
 *   console.error(error.message); // settings: invalid "concurrency" 0: expected a whole number from 1 to 1000
 * }
 * ```
 */
export class ConfigError extends Error {
  /** The same in every copy of the library, where `instanceof` is not. */
  override readonly name = "ConfigError";
}

export interface ConfigSources {
  /** The file named with `-C`; default: the first of {@linkcode configFiles} that exists. */
  readonly file?: string | undefined;
  /** The folder of the machine's configuration; default `/etc/jobs`. */
  readonly systemFolder?: string;
  /** Names the file's section under `environments`. Default: `JOBS_ENV`, else `development`. */
  readonly environment?: string | undefined;
  readonly env: (name: string) => string | undefined;
  /** The names of all environment variables, to find misspelled ones; default none. */
  readonly envNames?: readonly string[];
  /** Values of flags, as texts or lists of texts. */
  readonly flags?: Partial<Record<SettingName, unknown>>;
}

export interface LoadedConfig {
  readonly settings: Settings;
  /** Setting → origin of its value: `default`, `jobs.json`, `JOBS_STORE`, `flag`. */
  readonly origins: Readonly<Record<SettingName, string>>;
  readonly environment: string;
  /** The file that was read, if any. */
  readonly file: string | undefined;
  /** Whether the file was found in the working directory, and not named. */
  readonly isFound: boolean;
  /** Probable mistakes that are not errors, one line each. */
  readonly warnings: readonly string[];
}

const FILE_NAMES = ["jobs.json", "jobs.jsonc", "jobs.yml", "jobs.yaml"];
export const SYSTEM_FOLDER = "/etc/jobs";

/** Returns the paths searched for a configuration file, in order: the working directory, then the machine's folder. */
export function configFiles(systemFolder: string = SYSTEM_FOLDER): string[] {
  return [...FILE_NAMES, ...FILE_NAMES.map((name) => `${systemFolder}/${name}`)];
}

/**
 * Loads the settings.
 *
 * @throws {ConfigError} if the file can't be read, a key is unknown or a value invalid
 */
export async function loadConfig(sources: ConfigSources): Promise<LoadedConfig> {
  const settings = { ...defaultSettings() } as Record<SettingName, unknown>;
  const origins = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, "default"])) as Record<
    SettingName,
    string
  >;
  const set = (name: SettingName, value: unknown, fromText: boolean, origin: string) => {
    settings[name] = parseSetting(name, value, fromText, origin);
    origins[name] = origin;
  };

  const env = (name: string) => readEnv(sources.env, name);
  const environment = sources.environment || env("JOBS_ENV") || "development";
  const file = sources.file ?? findFile(sources);
  const isMachines = sources.file === undefined && file?.startsWith("/") === true;
  const document = file === undefined ? undefined : await readDocument(file, isMachines, namesStore(sources));
  if (file !== undefined && document !== undefined) {
    const { environments, ...common } = document;
    applyDocument(common, file, set);
    const section = sectionOf(environments ?? {}, environment, file, sources.environment !== undefined);
    if (section !== undefined) applyDocument(section, `${file} (${environment})`, set);
  } else if (sources.environment !== undefined) {
    throw new ConfigError(
      `Unknown environment "${environment}": no configuration file found (looked for ${
        FILE_NAMES.join(", ")
      } here and in ${sources.systemFolder ?? SYSTEM_FOLDER})`,
    );
  }
  if (env("REDIS_URL")) set("store", env("REDIS_URL"), true, "REDIS_URL");
  for (const [name, row] of Object.entries(SETTINGS)) {
    const value = env(row.env);
    if (value !== undefined && value !== "") set(name as SettingName, value, true, row.env);
  }
  for (const [name, value] of Object.entries(sources.flags ?? {})) {
    if (value !== undefined) set(name as SettingName, value, !Array.isArray(value), "flag");
  }
  const loaded = settings as unknown as Settings;
  checkTogether(loaded);
  const read = document === undefined ? undefined : file;
  return {
    settings: loaded,
    origins,
    environment,
    file: read,
    isFound: sources.file === undefined && read !== undefined && !isMachines,
    warnings: unknownVariables(sources.envNames ?? []),
  };
}

/**
 * Checks that a configuration that is read again comes from a file, as before: if that is missing for a moment, or the working
 * directory was deleted by a deployment, the defaults would end queues and remove cron entries.
 *
 * @throws {ConfigError} if it doesn't
 */
export function checkReloaded(before: LoadedConfig, after: LoadedConfig): void {
  if (before.file === undefined || (before.isFound ? after.isFound : after.file !== undefined)) return;
  throw new ConfigError(
    `Configuration file "${before.file}" not found, which was read at the start; put it back, or restart without it`,
  );
}

/**
 * Returns the value of an environment variable.
 *
 * @throws {ConfigError} if it isn't UTF-8 text
 */
export function readEnv(env: ConfigSources["env"], name: string): string | undefined {
  try {
    return env(name);
  } catch (error) {
    if (!(error instanceof Deno.errors.InvalidData)) throw error;
    throw new ConfigError(`Invalid ${name}: it isn't UTF-8 text`);
  }
}

/**
 * Checks settings that depend on each other.
 *
 * @throws {ConfigError} if they contradict each other
 */
export function checkTogether({ heartbeatTimeoutMs, heartbeatMs }: Settings): void {
  if (heartbeatTimeoutMs >= 3 * heartbeatMs) return;
  throw new ConfigError(
    `Invalid "heartbeatTimeout" ${heartbeatTimeoutMs / 1000}s: expected at least 3 times "heartbeat" (${
      heartbeatMs / 1000
    }s); otherwise running workers would count as offline`,
  );
}

/** Variables that jobs sets for its child processes, the token of clients, and those of a Kubernetes service named `jobs`. */
const OTHERS_VARIABLES = /^JOBS_(ENV|MEMBER|HORSE|JID|CLASS|QUEUE|ATTEMPT|SOCKET|TOKEN|(SERVICE|PORT)(_.*)?)$/;

/** Returns warnings about variables that look like settings but aren't. Doesn't read their values. */
function unknownVariables(names: readonly string[]): string[] {
  const known: string[] = [...Object.values(SETTINGS).map(({ env }) => env), "JOBS_ENV", TRUSTED_FOLDER];
  const unknown = names.filter((name) => /^JOBS_[A-Z]/.test(name) && !known.includes(name));
  // Kubernetes sets these for each service, also for one named jobs-web.
  const services = names.flatMap((name) => /^(JOBS_\w+)_SERVICE_HOST$/.exec(name)?.[1] ?? []);
  const isOthers = (name: string) =>
    OTHERS_VARIABLES.test(name) ||
    services.some((service) => name.startsWith(`${service}_SERVICE_`) || name.startsWith(`${service}_PORT`));
  return unknown.filter((name) => !isOthers(name)).map((name) => {
    const meant = closestWord(name, known);
    return `Unknown environment variable ${name}${meant === undefined ? "" : `; did you mean ${meant}?`}`;
  });
}

/**
 * Returns the section for the environment; undefined if the file has none.
 *
 * @param named whether `-e` names it. `JOBS_ENV` may be set for other programs, so its section may be absent.
 */
function sectionOf(environments: unknown, environment: string, file: string, named: boolean): unknown {
  if (!isObject(environments)) {
    throw new ConfigError(
      `${file}: invalid "environments": expected an object of settings by name, found ${kindOf(environments)}`,
    );
  }
  if (Object.hasOwn(environments, environment)) return environments[environment] ?? {};
  const known = Object.keys(environments);
  if (named) {
    const list = known.length > 0 ? `known: ${known.join(", ")}` : 'the file has no "environments"';
    throw new ConfigError(`${file}: unknown environment "${environment}"; ${list}`);
  }
  return undefined;
}

/**
 * Returns the value of a setting.
 *
 * @param fromText whether it is text from a flag or an environment variable
 * @throws {ConfigError} if it is invalid
 */
export function parseSetting(name: SettingName, value: unknown, fromText: boolean, origin: string): unknown {
  const row: Setting<unknown> = SETTINGS[name];
  const what = origin === row.env || origin === "REDIS_URL"
    ? `Invalid ${origin}`
    : origin === "flag"
    ? `Invalid ${row.flag ?? row.key}`
    : `${origin}: invalid "${row.key}"`;
  try {
    const parsed = row.kind.parse(value, fromText);
    if (parsed !== undefined) return parsed;
  } catch (error) {
    throw error instanceof InvalidValue ? new ConfigError(`${what}: ${error.message}`) : error;
  }
  throw new ConfigError(`${what} ${row.secret ? "***" : show(value)}: expected ${row.kind.expected}`);
}

type SetValue = (name: SettingName, value: unknown, fromText: boolean, origin: string) => void;

/**
 * Sets the settings of a document, whose nested objects are dotted keys.
 *
 * @throws {ConfigError} if a key is unknown
 */
export function applyDocument(document: unknown, origin: string, set: SetValue): void {
  if (!isObject(document)) {
    throw new ConfigError(`${origin}: expected an object of settings, found ${kindOf(document)}`);
  }
  const byKey = new Map(Object.entries(SETTINGS).map(([name, row]) => [row.key, name as SettingName]));
  const groups = new Set([...byKey.keys()].filter((key) => key.includes(".")).map((key) => key.split(".")[0]!));
  const visit = (value: Record<string, unknown>, prefix: string) => {
    for (const [part, inner] of Object.entries(value)) {
      const key = prefix + part;
      const name = byKey.get(key);
      const group = inner ?? {}; // null in YAML if all lines of the group are comments
      if (name !== undefined) set(name, inner, false, origin);
      else if (!groups.has(key)) {
        throw new ConfigError(`${origin}: unknown key "${key}"; ${didYouMean(key, [...byKey.keys(), ...groups])}`);
      } else if (isObject(group)) visit(group, `${key}.`);
      else throw new ConfigError(`${origin}: invalid "${key}": expected an object, found ${kindOf(inner)}`);
    }
  };
  visit(document, "");
}

/** Synchronous: asynchronous calls, each in a thread, would delay the start of every command. */
function findFile({ systemFolder, env }: ConfigSources): string | undefined {
  for (const name of configFiles(systemFolder)) {
    try {
      if (!Deno.statSync(name).isFile) continue;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) continue;
      // The user can't enter the working directory: `sudo -u jobs jobs stats` in root's home.
      if (error instanceof Deno.errors.PermissionDenied && !name.startsWith("/")) continue;
      throw new ConfigError(`Can't read configuration file "${name}": ${whyUnreadable(error)}`);
    }
    // The machine's folder is root's.
    const why = name.startsWith("/") ? undefined : whyUntrusted(name, env);
    if (why === undefined) return name;
    throw new ConfigError(
      `Configuration file "${name}" in the working directory isn't trusted: ${why}; expected a file and a folder that only ` +
        `you and root can change. To use it, name it: --config ${name}`,
    );
  }
  return undefined;
}

/**
 * Returns a check of the handlers that a configuration file names; undefined unless the file was found. A module that others can
 * change is their code, however well the file itself is guarded.
 */
export function handlerCheck(
  { isFound, file, origins }: LoadedConfig,
  env: ConfigSources["env"],
): ((path: string) => void) | undefined {
  if (!isFound || !origins.handlers.startsWith(file!)) return undefined;
  return (path) => {
    const why = whyUntrusted(path, env);
    if (why === undefined) return;
    throw new ConfigError(
      `Handlers "${path}" of ${file}, which was found in the working directory, aren't trusted: ${why}; expected files and ` +
        `folders that only you and root can change. To use them, name the file: --config ${file}`,
    );
  };
}

/** Whether a flag or a variable names the store. */
function namesStore({ env, flags }: ConfigSources): boolean {
  return Boolean(flags?.store ?? (env(SETTINGS.store.env) || env("REDIS_URL")));
}

/**
 * Returns the content of a file. Undefined if it is the machine's, readable for the service's user only, and the user names
 * another store. Without one the file is required: this user's own store would be another than the service's.
 */
async function readDocument(
  file: string,
  isMachines: boolean,
  hasStore: boolean,
): Promise<Record<string, unknown> | undefined> {
  let content: Uint8Array;
  try {
    content = await Deno.readFile(file);
  } catch (error) {
    const isDenied = isMachines && error instanceof Deno.errors.PermissionDenied;
    if (isDenied && hasStore) return undefined;
    const cure = isDenied
      ? "; run the command as its user (sudo -u jobs jobs …), name a store (--store), or work in a folder with a jobs.json"
      : "";
    throw new ConfigError(`Can't read configuration file "${file}": ${whyUnreadable(error)}${cure}`);
  }
  let document: unknown;
  try {
    document = await parseDocument(file, decodeText(content));
  } catch (error) {
    const why = (error as Error).message.replace(/\s+/g, " ");
    throw new ConfigError(`Can't read configuration file "${file}": ${why}`);
  }
  if (!isObject(document)) {
    throw new ConfigError(
      `Can't read configuration file "${file}": expected an object of settings, found ${kindOf(document)}`,
    );
  }
  return document;
}

function whyUnreadable(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "no such file";
  if (error instanceof Deno.errors.PermissionDenied) return "permission denied";
  return (error as Error).message;
}

/** Returns a suggestion for a misspelled key, or all known keys. */
function didYouMean(key: string, known: readonly string[]): string {
  const meant = closestWord(key, known);
  return meant === undefined ? `known: ${known.join(", ")}` : `did you mean "${meant}"?`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns what a value is, for a message without the value, which may have a secret. */
function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : typeof value === "string" ? "a text" : `a ${typeof value}`;
}

/** Formats a value for a message, cut to 100 characters. */
export function show(value: unknown): string {
  const text = stringifyLossless(value) ?? String(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
