/**
 * Formats a log record as one line, for people (pretty) or for programs (JSON).
 *
 * A line never contains a raw line break or control character, whatever a handler logs. A record therefore stays one line,
 * and cannot forge another line or move the cursor of a terminal. `value.ts` formats the values. Nothing here throws.
 *
 * @module
 */
import { CONTROLS, escapeControl } from "./control_characters.ts";
import { asJson, cut } from "./value.ts";

/** A log level. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** The levels, from the least to the most urgent. */
export const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

export interface LogLine {
  /** Epoch milliseconds. */
  readonly time: number;
  readonly level: LogLevel;
  /** The part that logs it: `poller`, `processor-3`. */
  readonly name: string;
  /** A constant text, which can be searched and counted. */
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const COLORS: Record<LogLevel, string> = { debug: "\x1b[2m", info: "\x1b[32m", warn: "\x1b[33m", error: "\x1b[31m" };
const RESET = "\x1b[0m";
const DIM = "\x1b[2m";

/** A longer text isn't tested for what needs no escape. */
const MAX_PLAIN = 200;

/** A line that is longer gets no further fields: a single log call must not fill the disk. */
const MAX_LINE_CHARS = 100_000;

/** Returns `2026-11-21 08:00:00.123 INFO  processor-3 Done class=HardJob jid=…`, in UTC. */
export function formatPretty(line: LogLine, color: boolean): string {
  const time = isoTime(line.time).replace("T", " ").slice(0, 23);
  const level = line.level.toUpperCase().padEnd(5);
  const text = color
    ? `${DIM}${time}${RESET} ${COLORS[line.level]}${level}${RESET} ${DIM}${plain(line.name)}${RESET} ${
      plain(line.message)
    }`
    : `${time} ${level} ${plain(line.name)} ${plain(line.message)}`;
  return withFields(text, line.fields, { color, maxChars: MAX_LINE_CHARS });
}

/** Appends fields to a line: ` file=orders.csv rows=12`. Ends with `…` after the field that reaches `maxChars`. */
export function withFields(
  line: string,
  fields: LogLine["fields"],
  { color, maxChars }: { readonly color: boolean; readonly maxChars: number },
): string {
  let text = line;
  for (const key of Object.keys(fields)) {
    const shown = prettyValue(fields[key]);
    if (shown === undefined) continue;
    if (text.length > maxChars) return text + " …";
    text += color ? ` ${DIM}${prettyText(key)}=${RESET}${shown}` : ` ${prettyText(key)}=${shown}`;
  }
  return text;
}

/** The fixed keys of a JSON line. A field of that name gets an underscore. */
const FIXED_KEYS: ReadonlySet<string> = new Set(["ts", "level", "name", "msg"]);

/** Returns one JSON object: `ts` (ISO 8601, UTC), `level`, `name`, `msg`, then the fields. */
export function formatJson(line: LogLine): string {
  const { level, name, message, fields } = line;
  let text = `{"ts":"${isoTime(line.time)}","level":"${level}","name":${quotedWord(name)},"msg":${quotedWord(message)}`;
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (value === undefined) continue;
    if (text.length > MAX_LINE_CHARS) return text + ',"more":"…"}';
    const json = jsonValue(value);
    if (json !== undefined) text += `,${quotedWord(FIXED_KEYS.has(key) ? `${key}_` : key)}:${json}`;
  }
  return text + "}";
}

function jsonValue(value: unknown): string | undefined {
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  const json = asJson(value);
  return json === undefined ? undefined : escapeControls(json);
}

/** Matches what JSON or a terminal needs escaped, and more: all that isn't printable ASCII. */
const NOT_PLAIN = /[^ !#-[\]-~]/;
/** Matches a word that a pretty line shows without quotes. */
const PLAIN_WORD = /^[!#-<>-~]+$/;

/** Returns a text as JSON. Nearly every text of a line needs no escape: testing for that takes less time than `JSON.stringify`. */
function quoted(text: string): string {
  return text.length <= MAX_PLAIN && !NOT_PLAIN.test(text) ? `"${text}"` : escapeControls(JSON.stringify(cut(text)));
}

/** Texts that return on every line, as JSON: messages, names of parts, keys of fields. */
const words = new Map<string, string>();
/** Handlers may log any message and any key. */
const MAX_WORDS = 1_000;

function quotedWord(text: string): string {
  const known = words.get(text);
  if (known !== undefined) return known;
  const json = quoted(text);
  if (text.length <= MAX_PLAIN && words.size < MAX_WORDS) words.set(text, json);
  return json;
}

/** Returns a text with its control characters escaped as `\u001b`, and its line breaks as `\n`. */
export function plain(text: string): string {
  if (text.length <= MAX_PLAIN && !NOT_PLAIN.test(text)) return text;
  return escapeControls(cut(text));
}

/** Escapes control characters. Valid for JSON text, too: there they occur only inside strings, and the escapes are those of JSON. */
function escapeControls(text: string): string {
  return text.replace(CONTROLS, (c) => c === "\n" ? "\\n" : escapeControl(c));
}

function prettyValue(value: unknown): string | undefined {
  if (typeof value === "string") return prettyText(value);
  const json = asJson(value);
  return json === undefined ? undefined : escapeControls(json);
}

/** Returns a single word unchanged, and any other text in quotes. */
function prettyText(text: string): string {
  if (text.length <= MAX_PLAIN && PLAIN_WORD.test(text)) return text;
  return escapeControls(/^[^\s"=]+$/.test(text) ? cut(text) : JSON.stringify(cut(text)));
}

/** The last formatted second. Lines come in bursts, and formatting a date takes longer than the rest of a line's head. */
let second = { start: NaN, text: "" };

/** Returns a time in ISO 8601 with milliseconds, UTC. */
function isoTime(ms: number): string {
  const rest = ms - second.start;
  if (!(rest >= 0 && rest < 1_000)) {
    const start = Math.floor(ms / 1_000) * 1_000;
    second = { start, text: new Date(start).toISOString().slice(0, 20) };
  }
  return `${second.text}${String(Math.floor(ms - second.start)).padStart(3, "0")}Z`;
}
