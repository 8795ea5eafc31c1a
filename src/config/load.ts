/**
 * Settings from their sources, each overriding the one before: defaults ← file ← the file's section for the
 * environment ← environment variables ← flags. It remembers where each value came from, for `jobs doctor`.
 *
 * A key nobody knows and a value of the wrong kind are errors that name the key, the value and what is wanted: a typo
 * must not be found out at night.
 *
 * @module
 */
import { defaultSettings, type Setting, type SettingName, SETTINGS, type Settings } from "./settings.ts";
import { closestWord } from "../text/suggest.ts";

/** The configuration is not usable. The message is one line for people. */
export class ConfigError extends Error {
  /** Told apart by name. */
  override readonly name = "ConfigError";
}

/** Where the settings are read from. */
export interface ConfigSources {
  /** The file named with `-C`; default: `jobs.json`, `.jsonc`, `.yml` or `.yaml` in the working directory, if any. */
  readonly file?: string | undefined;
  /** The environment's name: chooses the file's section under `environments`. Default: `JOBS_ENV`, else `development`. */
  readonly environment?: string | undefined;
  readonly env: (name: string) => string | undefined;
  /** The names of all environment variables, to find the misspelt among them; default none. */
  readonly envNames?: readonly string[];
  /** Values given as flags, as text or as lists of text. */
  readonly flags?: Partial<Record<SettingName, unknown>>;
}

/** What was loaded. */
export interface LoadedConfig {
  readonly settings: Settings;
  /** Setting → where its value came from: `default`, `jobs.json`, `JOBS_STORE`, `flag`. */
  readonly origins: Readonly<Record<SettingName, string>>;
  readonly environment: string;
  /** The file that was read, if any. */
  readonly file: string | undefined;
  /** What may be a mistake, and is no error: one line each. */
  readonly warnings: readonly string[];
}

const FILE_NAMES = ["jobs.json", "jobs.jsonc", "jobs.yml", "jobs.yaml"];

/**
 * Loads the settings.
 *
 * @throws {ConfigError} when a file cannot be read, or a key or value is not what it should be
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

  const environment = sources.environment || sources.env("JOBS_ENV") || "development";
  const file = sources.file ?? findFile();
  if (file !== undefined) {
    const { environments, ...common } = await readDocument(file);
    applyDocument(common, file, set);
    const section = sectionOf(environments ?? {}, environment, file, sources.environment !== undefined);
    if (section !== undefined) applyDocument(section, `${file} (${environment})`, set);
  }
  if (sources.env("REDIS_URL")) set("store", sources.env("REDIS_URL"), true, "REDIS_URL");
  for (const [name, row] of Object.entries(SETTINGS)) {
    const value = sources.env(row.env);
    if (value !== undefined && value !== "") set(name as SettingName, value, true, row.env);
  }
  for (const [name, value] of Object.entries(sources.flags ?? {})) {
    if (value !== undefined) set(name as SettingName, value, !Array.isArray(value), "flag");
  }
  const loaded = settings as unknown as Settings;
  checkTogether(loaded);
  return { settings: loaded, origins, environment, file, warnings: unknownVariables(sources.envNames ?? []) };
}

/**
 * Settings that depend on one another.
 *
 * @throws {ConfigError} when they do not fit
 */
export function checkTogether({ deadAfterMs, heartbeatMs }: Settings): void {
  if (deadAfterMs >= 3 * heartbeatMs) return;
  throw new ConfigError(
    `"deadAfter" is ${deadAfterMs / 1000}s and "heartbeat" ${
      heartbeatMs / 1000
    }s; wanted: deadAfter at least 3 heartbeats, or a live process is taken for dead`,
  );
}

/** What a server tells its members, its horses, and the programs that it starts; and what Kubernetes says of a service `jobs`. */
const OTHERS_VARIABLES = /^JOBS_(ENV|MEMBER|HORSE|JID|CLASS|QUEUE|ATTEMPT|(SERVICE|PORT)(_.*)?)$/;

/** Environment variables that look like settings, and are none. Their values are not looked at. */
function unknownVariables(names: readonly string[]): string[] {
  const known: string[] = [...Object.values(SETTINGS).map(({ env }) => env), "JOBS_ENV"];
  const unknown = names.filter((name) => /^JOBS_[A-Z]/.test(name) && !known.includes(name));
  return unknown.filter((name) => !OTHERS_VARIABLES.test(name)).map((name) => {
    const meant = closestWord(name, known);
    return `Environment variable ${name} sets nothing${meant === undefined ? "" : `; did you mean ${meant}?`}`;
  });
}

/**
 * The section for the environment, or undefined when there is none.
 *
 * @param named whether it was asked for by its name, so that there must be one
 */
function sectionOf(environments: unknown, environment: string, file: string, named: boolean): unknown {
  if (!isObject(environments)) {
    throw new ConfigError(`${file}: "environments" is ${show(environments)}; wanted: an object of settings by name`);
  }
  if (Object.hasOwn(environments, environment)) return environments[environment] ?? {};
  const known = Object.keys(environments);
  if (named && known.length > 0) {
    throw new ConfigError(`${file}: there is no environment "${environment}"; known: ${known.join(", ")}`);
  }
  return undefined;
}

function parseSetting(name: SettingName, value: unknown, fromText: boolean, origin: string): unknown {
  const row: Setting<unknown> = SETTINGS[name];
  const parsed = row.kind.parse(value, fromText);
  if (parsed === undefined) {
    const what = origin === row.env || origin === "REDIS_URL"
      ? origin
      : origin === "flag" && row.flag !== undefined
      ? `Option ${row.flag}`
      : `${origin}: "${row.key}"`;
    throw new ConfigError(`${what} is ${row.secret ? "***" : show(value)}; wanted: ${row.kind.wanted}`);
  }
  return parsed;
}

type SetValue = (name: SettingName, value: unknown, fromText: boolean, origin: string) => void;

/** Walks a document's keys, dotted for nested objects, and sets what it finds. */
function applyDocument(document: unknown, origin: string, set: SetValue): void {
  if (!isObject(document)) throw new ConfigError(`${origin}: ${show(document)} found; wanted: an object of settings`);
  const byKey = new Map(Object.entries(SETTINGS).map(([name, row]) => [row.key, name as SettingName]));
  const groups = new Set([...byKey.keys()].filter((key) => key.includes(".")).map((key) => key.split(".")[0]!));
  const visit = (value: Record<string, unknown>, prefix: string) => {
    for (const [part, inner] of Object.entries(value)) {
      const key = prefix + part;
      const name = byKey.get(key);
      const group = inner ?? {}; // in YAML, a group whose lines are all comments
      if (name !== undefined) set(name, inner, false, origin);
      else if (!groups.has(key)) {
        throw new ConfigError(`${origin}: unknown key "${key}"; ${didYouMean(key, [...byKey.keys(), ...groups])}`);
      } else if (isObject(group)) visit(group, `${key}.`);
      else throw new ConfigError(`${origin}: "${key}" is ${show(inner)}; wanted: an object`);
    }
  };
  visit(document, "");
}

/** Without waiting: for four looks at a folder, each in a thread of its own, every command would start later. */
function findFile(): string | undefined {
  for (const name of FILE_NAMES) {
    try {
      if (Deno.statSync(name).isFile) return name;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw new ConfigError(`${name}: ${(error as Error).message}`);
    }
  }
  return undefined;
}

async function readDocument(file: string): Promise<Record<string, unknown>> {
  let content: string;
  try {
    content = await Deno.readTextFile(file);
  } catch (error) {
    const why = error instanceof Deno.errors.NotFound ? "there is no such file" : (error as Error).message;
    throw new ConfigError(`Configuration file "${file}" cannot be read: ${why}`);
  }
  let document: unknown;
  try {
    document = await parseDocument(file, content.replace(/^\ufeff/, ""));
  } catch (error) {
    const why = (error as Error).message.replace(/\s+/g, " ");
    throw new ConfigError(`Configuration file "${file}" cannot be read: ${why}`);
  }
  if (!isObject(document)) {
    throw new ConfigError(`Configuration file "${file}" holds ${show(document)}; wanted: an object of settings`);
  }
  return document;
}

async function parseDocument(file: string, content: string): Promise<unknown> {
  // In YAML, a file of comments alone is null: no settings yet.
  if (/\.ya?ml$/.test(file)) return (await import("@std/yaml")).parse(content) ?? {};
  if (file.endsWith(".jsonc")) return (await import("@std/jsonc")).parse(content);
  return JSON.parse(content);
}

/** What was probably meant, or all that there are. */
export function didYouMean(key: string, known: readonly string[]): string {
  const meant = closestWord(key, known);
  return meant === undefined ? `known: ${known.join(", ")}` : `did you mean "${meant}"?`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value in a message. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
