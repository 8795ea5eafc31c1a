/**
 * Settings as a program gives them to a server of its own: by their names here, durations in milliseconds. What is not as
 * it should be is found out at the start, as in a configuration file.
 *
 * @module
 */
import { defaultSettings, type Setting, type SettingName, SETTINGS, type Settings } from "./settings.ts";
import { checkTogether, ConfigError, didYouMean, show } from "./load.ts";

/**
 * The settings, with the defaults for what is not given.
 *
 * @throws {ConfigError} when there is no setting of a name, or a value is not what it should be
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
  const parsed = name === "queues" ? checkQueues(value) : isDuration
    // The kind takes seconds.
    ? typeof value === "number" ? row.kind.parse(value / 1_000, false) : undefined
    : row.kind.parse(value, false);
  if (parsed !== undefined) return parsed;
  const wanted = isDuration ? `a number of milliseconds; as the configuration's "${row.key}", ` : "";
  throw new ConfigError(
    `Setting "${name}" is ${row.secret ? "***" : show(value)}; wanted: ${wanted}${row.kind.wanted}`,
  );
}

/** Here they are as they come out of the configuration: `[{ name, weight }]`; none stands for the default. */
function checkQueues(value: unknown): unknown {
  if (!Array.isArray(value) || value.length === 0) return Array.isArray(value) ? value : undefined;
  return SETTINGS.queues.kind.parse(value.map((one) => one?.weight ? [one.name, one.weight] : [one?.name]), false);
}
