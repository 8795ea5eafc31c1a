/**
 * A log record → one line, for people (pretty) or for programs (JSON). Pure.
 *
 * A line never contains a raw line break or control character, whatever a handler logs: one record stays one line, and
 * nobody forges a line or moves a terminal's cursor. What the values are is `value.ts`'s; nothing here throws.
 *
 * @module
 */
import { CONTROLS, escapeControl } from "./control_characters.ts";
import { asJson, cut } from "./value.ts";

/** From least to most urgent. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** The levels in order. */
export const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** What is known of one logged event. */
export interface LogLine {
  /** Epoch milliseconds. */
  readonly time: number;
  readonly level: LogLevel;
  /** The part that says it: `poller`, `processor-3`. */
  readonly name: string;
  /** A constant text, so that it can be searched and counted. */
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const COLORS: Record<LogLevel, string> = { debug: "\x1b[2m", info: "\x1b[32m", warn: "\x1b[33m", error: "\x1b[31m" };
const RESET = "\x1b[0m";
const DIM = "\x1b[2m";

/** Once a line has so many characters, its further fields are left out: one careless log call must not fill the disk. */
const LONG_LINE = 100_000;

/** `2026-11-21 08:00:00.123 INFO  processor-3 Done class=HardJob jid=…`, in UTC. */
export function formatPretty(line: LogLine, color: boolean): string {
  const time = isoTime(line.time).replace("T", " ").slice(0, 23);
  const level = line.level.toUpperCase().padEnd(5);
  let text = color
    ? `${DIM}${time}${RESET} ${COLORS[line.level]}${level}${RESET} ${DIM}${plain(line.name)}${RESET} ${
      plain(line.message)
    }`
    : `${time} ${level} ${plain(line.name)} ${plain(line.message)}`;
  for (const [key, value] of Object.entries(line.fields)) {
    const shown = prettyValue(value);
    if (shown === undefined) continue;
    if (text.length > LONG_LINE) return text + " …";
    text += color ? ` ${DIM}${prettyText(key)}=${RESET}${shown}` : ` ${prettyText(key)}=${shown}`;
  }
  return text;
}

/** The keys of a JSON line that are ours. A field of that name gets an underscore. */
const OUR_KEYS: ReadonlySet<string> = new Set(["ts", "level", "name", "msg"]);

/** One JSON object: `ts` (ISO 8601, UTC), `level`, `name`, `msg`, then the fields. */
export function formatJson(line: LogLine): string {
  let text = `{"ts":"${isoTime(line.time)}","level":"${line.level}","name":${JSON.stringify(line.name)},"msg":${
    JSON.stringify(cut(line.message))
  }`;
  for (const [key, value] of Object.entries(line.fields)) {
    const json = asJson(value);
    if (json === undefined) continue;
    if (text.length > LONG_LINE) {
      text += ',"more":"…"';
      break;
    }
    text += `,${JSON.stringify(OUR_KEYS.has(key) ? `${key}_` : cut(key))}:${json}`;
  }
  return escapeControls(text) + "}";
}

/** Without control characters, those that turn the direction of text among them: as `\u001b`, line breaks as `\n`. */
export function plain(text: string): string {
  return escapeControls(cut(text));
}

/** Also right for JSON text: what it escapes can only stand inside strings there, and the escapes are JSON's. */
function escapeControls(text: string): string {
  return text.replace(CONTROLS, (c) => c === "\n" ? "\\n" : escapeControl(c));
}

function prettyValue(value: unknown): string | undefined {
  if (typeof value === "string") return prettyText(value);
  const json = asJson(value);
  return json === undefined ? undefined : escapeControls(json);
}

/** As it is where it is one word, else in quotes. */
function prettyText(text: string): string {
  return escapeControls(/^[^\s"=]+$/.test(text) ? cut(text) : JSON.stringify(cut(text)));
}

/** The second that was last formatted: lines come in bursts, and formatting a date takes longer than the rest of a line's head. */
let second = { start: NaN, text: "" };

/** The time in ISO 8601 with milliseconds, UTC. */
function isoTime(ms: number): string {
  const rest = ms - second.start;
  if (!(rest >= 0 && rest < 1_000)) {
    const start = Math.floor(ms / 1_000) * 1_000;
    second = { start, text: new Date(start).toISOString().slice(0, 20) };
  }
  return `${second.text}${String(Math.floor(ms - second.start)).padStart(3, "0")}Z`;
}
