/**
 * Tables: rows in aligned columns, fitted to the terminal. If the output isn't a terminal, cells are cut at 1,000 characters:
 * payloads may contain anything, and the widest cell of a column pads all its rows.
 *
 * On a narrow terminal, optional columns are left out first, the last one first. Then the widest columns are cut, marked by
 * `…`. Columns that are useless when cut, such as jids, stay whole up to 100 columns. Columns without a value in any row are
 * left out on every terminal.
 *
 * @module
 */
import { bold, green, red, yellow } from "@std/fmt/colors";
import { systemClock } from "../../clock.ts";
import { asText } from "../../log/value.ts";
import { type Columns, type Kind, kindOf } from "../../text/columns.ts";
import { blankControls, print, printPainted, terminalColumns } from "./output.ts";
import { cutText, textWidth } from "./text_width.ts";

/** A column: its heading, and how it is printed. */
export type Column = string | {
  readonly heading: string;
  /** `whole`: never cut. `optional`: left out if there is no room, the last one first. */
  readonly is?: "whole" | "optional" | undefined;
  /** Aligned to the right. Default: if all its cells are numbers. */
  readonly isAmount?: boolean | undefined;
  /** Its cells are states, which are colored on a terminal. */
  readonly isState?: boolean | undefined;
};

/** Returns a state, which may be padded, in its color. */
export function colored(state: string): string {
  const kind = kindOf(state.trim());
  return kind === undefined ? state : PAINT[kind](state);
}

const PAINT: Readonly<Record<Kind, (text: string) => string>> = {
  ok: green,
  running: green,
  scheduled: (text) => text,
  warn: yellow,
  bad: red,
};

const GAP = "  ";
/** A longer cell is cut. `--json` prints everything. */
const MAX_CELL_CHARS = 1_000;
/** Wider cells are cut even in a `whole` column. */
const MAX_WHOLE_COLUMNS = 100;
/** Columns are not cut below this width. */
const MIN_COLUMNS = 6;
/** Optional columns are left out before another column is cut below this width. */
const COMFORTABLE_COLUMNS = 16;

/**
 * Prints a table; columns of numbers are right-aligned.
 *
 * @param none printed if there are no rows
 * @param options.headings whether to print the headings; default true
 */
export function printTable(
  columns: readonly Column[],
  rows: readonly (readonly unknown[])[],
  none: string,
  { headings = true }: { readonly headings?: boolean } = {},
): void {
  if (rows.length === 0) return print(none);
  const width = terminalColumns();
  const lines = tableLines(columns, rows, { width: width ?? Infinity, painted: width !== undefined });
  printPainted(lines.slice(headings ? 0 : 1).join("\n"));
}

/** Prints a list; see {@linkcode printTable}. */
export function printList<Row>(
  columns: Columns<Row>,
  rows: readonly Row[],
  none: string,
  options: { readonly headings?: boolean } = {},
): void {
  const now = systemClock.now();
  const cells = rows.map((row) => Object.values(columns).map(({ text }) => text(row, now)));
  printTable(Object.entries(columns).map(([heading, column]) => ({ heading, ...column })), cells, none, options);
}

/**
 * Returns the lines of a table, the headings first.
 *
 * @param options.width width of the terminal; Infinity for no limit
 * @param options.painted whether to use colors, unless they are off
 */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly unknown[])[],
  { width, painted }: { readonly width: number; readonly painted: boolean },
): string[] {
  const all = columns.map((column, i): Laid => {
    const about = typeof column === "string" ? { heading: column } : column;
    const values = rows.map((row) => row[i]);
    const cells = values.map((value) => blankControls(value === undefined ? "" : cutCell(asText(value))));
    const widths = cells.map(textWidth);
    const widest = (some: readonly number[]) =>
      some.reduce((most, one) => Math.max(most, one), textWidth(about.heading));
    const width = widest(widths);
    return {
      ...about,
      cells,
      widths,
      right: about.isAmount ?? values.every((value) => typeof value === "number"),
      width,
      least: about.is === "whole"
        ? widest(widths.filter((one) => one <= MAX_WHOLE_COLUMNS))
        : Math.min(width, MIN_COLUMNS),
    };
  });
  const laid = fit(withoutEmpty(all), width);
  const line = (cell: (column: Laid) => Cell, paint: (text: string, column: Laid) => string) =>
    laid.map((column, i) => paint(pad(cell(column), column, i === laid.length - 1), column)).join(GAP).trimEnd();
  const head = line(({ heading }) => ({ text: heading, taken: textWidth(heading) }), (text) => text);
  return [
    painted ? bold(head) : head,
    ...rows.map((_, i) =>
      line(
        ({ cells, widths }) => ({ text: cells[i]!, taken: widths[i]! }),
        (text, column) => painted && column.isState ? colored(text) : text,
      )
    ),
  ];
}

interface Laid {
  readonly heading: string;
  readonly is?: "whole" | "optional" | undefined;
  readonly isState?: boolean | undefined;
  readonly cells: readonly string[];
  /** The width of each cell on the terminal. */
  readonly widths: readonly number[];
  readonly right: boolean;
  readonly width: number;
  /** The column is not cut below this width. */
  readonly least: number;
}

interface Cell {
  readonly text: string;
  readonly taken: number;
}

/** Leaves out columns without a value in any row, unless that would leave none. */
function withoutEmpty(columns: readonly Laid[]): readonly Laid[] {
  const filled = columns.filter(({ cells, is }) => is === "whole" || cells.some((cell) => cell !== ""));
  return filled.length === 0 ? columns : filled;
}

/** Leaves out optional columns, then narrows others, until the table fits or can't be made narrower. */
function fit(columns: readonly Laid[], width: number): Laid[] {
  const widthOf = (some: readonly Laid[]) =>
    some.reduce((sum, column) => sum + column.width, GAP.length * (some.length - 1));
  let kept = [...columns];
  while (widthOf(kept.map((column) => ({ ...column, width: Math.min(column.width, roomy(column)) }))) > width) {
    const last = kept.findLastIndex((column) => column.is === "optional");
    if (last < 0) break;
    kept = kept.toSpliced(last, 1);
  }
  while (widthOf(kept) > width) {
    const widest = kept.reduce((best, column, i) => {
      const room = column.width - column.least;
      return room > 0 && (best < 0 || column.width > kept[best]!.width) ? i : best;
    }, -1);
    if (widest < 0) break;
    kept[widest] = { ...kept[widest]!, width: kept[widest]!.width - 1 };
  }
  return kept;

  /** The width that a column gets before optional columns are kept. */
  function roomy(column: Laid): number {
    return column.is === undefined ? COMFORTABLE_COLUMNS : column.width;
  }
}

function cutCell(text: string): string {
  if (text.length <= MAX_CELL_CHARS) return text;
  // Without half a surrogate pair at the end.
  return `${text.slice(0, MAX_CELL_CHARS - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

function pad({ text, taken }: Cell, { width, right }: Laid, last: boolean): string {
  const fits = taken <= width;
  const shown = fits ? text : cutText(text, width);
  const blanks = " ".repeat(Math.max(0, width - (fits ? taken : textWidth(shown))));
  return right ? blanks + shown : last ? shown : shown + blanks;
}
