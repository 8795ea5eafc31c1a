/**
 * Draws frames of a terminal as an animated SVG without scripts and fonts, so that it plays within an image.
 *
 * @module
 */

/** A piece of a line in one style. */
interface Piece {
  readonly text: string;
  readonly column: number;
  /** The SGR parameters in force, such as `1` or `32`. */
  readonly styles: readonly string[];
}

/** How frames are drawn. */
export interface AnimationOptions {
  readonly columns: number;
  readonly rows: number;
  /** How long each frame is shown, in milliseconds. */
  readonly frameMs: number;
  /** Read by screen readers. */
  readonly title: string;
}

const CELL_PX = 8.4;
const LINE_PX = 19;
const PADDING_PX = 14;
const COLORS: Readonly<Record<string, string>> = { "31": "#ff8f88", "32": "#6fd08f", "33": "#eab65c" };

/** The styles that an SGR parameter ends. */
const ENDS: Readonly<Record<string, RegExp>> = { "22": /^[12]$/, "27": /^7$/, "39": /^3\d$/, "49": /^4\d$/ };

/** Returns the pieces of a line of terminal output. Sequences other than SGR are not expected. */
export function readLine(line: string): Piece[] {
  const pieces: Piece[] = [];
  let styles: string[] = [];
  let column = 0;
  // deno-lint-ignore no-control-regex
  for (const part of line.trimEnd().split(/(\x1b\[[\d;]*m)/)) {
    if (part.startsWith("\x1b[")) {
      for (const code of part.slice(2, -1).split(";")) {
        const ended = ENDS[code];
        styles = code === "" || code === "0"
          ? []
          : ended !== undefined
          ? styles.filter((style) => !ended.test(style))
          : [...styles, code];
      }
      continue;
    }
    if (part !== "") pieces.push({ text: part, column, styles });
    column += [...part].length;
  }
  return pieces.filter(({ text, styles }) => text.trim() !== "" || styles.includes("7"));
}

/** Returns the SVG. Each distinct line is drawn once; the frames stand side by side, and one step at a time is shown. */
export function animate(frames: readonly string[], { columns, rows, frameMs, title }: AnimationOptions): string {
  const width = Math.ceil(columns * CELL_PX) + 2 * PADDING_PX;
  const height = rows * LINE_PX + 2 * PADDING_PX;
  const lines = new Map<string, number>();
  const films = frames.map((frame, i) => {
    const uses = frame.split("\n").slice(0, rows).map((line, row) => {
      if (line.trim() === "") return "";
      if (!lines.has(line)) lines.set(line, lines.size);
      return `<use href="#l${lines.get(line)}" y="${row * LINE_PX}"/>`;
    });
    return `<svg x="${i * width}" width="${width}">${uses.join("")}</svg>`;
  });
  const defs = [...lines].map(([line, id]) => `<g id="l${id}">${readLine(line).map(drawPiece).join("")}</g>`);
  const seconds = frames.length * frameMs / 1_000;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escapeXml(title)}</title>
<style>
text{font:14px ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e8eaee;white-space:pre}
.b{font-weight:700}.d{fill:#9aa1ad}.i{fill:#15181e}
.film{animation:play ${seconds}s steps(${frames.length}) infinite}
@keyframes play{to{transform:translateX(-${frames.length * width}px)}}
@media (prefers-reduced-motion:reduce){.film{animation:none}}
</style>
<rect width="${width}" height="${height}" rx="8" fill="#101114"/>
<defs>${defs.join("\n")}</defs>
<g class="film">${films.join("\n")}</g>
</svg>
`;
}

function drawPiece({ text, column, styles }: Piece): string {
  const isInverse = styles.includes("7");
  const lead = isInverse ? 0 : text.length - text.trimStart().length;
  const shown = isInverse ? text : text.trim();
  const cells = [...shown].length;
  const x = number(PADDING_PX + (column + lead) * CELL_PX);
  const width = number(cells * CELL_PX);
  const color = styles.map((style) => COLORS[style]).findLast((found) => found !== undefined);
  const classes = [styles.includes("1") && "b", styles.includes("2") && "d", isInverse && "i"].filter(Boolean).join(
    " ",
  );
  const back = isInverse
    ? `<rect x="${x}" y="${PADDING_PX}" width="${width}" height="${LINE_PX}" fill="${color ?? "#c9cdd6"}"/>`
    : "";
  const attributes = `${classes && ` class="${classes}"`}${
    color && !isInverse ? ` fill="${color}" style="fill:${color}"` : ""
  }`;
  return `${back}<text x="${x}" y="${PADDING_PX + 14}" textLength="${width}"${attributes}>${escapeXml(shown)}</text>`;
}

function number(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
