/**
 * Rows under their headings, in aligned columns, fitted to the terminal. Where the output is no terminal, a cell is cut at
 * 1,000 characters: payloads may hold anything, and the widest cell of a column pads all its rows.
 *
 * On a terminal that is too narrow, first the columns go that a reader can do without, then the widest are cut, an `…` at
 * the end of what was; what may not be cut (a jid that is cut is of no use) stays whole, up to 100 columns.
 *
 * @module
 */
import { bold, green, red, yellow } from "@std/fmt/colors";
import { asText } from "../../log/value.ts";
import { blankControls, print, terminalColumns } from "./output.ts";
import { cutText, textWidth } from "./text_width.ts";

/** A column: its heading, and what may happen to it. */
export type Column = string | {
  readonly heading: string;
  /** `whole`: it is never cut; `optional`: it goes where there is no room, the last one first. */
  readonly is?: "whole" | "optional";
  /** Cells that are one of these words have its colour, on a terminal. */
  readonly colours?: Readonly<Record<string, Colour>>;
};

/** What a colour means: well, look at it, bad. */
export type Colour = "green" | "yellow" | "red";

/** The words for a state, wherever one stands in a column of its own. */
export const STATE_COLOURS: Readonly<Record<string, Colour>> = {
  ok: "green",
  done: "green",
  running: "green",
  warning: "yellow",
  quiet: "yellow",
  paused: "yellow",
  retry: "yellow",
  failed: "red",
  dead: "red",
  expired: "red",
};

/** A word for a state in its colour; it may be padded. */
export function coloured(word: string, colours: Readonly<Record<string, Colour>> = STATE_COLOURS): string {
  const name = Object.hasOwn(colours, word.trim()) ? colours[word.trim()] : undefined;
  return name === undefined ? word : PAINT[name](word);
}

const PAINT: Readonly<Record<Colour, (text: string) => string>> = { green, yellow, red };

const GAP = "  ";
/** The longest cell. `--json` prints everything. */
const MAX_CELL_CHARS = 1_000;
/** The widest cell that stays whole in a column that may not be cut. */
const MAX_WHOLE_COLUMNS = 100;
/** A column is not cut below this. */
const NARROWEST = 6;
/** Nor, before columns go that a reader can do without, below this. */
const COMFORTABLE = 16;

/**
 * Prints rows under their headings; numbers to the right.
 *
 * @param none what to print when there are no rows
 */
export function printTable(columns: readonly Column[], rows: readonly (readonly unknown[])[], none: string): void {
  if (rows.length === 0) return print(none);
  const width = terminalColumns();
  print(tableLines(columns, rows, { width: width ?? Infinity, painted: width !== undefined }).join("\n"));
}

/**
 * The lines of a table.
 *
 * @param options.width columns that there are; Infinity for no bound
 * @param options.painted with colours (none where NO_COLOR is set)
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
      right: values.every((value) => typeof value === "number"),
      width,
      least: about.is === "whole"
        ? widest(widths.filter((one) => one <= MAX_WHOLE_COLUMNS))
        : Math.min(width, NARROWEST),
    };
  });
  const laid = fit(all, width);
  const line = (cell: (column: Laid) => Cell, paint: (text: string, column: Laid) => string) =>
    laid.map((column, i) => paint(pad(cell(column), column, i === laid.length - 1), column)).join(GAP).trimEnd();
  const head = line(({ heading }) => ({ text: heading, taken: textWidth(heading) }), (text) => text);
  return [
    painted ? bold(head) : head,
    ...rows.map((_, i) =>
      line(
        ({ cells, widths }) => ({ text: cells[i]!, taken: widths[i]! }),
        (text, column) => painted ? coloured(text, column.colours ?? {}) : text,
      )
    ),
  ];
}

/** A column with what stands in it. */
interface Laid {
  readonly heading: string;
  readonly is?: "whole" | "optional";
  readonly colours?: Readonly<Record<string, Colour>>;
  readonly cells: readonly string[];
  /** How many columns of the terminal each cell takes. */
  readonly widths: readonly number[];
  readonly right: boolean;
  readonly width: number;
  /** It is not made narrower than this. */
  readonly least: number;
}

/** A text, and how many columns of the terminal it takes. */
interface Cell {
  readonly text: string;
  readonly taken: number;
}

/** Leaves columns out, then narrows others, until all have room, or no more can be done. */
function fit(columns: readonly Laid[], width: number): Laid[] {
  const widthOf = (some: readonly Laid[]) =>
    some.reduce((sum, column) => sum + column.width, GAP.length * (some.length - 1));
  let kept = [...columns];
  // Without those that a reader can do without, as long as the others would have to be cut a lot.
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

  /** What a column ought to have before others are kept that can go. */
  function roomy(column: Laid): number {
    return column.is === undefined ? COMFORTABLE : column.width;
  }
}

function cutCell(text: string): string {
  if (text.length <= MAX_CELL_CHARS) return text;
  // Without half a character at the end.
  return `${text.slice(0, MAX_CELL_CHARS - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

function pad({ text, taken }: Cell, { width, right }: Laid, last: boolean): string {
  const fits = taken <= width;
  const shown = fits ? text : cutText(text, width);
  const blanks = " ".repeat(Math.max(0, width - (fits ? taken : textWidth(shown))));
  return right ? blanks + shown : last ? shown : shown + blanks;
}
