/**
 * Widths of texts on a terminal: measuring, cutting, wrapping. Uses Unicode's classes instead of its table of widths; a
 * character of ambiguous width counts as one column.
 *
 * @module
 */

/** Characters without a width: combining marks, joiners and variation selectors. */
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
/** Characters two columns wide: East Asian scripts, full-width forms, emoji. */
const WIDE =
  /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Bopomofo}\p{sc=Yi}\p{Emoji_Presentation}\u3000-\u303e\u30fb\u30fc\uff01-\uff60\uffe0-\uffe6]$/u;
/** Half-width forms of wide characters. */
const HALF = /^[\uff61-\uffdc]$/u;
/** Texts of which each character is one column wide. */
const PLAIN = /^[ -~·–—…]*$/;

/** Shared: creating one takes longer than measuring a cell. The first takes 15 ms, so that it is created when it is needed. */
let segmenter: Intl.Segmenter | undefined;

/** Returns the width of a text in columns. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const segment of graphemes(text)) width += segmentWidth(segment);
  return width;
}

/** Returns the text cut to `width` columns, with `…` at the end if it was cut. */
export function cutText(text: string, width: number): string {
  if (PLAIN.test(text)) return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
  let cut = "";
  let used = 0;
  for (const segment of graphemes(text)) {
    used += segmentWidth(segment);
    if (used > width) return `${cut}…`;
    if (used < width) cut += segment;
  }
  return text;
}

/** Breaks a text into lines of at most `width` columns. A wider character gets a separate line. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  let used = 0;
  for (const segment of graphemes(text)) {
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

function* graphemes(text: string): Iterable<string> {
  if (PLAIN.test(text)) return yield* text;
  segmenter ??= new Intl.Segmenter();
  for (const { segment } of segmenter.segment(text)) yield segment;
}

/** A grapheme, such as an emoji of a family, is as wide as its widest character. */
function segmentWidth(segment: string): number {
  let width = 0;
  for (const character of segment) {
    if (character === "\ufe0f") return 2; // shown as an emoji
    if (!ZERO_WIDTH.test(character)) width = Math.max(width, WIDE.test(character) && !HALF.test(character) ? 2 : 1);
  }
  return width;
}
