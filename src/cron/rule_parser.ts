/**
 * Parses a cron expression into its fields. Errors name the column.
 *
 * An expression has five fields: minute, hour, day of month, month, day of week. With six fields, seconds come first. A
 * field is a comma-separated list of:
 *
 *  - `*`, numbers, names (`JAN`, `MON`) and ranges `a-b`, each with an optional step `/n`;
 *  - in the day of month: `L` (the last day), `L-3` (three days before the last), `15W` (the weekday nearest the 15th, in
 *    the same month) and `LW` (the last weekday);
 *  - in the day of week: `5L` or `FRIL` (the last Friday) and `5#2` or `FRI#2` (the second Friday). Sunday is 0 and 7.
 *
 * @module
 */
import { type DayOfMonth, type DayOfWeek, nextWall, type RuleFields } from "./calendar.ts";

/** A cron expression is invalid. */
export class RuleError extends Error {
  override readonly name = "RuleError";
  /** The position in the expression, from 1. */
  readonly column: number;

  /**
   * @param rule the whole expression
   * @param at the position and the reason of the error
   */
  constructor(rule: string, at: { readonly column: number; readonly reason: string }) {
    super(`Invalid cron expression "${rule}", column ${at.column}: ${at.reason}`);
    this.column = at.column;
  }
}

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names of the values, from `min`. */
  readonly names?: readonly string[];
  readonly isDay?: true;
}

const SECOND: Field = { name: "second", min: 0, max: 59 };
const MINUTE: Field = { name: "minute", min: 0, max: 59 };
const HOUR: Field = { name: "hour", min: 0, max: 23 };
const DAY_OF_MONTH: Field = { name: "day of month", min: 1, max: 31, isDay: true };
const MONTH: Field = {
  name: "month",
  min: 1,
  max: 12,
  names: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
};
const DAY_OF_WEEK: Field = {
  name: "day of week",
  min: 0,
  max: 7,
  names: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
  isDay: true,
};

const SHORT_FORMS: Readonly<Record<string, string>> = {
  "@yearly": "0 0 0 1 1 *",
  "@annually": "0 0 0 1 1 *",
  "@monthly": "0 0 0 1 * *",
  "@weekly": "0 0 0 * * 0",
  "@daily": "0 0 0 * * *",
  "@midnight": "0 0 0 * * *",
  "@hourly": "0 0 * * * *",
  "@minutely": "0 * * * * *",
};

/** A piece of the text, with its position. */
interface Piece {
  readonly text: string;
  readonly column: number;
}

/** Throws the error about a piece. */
type Fail = (piece: Piece, reason: string) => never;

/**
 * Parses a cron expression.
 *
 * @throws {RuleError} if a field is missing, invalid or out of range, or the expression matches no time
 */
export function parseRule(rule: string): RuleFields {
  const fail: Fail = (piece, reason) => {
    throw new RuleError(rule, { column: piece.column, reason });
  };
  const pieces = split(rule, fail);
  const [second, minute, hour, dayOfMonth, month, dayOfWeek] = pieces as [Piece, Piece, Piece, Piece, Piece, Piece];
  const fields: RuleFields = {
    seconds: parseNumbers(second, SECOND, fail),
    minutes: parseNumbers(minute, MINUTE, fail),
    hours: parseNumbers(hour, HOUR, fail),
    months: parseNumbers(month, MONTH, fail),
    daysOfMonth: parseDaysOfMonth(dayOfMonth, fail),
    daysOfWeek: parseDaysOfWeek(dayOfWeek, fail),
    // As in Vixie's cron: if one field begins with a star, also as in `*/2`, both fields must match.
    eitherDay: !/^[*?]/.test(dayOfMonth.text) && !/^[*?]/.test(dayOfWeek.text),
    normal: pieces.map((piece) => piece.text.toUpperCase()).join(" "),
  };
  if (nextWall(fields, 0) === undefined) {
    fail(dayOfMonth, `month "${month.text}" never has a day "${dayOfMonth.text}", so it never runs`);
  }
  return fields;
}

function split(rule: string, fail: Fail): Piece[] {
  const pieces = [...rule.matchAll(/\S+/g)].map(({ 0: text, index }) => ({ text, column: index + 1 }));
  const [first] = pieces;
  if (first?.text.startsWith("@")) {
    const long = SHORT_FORMS[first.text.toLowerCase()];
    if (long === undefined || pieces.length > 1) {
      return fail(first, `"${rule.trim()}" is unknown; expected ${Object.keys(SHORT_FORMS).join(", ")}`);
    }
    return long.split(" ").map((text) => ({ text, column: first.column }));
  }
  if (pieces.length === 5) return [{ text: "0", column: 1 }, ...pieces];
  if (pieces.length === 6) return pieces;
  const unexpected = pieces[6] ?? { text: "", column: rule.length + 1 };
  return fail(
    unexpected,
    `${pieces.length} fields; expected 5 (minute, hour, day of month, month, day of week), or 6 with seconds first`,
  );
}

/** Splits a field at its commas. */
function parts(field: Piece): Piece[] {
  let column = field.column;
  return field.text.split(",").map((text) => {
    const part = { text, column };
    column += text.length + 1;
    return part;
  });
}

function parseNumbers(piece: Piece, field: Field, fail: Fail): number[] {
  return ascending(parts(piece).flatMap((part) => parsePart(part, field, fail)));
}

function parseDaysOfMonth(piece: Piece, fail: Fail): DayOfMonth[] {
  const special: DayOfMonth[] = [];
  const days: number[] = [];
  for (const part of parts(piece)) {
    const last = /^L(?:-([0-9]+))?$/i.exec(part.text);
    const nearest = /^(?:L|([0-9]+))W$/i.exec(part.text);
    if (last) {
      const back = Number(last[1] ?? 0);
      if (back > 30) fail(part, `day of month "${part.text}" is before the month; expected L-1 to L-30`);
      special.push({ kind: "last", back });
    } else if (nearest) {
      const day = nearest[1] === undefined
        ? "last"
        : parseValue({ text: nearest[1], column: part.column }, DAY_OF_MONTH, fail);
      special.push({ kind: "nearestWeekday", day });
    } else days.push(...parsePart(part, DAY_OF_MONTH, fail));
  }
  return [...ascending(days).map((day) => ({ kind: "day", day }) as const), ...special];
}

function parseDaysOfWeek(piece: Piece, fail: Fail): DayOfWeek[] {
  const special: DayOfWeek[] = [];
  const weekdays: number[] = [];
  for (const part of parts(piece)) {
    const [, name, mark] = /^([0-9A-Z]+?)(L|#.*)$/i.exec(part.text) ?? [];
    if (name === undefined || mark === undefined) {
      if (/^L$/i.test(part.text)) {
        fail(part, `day of week "${part.text}" has no weekday; expected for example 5L or FRIL`);
      }
      weekdays.push(...parsePart(part, DAY_OF_WEEK, fail).map((weekday) => weekday % 7));
      continue;
    }
    const weekday = parseValue({ text: name, column: part.column }, DAY_OF_WEEK, fail) % 7;
    if (/^L$/i.test(mark)) special.push({ kind: "last", weekday });
    else if (/^#[1-5]$/.test(mark)) special.push({ kind: "nth", weekday, n: Number(mark[1]) });
    else fail(part, `day of week "${part.text}" has the suffix "${mark}"; expected #1 to #5`);
  }
  return [...ascending(weekdays).map((weekday) => ({ kind: "weekday", weekday }) as const), ...special];
}

/** Returns the numbers of `*`, `a` or `a-b`, each with an optional `/n`. */
function parsePart(part: Piece, field: Field, fail: Fail): number[] {
  const match = /^(?:([*?])|([0-9A-Z]+)(?:-([0-9A-Z]+))?)(?:\/([0-9]+))?$/i.exec(part.text);
  if (!match || (match[1] === "?" && !field.isDay)) {
    return fail(part, `${field.name} "${part.text}" is invalid; expected *, ${rangeOf(field)}, ranges, steps`);
  }
  const [, star, from, to, step] = match;
  const low = from === undefined ? field.min : parseValue({ text: from, column: part.column }, field, fail);
  let high = low;
  if (star !== undefined) high = field === DAY_OF_WEEK ? 6 : field.max;
  else if (to !== undefined) {
    high = parseValue({ text: to, column: part.column + part.text.indexOf("-") + 1 }, field, fail);
    if (field === DAY_OF_WEEK && high === 0) high = 7;
  } else if (step !== undefined) high = field === DAY_OF_WEEK ? 6 : field.max;
  const by = Number(step ?? 1);
  const backwards = low > high ? forwards(part.text, { low, high, by }, field) : undefined;
  const span = backwards?.span ?? high - low + 1;
  if (by < 1 || by > span) {
    fail(
      { text: step!, column: part.column + part.text.indexOf("/") + 1 },
      `step "${step}" of ${field.name} is out of range; expected 1 to ${span}; for longer intervals use "every"`,
    );
  }
  if (backwards !== undefined) fail(part, `${field.name} "${part.text}" runs backwards; write ${backwards.text}`);
  return Array.from({ length: Math.ceil(span / by) }, (_, index) => low + index * by);
}

function parseValue(piece: Piece, field: Field, fail: Fail): number {
  const named = field.names?.indexOf(piece.text.toUpperCase()) ?? -1;
  if (named >= 0) return field.min + named;
  const value = /^[0-9]+$/.test(piece.text) ? Number(piece.text) : NaN;
  if (!(field.min <= value && value <= field.max)) {
    const problem = Number.isNaN(value) ? "is invalid" : "is out of range";
    fail(piece, `${field.name} "${piece.text}" ${problem}; expected ${rangeOf(field)}`);
  }
  return value;
}

function rangeOf(field: Field): string {
  const names = field.names ? ` or ${field.names[0]}-${field.names.at(-1)}` : "";
  return `${field.min}-${field.max}${names}`;
}

/**
 * Returns the same values as a valid text, and how many values a step may pass: `two ranges: 22-23,0-2` for `22-2`, `0,2,22` for
 * `22-2/2`.
 */
function forwards(
  text: string,
  { low, high, by }: { readonly low: number; readonly high: number; readonly by: number },
  field: Field,
): { readonly text: string; readonly span: number } {
  const [from, to] = text.replace(/\/.*/, "").split("-");
  // Sunday, which is also 0.
  if (field === DAY_OF_WEEK && low === 7) {
    const end = to ?? "6";
    return { text: by === 1 ? `0-${end}` : `0-${end}/${by}`, span: (to === undefined ? 6 : high) + 1 };
  }
  const max = field === DAY_OF_WEEK ? 6 : field.max;
  const span = max - low + 1 + high - field.min + 1;
  if (by === 1) return { text: `two ranges: ${from}-${max},${field.min}-${to}`, span };
  const values = Array.from({ length: by < 1 ? 0 : Math.ceil(span / by) }, (_, index) => {
    const value = low + index * by;
    return value > max ? value - max - 1 + field.min : value;
  });
  return { text: ascending(values).join(), span };
}

function ascending(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b);
}
