/**
 * The table of settings in docs/reference/configuration.md, generated from src/config/settings.ts. `deno task docs` writes it,
 * and a test fails if it is out of date.
 *
 * @module
 */
import { type Setting, SETTINGS } from "../src/config/settings.ts";
import { formatDuration } from "../src/job/duration.ts";

/** The page with the table. */
export const PAGE: URL = new URL("../docs/reference/configuration.md", import.meta.url);

const BEGIN = "<!-- The settings: written by `deno task docs` -->";
const END = "<!-- The end of the settings -->";

/**
 * Returns the page with the current table.
 *
 * @throws {Error} if the page lacks the lines that enclose it
 */
export function withTable(page: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`"${PAGE.pathname}" lacks the line "${BEGIN}" or "${END}"`);
  return `${page.slice(0, begin)}${BEGIN}\n\n${settingsTable()}\n\n${page.slice(end)}`;
}

function settingsTable(): string {
  const rows = Object.values(SETTINGS).map((row: Setting<unknown>) => [
    `\`${row.key}\`${row.live ? " ↻" : ""}`,
    `\`${row.env}\``,
    row.flag === undefined ? "" : `\`${row.flag}\``,
    shownDefault(row),
    row.about.replaceAll("|", "\\|"),
  ]);
  const all = [["key", "environment", "option", "default", "meaning"], ...rows];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(" | ")} |`;
  return [line(all[0]!), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

function shownDefault({ key, kind, default: value }: Setting<unknown>): string {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return "";
  // Settings hold durations in milliseconds. The kind's text tells them from other numbers.
  if (typeof value === "number" && value > 0 && kind.expected.startsWith("a duration")) {
    return `\`${formatDuration(value)}\``;
  }
  if (Array.isArray(value)) return value.map((one) => `\`${one}\``).join(", ");
  if (typeof value === "object") throw new Error(`Can't show the default of "${key}"`);
  return `\`${value}\``;
}

if (import.meta.main) await Deno.writeTextFile(PAGE, withTable(await Deno.readTextFile(PAGE)));
