/**
 * The topics that are made from the table of settings.
 *
 * @module
 */
import { type Setting, SETTINGS } from "../../config/settings.ts";
import { formatDuration } from "../../job/duration.ts";

/** `jobs help settings`. */
export function settingsText(): string {
  return `Settings

Their keys in the configuration (jobs help configuration), with default and meaning; * is read again on HUP.
${rows().map((row) => `\n  ${row.key}${row.live ? " *" : ""}${shownDefault(row)}\n      ${row.about}`).join("")}`;
}

/** `jobs help environment`. */
export function environmentText(): string {
  const width = Math.max(...rows().map(({ env }) => env.length));
  return `Environment variables

Each sets what its key in the configuration does, and comes before that. One that is empty counts as not set. jobs help
settings says what they mean.

${rows().map(({ env, key }) => `  ${env.padEnd(width)}  ${key}`).join("\n")}

  ${"JOBS_ENV".padEnd(width)}  the environment: chooses the configuration's section; default development
  ${"REDIS_URL".padEnd(width)}  the store, where JOBS_STORE is not set
  ${"NO_COLOR".padEnd(width)}  no colours, also on a terminal
  ${"XDG_STATE_HOME".padEnd(width)}  where the default store is: in its folder jobs
  ${"NOTIFY_SOCKET".padEnd(width)}  systemd's: jobs run says there that it is ready`;
}

function rows(): readonly Setting<unknown>[] {
  return Object.values(SETTINGS);
}

function shownDefault({ kind, default: value }: Setting<unknown>): string {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return "";
  // What is a duration says so in what it wants; inside, it is milliseconds.
  const isDuration = typeof value === "number" && value > 0 && kind.expected.startsWith("a duration");
  return ` (${isDuration ? formatDuration(value) : String(value)})`;
}
