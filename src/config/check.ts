/**
 * Settings as a program passes them to `startWorker`: by their names in {@linkcode SETTINGS}, durations in milliseconds. They
 * are checked at start, as a configuration file is.
 *
 * @module
 */
import { defaultSettings, type Setting, type SettingName, SETTINGS, type Settings } from "./settings.ts";
import { checkTogether, ConfigError, didYouMean, show } from "./load.ts";

/**
 * Returns the settings with defaults for those not given.
 *
 * @throws {ConfigError} if a name is unknown or a value invalid
 */
export function checkSettings(given: Partial<Settings>): Settings {
  const settings = { ...defaultSettings() } as Record<string, unknown>;
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(SETTINGS, name)) {
      throw new ConfigError(`Unknown setting "${name}"; ${didYouMean(name, Object.keys(SETTINGS))}`);
    }
    if (value !== undefined) settings[name] = check(name as SettingName, value);
  }
  const checked = settings as unknown as Settings;
  checkTogether(checked);
  return checked;
}

function check(name: SettingName, value: unknown): unknown {
  const row: Setting<unknown> = SETTINGS[name];
  const isDuration = name.endsWith("Ms");
  const parsed = name === "queues" ? parseQueues(value) : isDuration
    // The kind reads seconds.
    ? typeof value === "number" ? row.kind.parse(value / 1_000, false) : undefined
    : row.kind.parse(value, false);
  if (parsed !== undefined) return parsed;
  const unit = isDuration ? `a number of milliseconds; as the configuration's "${row.key}", ` : "";
  throw new ConfigError(
    `Invalid setting "${name}" ${row.secret ? "***" : show(value)}: expected ${unit}${row.kind.expected}`,
  );
}

/** Parses queues in the form of the loaded configuration, `[{ name, weight }]`; an empty list is the default. */
function parseQueues(value: unknown): unknown {
  if (!Array.isArray(value) || value.length === 0) return Array.isArray(value) ? value : undefined;
  return SETTINGS.queues.kind.parse(value.map((one) => one?.weight ? [one.name, one.weight] : [one?.name]), false);
}
