/**
 * Edits the text of a payload and leaves every other byte unchanged. Parsing and writing it would turn `1.0` into `1`
 * and round large integers, and a store finds a member by its exact bytes.
 *
 *  1. {@linkcode setFields} replaces, removes and appends top-level fields.
 *  2. {@linkcode getField} reads one.
 *  3. {@linkcode wireTime} and {@linkcode readWireTime} write and read the times in such fields.
 *
 * @module
 */

/** Fields to set: name → JSON text, or undefined to remove the field. */
export type FieldTexts = Readonly<Record<string, string | undefined>>;

/** The positions of the top-level members in the text of an object. */
interface Members {
  /** The names, unescaped, in order. A name may occur several times. */
  readonly names: string[];
  /** Three positions per member: the start of its name, the start of its value, the end of its value. */
  readonly spans: number[];
  /** The position after the opening brace. */
  readonly inside: number;
}

/**
 * Sets top-level fields in the text of a JSON object. An existing field keeps its position; a new one is appended. If a
 * name occurs several times, the last value counts, as in every JSON parser: it is replaced, and the others are removed.
 *
 * @param raw the object's text
 * @param fields JSON text by name, trusted to be valid; undefined removes the field
 * @throws {SyntaxError} if `raw` isn't the text of one JSON object
 */
export function setFields(raw: string, fields: FieldTexts): string {
  const { names, spans, inside } = scanObject(raw);
  let out = "";
  let copied = 0;
  let end = inside;
  let kept = false;
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!;
    const before = end;
    end = spans[3 * i + 2]!;
    if (!Object.hasOwn(fields, name)) {
      kept = true;
      continue;
    }
    const value = names.indexOf(name, i + 1) < 0 ? fields[name] : undefined;
    if (value !== undefined) {
      out += raw.slice(copied, spans[3 * i + 1]) + value;
      copied = end;
      kept = true;
    } else if (kept) {
      out += raw.slice(copied, before);
      copied = end;
    } else {
      out += raw.slice(copied, spans[3 * i]);
      copied = spans[3 * i + 3] ?? end;
    }
  }
  out += raw.slice(copied, end);
  for (const name in fields) {
    const value = fields[name];
    if (value === undefined || names.includes(name)) continue;
    out += `${kept ? "," : ""}${JSON.stringify(name)}:${value}`;
    kept = true;
  }
  return out + raw.slice(end);
}

/**
 * Returns the value of a top-level field, parsed by `JSON.parse`, which rounds large integers. Undefined if the field is
 * absent, or `raw` isn't the text of a JSON object.
 */
export function getField(raw: string, name: string): unknown {
  let members: Members;
  try {
    members = scanObject(raw);
  } catch {
    return undefined;
  }
  const i = members.names.lastIndexOf(name);
  return i < 0 ? undefined : JSON.parse(raw.slice(members.spans[3 * i + 1], members.spans[3 * i + 2]));
}

/**
 * Returns the text up to the value of a top-level field, and the text after it. Returns undefined if the field is absent or
 * `raw` isn't the text of a JSON object.
 */
export function around(raw: string, name: string): readonly [before: string, after: string] | undefined {
  try {
    const { names, spans } = scanObject(raw);
    const i = names.lastIndexOf(name);
    return i < 0 ? undefined : [raw.slice(0, spans[3 * i + 1]), raw.slice(spans[3 * i + 2])];
  } catch {
    return undefined;
  }
}

/**
 * Returns the top-level fields as JSON text, in order and with duplicate names. Undefined if `raw` isn't the text of a JSON
 * object.
 */
export function fieldTexts(raw: string): [name: string, text: string][] | undefined {
  try {
    const { names, spans } = scanObject(raw);
    return names.map((name, i) => [name, raw.slice(spans[3 * i + 1], spans[3 * i + 2])]);
  } catch {
    return undefined;
  }
}

/**
 * Returns a time as JSON text for a field of a payload.
 *
 * @param ms epoch milliseconds
 * @param wire `7` (default): seconds, always with a fraction, because Sidekiq 8 reads an integer as milliseconds; `8`:
 * integer milliseconds, which only Sidekiq 8 reads
 */
export function wireTime(ms: number, wire: 7 | 8 = 7): string {
  return wire === 8 ? Math.round(ms).toFixed(0) : (ms / 1000).toFixed(3);
}

/** Larger than any time in seconds before the year 5138, and smaller than any time in milliseconds after March 1973. */
const MAX_SECONDS = 1e11;

/** The latest time that a `Date` can represent, in the year 275760. */
const MAX_TIME_MS = 8.64e15;

/**
 * Returns the epoch milliseconds of a time field. Seconds and milliseconds differ in size. Undefined if the value isn't a
 * time.
 */
export function readWireTime(value: unknown): number | undefined {
  if (typeof value !== "number") return undefined;
  const ms = Math.round(value > MAX_SECONDS ? value : value * 1000);
  return Math.abs(ms) <= MAX_TIME_MS ? ms : undefined;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Finds the top-level members, and checks the whole text. */
function scanObject(text: string): Members {
  const names: string[] = [];
  const spans: number[] = [];
  let at = skipSpace(text, 0);
  if (text.charCodeAt(at) !== OPEN_OBJECT) fail(text, at);
  const inside = ++at;
  at = skipSpace(text, at);
  if (text.charCodeAt(at) === CLOSE_OBJECT) at++;
  else {
    for (;;) {
      const start = at;
      const nameEnd = skipString(text, start);
      const name = text.slice(start + 1, nameEnd - 1);
      const value = skipColon(text, nameEnd);
      at = skipValue(text, value);
      names.push(name.includes("\\") ? JSON.parse(`"${name}"`) : name);
      spans.push(start, value, at);
      at = skipSpace(text, at);
      const next = text.charCodeAt(at++);
      if (next === CLOSE_OBJECT) break;
      if (next !== COMMA) fail(text, at - 1);
      at = skipSpace(text, at);
    }
  }
  at = skipSpace(text, at);
  if (at !== text.length) fail(text, at);
  return { names, spans, inside };
}

/** Returns the end of the value that begins at `at`. A list instead of recursion, so that no depth overflows the stack. */
function skipValue(text: string, at: number): number {
  const closers: number[] = [];
  for (;;) {
    const opener = text.charCodeAt(at);
    if (opener === OPEN_OBJECT || opener === OPEN_ARRAY) {
      const closer = opener === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
      at = skipSpace(text, at + 1);
      if (text.charCodeAt(at) !== closer) {
        if (closer === CLOSE_OBJECT) at = skipColon(text, skipString(text, at));
        closers.push(closer);
        continue;
      }
      at++;
    } else {
      at = opener === QUOTE ? skipString(text, at) : skipPattern(text, at, SCALAR);
    }
    for (;;) {
      const closer = closers.at(-1);
      if (closer === undefined) return at;
      at = skipSpace(text, at);
      const next = text.charCodeAt(at++);
      if (next === COMMA) {
        at = skipSpace(text, at);
        if (closer === CLOSE_OBJECT) at = skipColon(text, skipString(text, at));
        break;
      }
      if (next !== closer) fail(text, at - 1);
      closers.pop();
    }
  }
}

function skipString(text: string, at: number): number {
  if (text.charCodeAt(at) !== QUOTE) fail(text, at);
  at++;
  for (;;) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) return at + 1;
    if (char === BACKSLASH) at = skipPattern(text, at, ESCAPE);
    else if (char >= 0x20) at++;
    else fail(text, at);
  }
}

function skipColon(text: string, at: number): number {
  at = skipSpace(text, at);
  if (text.charCodeAt(at) !== COLON) fail(text, at);
  return skipSpace(text, at + 1);
}

function skipSpace(text: string, at: number): number {
  for (;;) {
    const char = text.charCodeAt(at);
    if (char !== 0x20 && char !== 0x0a && char !== 0x0d && char !== 0x09) return at;
    at++;
  }
}

function skipPattern(text: string, at: number, pattern: RegExp): number {
  pattern.lastIndex = at;
  if (!pattern.test(text)) fail(text, at);
  return pattern.lastIndex;
}

function fail(text: string, at: number): never {
  throw new SyntaxError(
    at < text.length
      ? `Not the text of a JSON object: unexpected "${text.charAt(at)}" at position ${at}`
      : "Not the text of a JSON object: it ends too early",
  );
}
