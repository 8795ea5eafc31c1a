/**
 * How many columns of a terminal a text takes, cutting it to so many, and breaking it into lines. By the classes of Unicode rather than by its
 * table of widths: an ambiguous character counts as one.
 *
 * @module
 */

/** Takes no column of its own: what combines, joins, or selects a variant. */
const NOTHING = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
/** Takes two: what East Asia writes, its full-width forms, and pictures. */
const WIDE =
  /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Bopomofo}\p{sc=Yi}\p{Emoji_Presentation}\u3000-\u303e\u30fb\u30fc\uff01-\uff60\uffe0-\uffe6]$/u;
/** The half-width forms of what is wide otherwise. */
const HALF = /^[\uff61-\uffdc]$/u;
/** Nothing but these, and every character takes one. */
const PLAIN = /^[ -~]*$/;

/** Making one takes longer than measuring a cell. */
const SEGMENTER = new Intl.Segmenter();

/** How many columns a text takes. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of SEGMENTER.segment(text)) width += segmentWidth(segment);
  return width;
}

/** The text, cut to so many columns, with an `…` where something is missing. */
export function cutText(text: string, width: number): string {
  if (PLAIN.test(text)) return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
  let cut = "";
  let used = 0;
  for (const { segment } of SEGMENTER.segment(text)) {
    used += segmentWidth(segment);
    if (used > width) return `${cut}…`;
    if (used < width) cut += segment;
  }
  return text;
}

/** The text as lines of at most so many columns; what is wider than a line by itself has one of its own. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  let used = 0;
  for (const { segment } of SEGMENTER.segment(text)) {
    const more = segmentWidth(segment);
    if (used + more > width && line !== "") {
      lines.push(line);
      [line, used] = ["", 0];
    }
    line += segment;
    used += more;
  }
  return [...lines, line];
}

/** What is seen as one character, a family of four also, is as wide as its widest part. */
function segmentWidth(segment: string): number {
  let width = 0;
  for (const character of segment) {
    if (character === "\ufe0f") return 2; // as a picture
    if (!NOTHING.test(character)) width = Math.max(width, WIDE.test(character) && !HALF.test(character) ? 2 : 1);
  }
  return width;
}
