/**
 * The topics generated from the table of settings.
 *
 * @module
 */
import { type Setting, SETTINGS } from "../../config/settings.ts";
import { formatDuration } from "../../job/duration.ts";

/** `jobs help settings`. */
export function settingsText(): string {
  return `Settings

Configuration keys (jobs help configuration) with default and meaning. HUP
reloads those marked *.
${rows().map((row) => `\n  ${row.key}${row.live ? " *" : ""}${shownDefault(row)}\n${wrapped(row.about)}`).join("")}`;
}

/** `jobs help environment`. */
export function environmentText(): string {
  const width = Math.max(...rows().map(({ env }) => env.length));
  return `Environment variables

Each sets a configuration key and overrides the file. An empty variable counts
as not set. jobs help settings describes the keys.

${rows().map(({ env, key }) => `  ${env.padEnd(width)}  ${key}`).join("\n")}

  ${"JOBS_ENV".padEnd(width)}  section of the file (development)
  ${"JOBS_TRUSTED_FOLDER".padEnd(width)}  its jobs.json counts
  ${"REDIS_URL".padEnd(width)}  the store, if JOBS_STORE isn't set
  ${"NO_COLOR".padEnd(width)}  no colors
  ${"XDG_STATE_HOME".padEnd(width)}  folder of the default store
  ${"NOTIFY_SOCKET".padEnd(width)}  systemd's socket: jobs run reports there`;
}

/** Wraps to lines of at most 80 characters, indented by 6. */
function wrapped(text: string): string {
  return `${text} `.replace(/(.{1,74}) /g, "      $1\n").trimEnd();
}

function rows(): readonly Setting<unknown>[] {
  return Object.values(SETTINGS);
}

function shownDefault({ kind, default: value }: Setting<unknown>): string {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return "";
  // Durations are milliseconds inside.
  const isDuration = typeof value === "number" && value > 0 && kind.expected.startsWith("a duration");
  return ` (${isDuration ? formatDuration(value) : String(value)})`;
}
