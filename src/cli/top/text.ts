/**
 * Lines of styled text for a screen, cut to a width. All text goes through {@linkcode paintLine}, which removes control
 * characters: the texts of jobs may be hostile to a terminal.
 *
 * @module
 */
import { blankControls } from "../terminal/output.ts";
import { cutText, textWidth, wrapText } from "../terminal/text_width.ts";

/** The meaning of a piece of text. */
export type Style = "title" | "dim" | "good" | "warn" | "bad" | "chosen";

/** A piece of text with its style. */
export type Span = readonly [text: string, style?: Style | undefined];

/** One line of the screen. */
export type Line = readonly Span[];

/** The look of each style: the parameters of the terminal's SGR sequence. */
export type Palette = Readonly<Partial<Record<Style, string>>>;

/** For a terminal with colors. */
export const COLOURS: Palette = { title: "1", dim: "2", good: "32", warn: "33", bad: "31", chosen: "7" };
/** For NO_COLOR: bold and reversed text only. */
export const NO_COLOURS: Palette = { title: "1", chosen: "7" };
/** For output that isn't a terminal. */
export const NOTHING: Palette = {};

// A payload may have megabytes, and the screen wraps all lines of a text at each key.
const MAX_LINE_CHARS = 20_000;
const MAX_TEXT_CHARS = 200_000;
const MAX_LINES = 5_000;

/** Returns the text without characters that move the cursor, or hide or reverse text. */
export function harmless(text: string): string {
  return blankControls(text).replace(/[\p{Cf}\p{Cs}\p{Co}]/gu, " ");
}

/** Returns the harmless text, cut to `width` columns with `…`. */
function cutTo(text: string, width: number): string {
  // Combining characters take no column, and a text may have any number of them. Legible text has fewer than this.
  return width <= 0 ? "" : cutText(harmless(text.slice(0, width * 8)), width);
}

/** Returns the text in exactly `width` columns: cut, or padded with spaces. */
export function fitTo(text: string, width: number, right = false): string {
  const cut = cutTo(text, width);
  const fill = " ".repeat(Math.max(0, width - textWidth(cut)));
  return right ? fill + cut : cut + fill;
}

/** Returns the text as lines of at most `width` columns. */
export function wrapTo(text: string, width: number): string[] {
  return wrapText(harmless(text), width);
}

/** Returns the line as terminal output of at most `width` columns. */
export function paintLine(line: Line, width: number, palette: Palette): string {
  let painted = "";
  let left = width;
  for (const [text, style] of line) {
    if (left <= 0) break;
    const cut = cutTo(text, left);
    left -= textWidth(cut);
    const look = style && palette[style];
    painted += look && cut !== "" ? `\x1b[${look}m${cut}\x1b[0m` : cut;
  }
  return painted;
}

/**
 * Returns the lines of a text, long ones cut, up to 200,000 characters and 5,000 lines. The last line then has the number
 * of missing lines.
 */
export function boundLines(lines: readonly string[]): string[] {
  const shown: string[] = [];
  let chars = 0;
  for (const line of lines) {
    const cut = line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS)}… (${line.length} characters)` : line;
    chars += cut.length + 1;
    if (chars > MAX_TEXT_CHARS || shown.length === MAX_LINES) {
      return [...shown, `… (${lines.length - shown.length} more lines)`];
    }
    shown.push(cut);
  }
  return shown;
}
