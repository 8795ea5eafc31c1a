/**
 * The terminal while `jobs top` uses it: the alternate screen and raw keys. Both are given back however it ends.
 *
 * @module
 */
import { onSignals } from "../../server/control/signals.ts";
import { draw } from "../terminal/output.ts";
import { type Line, paintLine, type Palette } from "./text.ts";

// Alternate screen, no cursor, bracketed paste. Lines don't wrap: a terminal may measure a line wider than we do, and it
// must not push the other lines down.
const ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[2J";
const LEAVE = "\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l";
// Synchronized output: terminals that support it show a frame in one step, others ignore the sequences.
const BEGIN = "\x1b[?2026h";
const END = "\x1b[?2026l";

/** The size of a terminal that doesn't report one. */
const DEFAULT_SIZE = { columns: 80, rows: 24 };

/** The events of a screen. */
export interface ScreenEvents {
  /** The screen was cleared, perhaps because its size changed, and has to be drawn again. */
  cleared(): void;
  /** A signal asked the process to end, or the terminal was closed. */
  ended(): void;
}

/** The screen. It gives the terminal back when disposed, when the process is suspended, and when an error ends it. */
export class Screen implements Disposable {
  readonly #palette: Palette;
  readonly #signals: Disposable;
  /** The lines on the terminal. */
  #drawn: string[] = [];
  #isEntered = false;

  constructor(palette: Palette, events: ScreenEvents) {
    this.#palette = palette;
    this.#signals = onSignals({
      SIGINT: events.ended,
      SIGTERM: events.ended,
      SIGHUP: events.ended,
      SIGQUIT: events.ended,
      SIGWINCH: () => this.#redraw(events),
      SIGTSTP: () => this.suspend(),
      SIGCONT: () => {
        // The shell has used the terminal, even if SIGSTOP left no time to give it back.
        this.#leave();
        this.#enter();
        this.#redraw(events);
      },
    });
    globalThis.addEventListener("error", this.#leave);
    globalThis.addEventListener("unhandledrejection", this.#leave);
    this.#enter();
  }

  get size(): { readonly columns: number; readonly rows: number } {
    try {
      const { columns, rows } = Deno.consoleSize();
      return columns > 0 && rows > 0 ? { columns, rows } : DEFAULT_SIZE;
    } catch {
      return DEFAULT_SIZE;
    }
  }

  /** Shows these lines. Writes only the changed ones, in one write. */
  show(lines: readonly Line[]): void {
    if (!this.#isEntered) return;
    const { columns } = this.size;
    const painted = lines.map((line) => paintLine(line, columns, this.#palette));
    const before = this.#drawn;
    const removed = Array.from({ length: Math.max(0, before.length - painted.length) }, () => "");
    const changed = [...painted, ...removed].map((line, i) =>
      line === before[i] ? "" : `\x1b[${i + 1};1H\x1b[K${line}`
    );
    this.#drawn = painted;
    const all = changed.join("");
    if (all !== "") draw(BEGIN + all + END);
  }

  /** Clears the screen. The next {@linkcode show} writes all lines. */
  clear(): void {
    this.#drawn = [];
    if (this.#isEntered) draw("\x1b[2J");
  }

  /** Gives the terminal back and stops the process, as Ctrl-Z does. SIGCONT enters the screen again. */
  suspend(): void {
    this.#leave();
    Deno.kill(Deno.pid, "SIGSTOP");
  }

  [Symbol.dispose](): void {
    this.#signals[Symbol.dispose]();
    globalThis.removeEventListener("error", this.#leave);
    globalThis.removeEventListener("unhandledrejection", this.#leave);
    this.#leave();
  }

  #enter(): void {
    Deno.stdin.setRaw(true);
    this.#isEntered = true;
    this.#drawn = [];
    draw(ENTER);
  }

  readonly #leave = (): void => {
    if (!this.#isEntered) return;
    this.#isEntered = false;
    try {
      draw(LEAVE);
      Deno.stdin.setRaw(false);
    } catch {
      // The terminal was closed: there is nothing to give back.
    }
  };

  #redraw(events: ScreenEvents): void {
    try {
      this.clear();
      events.cleared();
    } catch {
      events.ended(); // the terminal was closed
    }
  }
}
