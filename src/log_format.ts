/**
 * A log record → one line, for people (pretty) or for programs (JSON). Pure.
 *
 * A line never contains a raw line break or control character, whatever a handler logs: one record stays one line, and
 * nobody forges a line or moves a terminal's cursor.
 *
 * @module
 */

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

/** A field's value is cut beyond this many characters: one careless log call must not fill the disk. */
const LONGEST_VALUE = 10_000;

/** `2026-11-21 08:00:00.123 INFO  processor-3 Done class=HardJob jid=…`, in UTC. */
export function formatPretty(line: LogLine, color: boolean): string {
  const time = new Date(line.time).toISOString().replace("T", " ").slice(0, 23);
  const level = line.level.toUpperCase().padEnd(5);
  let text = color
    ? `${DIM}${time}${RESET} ${COLORS[line.level]}${level}${RESET} ${DIM}${line.name}${RESET} ${plain(line.message)}`
    : `${time} ${level} ${line.name} ${plain(line.message)}`;
  for (const [key, value] of Object.entries(line.fields)) {
    if (value === undefined) continue;
    text += color ? ` ${DIM}${key}=${RESET}${prettyValue(value)}` : ` ${key}=${prettyValue(value)}`;
  }
  return text;
}

/** One JSON object: `ts` (ISO 8601, UTC), `level`, `name`, `msg`, then the fields. */
export function formatJson(line: LogLine): string {
  const head = `{"ts":"${new Date(line.time).toISOString()}","level":"${line.level}","name":${
    JSON.stringify(line.name)
  },"msg":${JSON.stringify(cut(line.message))}`;
  let text = head;
  for (const [key, value] of Object.entries(line.fields)) {
    const json = jsonValue(value);
    if (json !== undefined) text += `,${JSON.stringify(key)}:${json}`;
  }
  return text + "}";
}

function prettyValue(value: unknown): string {
  const text = typeof value === "string" ? value : jsonValue(value) ?? String(value);
  return typeof value === "string" && /[\s"=]/.test(text) ? JSON.stringify(cut(text)) : plain(text);
}

/** JSON text of anything, or undefined where JSON has none. A handler may log what JSON cannot hold. */
function jsonValue(value: unknown): string | undefined {
  if (value instanceof Error) value = `${value.name}: ${value.message}`;
  if (typeof value === "string") return JSON.stringify(cut(value));
  if (typeof value === "bigint") return String(value);
  try {
    const text = JSON.stringify(value);
    return text !== undefined && text.length > LONGEST_VALUE ? JSON.stringify(cut(text)) : text;
  } catch {
    return '"[not JSON]"';
  }
}

function cut(text: string): string {
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}… (${text.length} characters)` : text;
}

// deno-lint-ignore no-control-regex -- control characters are what it is about
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

function plain(text: string): string {
  return cut(text).replace(CONTROL, (c) => c === "\n" ? "\\n" : `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
