/**
 * Lines of styled text for a screen: cut to a width, and harmless. Everything that is shown goes through
 * {@linkcode paintLine}: what jobs bring along may be hostile to a terminal.
 *
 * @module
 */
import { blankControls } from "../terminal/output.ts";
import { cutText, textWidth, wrapText } from "../terminal/text_width.ts";

/** What a piece of text means to the reader. */
export type Style = "title" | "dim" | "good" | "warn" | "bad" | "chosen";

/** A piece of text, and how it is shown. */
export type Span = readonly [text: string, style?: Style | undefined];

/** One line of the screen. */
export type Line = readonly Span[];

/** How each style looks, as the parameters of the terminal's SGR sequence. */
export type Palette = Readonly<Partial<Record<Style, string>>>;

/** On a terminal with colours. */
export const COLOURS: Palette = { title: "1", dim: "2", good: "32", warn: "33", bad: "31", chosen: "7" };
/** Where NO_COLOR is set: brightness alone. */
export const NO_COLOURS: Palette = { title: "1", chosen: "7" };
/** For what is no terminal. */
export const NOTHING: Palette = {};

/** A payload may be megabytes, and the screen wraps all lines of a text at each key. */
const MAX_LINE_CHARS = 20_000;
const MAX_TEXT_CHARS = 200_000;
const MAX_LINES = 5_000;

/** The text without what moves a cursor, hides or reverses text. */
export function harmless(text: string): string {
  return blankControls(text).replace(/[\p{Cf}\p{Cs}\p{Co}]/gu, " ");
}

/** At most `width` columns of it, harmless; `…` stands for the rest. */
function cutTo(text: string, width: number): string {
  // What combines takes no column, and a job may bring any amount of it: nothing legible has more than this.
  return width <= 0 ? "" : cutText(harmless(text.slice(0, width * 8)), width);
}

/** Exactly `width` columns of it: cut, or filled with spaces. */
export function fitTo(text: string, width: number, right = false): string {
  const cut = cutTo(text, width);
  const fill = " ".repeat(Math.max(0, width - textWidth(cut)));
  return right ? fill + cut : cut + fill;
}

/** The text as lines of at most `width` columns. */
export function wrapTo(text: string, width: number): string[] {
  return wrapText(harmless(text), width);
}

/** What to write for the line; its text takes at most `width` columns. */
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

/** Returns the lines of a text, long ones cut, up to 200,000 characters and 5,000 lines; the last line tells what is missing. */
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
