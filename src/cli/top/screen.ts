/**
 * The terminal while it is ours: the alternate screen, raw keys, and giving both back whatever happens.
 *
 * @module
 */
import { onSignals } from "../../server/control/signals.ts";
import { draw } from "../terminal/output.ts";
import { type Line, paintLine, type Palette } from "./text.ts";

// Alternate screen; no cursor; lines do not wrap, so that one whose width a terminal sees otherwise than we do harms no
// other; what is pasted is marked as such.
const ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[2J";
const LEAVE = "\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l";
// Terminals that know these show all of it at once; others pass over them.
const BEGIN = "\x1b[?2026h";
const END = "\x1b[?2026l";

/** What a terminal that does not know its size is taken for. */
const USUAL = { columns: 80, rows: 24 };

/** What the screen tells. */
export interface ScreenEvents {
  /** Everything must be drawn again, perhaps in another size. */
  changed(): void;
  /** Somebody asked the process to end. */
  ended(): void;
}

/** The screen. Given back when disposed, when the process is stopped and continued, and when an error ends it. */
export class Screen implements Disposable {
  readonly #palette: Palette;
  readonly #signals: Disposable;
  /** What is drawn, line by line. */
  #drawn: string[] = [];
  #ours = false;

  constructor(palette: Palette, events: ScreenEvents) {
    this.#palette = palette;
    this.#signals = onSignals({
      SIGINT: events.ended,
      SIGTERM: events.ended,
      SIGHUP: events.ended,
      SIGQUIT: events.ended,
      SIGWINCH: () => this.#again(events),
      SIGTSTP: () => this.suspend(),
      SIGCONT: () => {
        // The shell had the terminal meanwhile, whether we gave it back or were stopped without warning.
        this.#leave();
        this.#enter();
        this.#again(events);
      },
    });
    globalThis.addEventListener("error", this.#leave);
    globalThis.addEventListener("unhandledrejection", this.#leave);
    this.#enter();
  }

  /** How large it is now. */
  get size(): { readonly columns: number; readonly rows: number } {
    try {
      const { columns, rows } = Deno.consoleSize();
      return columns > 0 && rows > 0 ? { columns, rows } : USUAL;
    } catch {
      return USUAL;
    }
  }

  /** Shows these lines: writes those that are others than before, all in one. */
  show(lines: readonly Line[]): void {
    if (!this.#ours) return;
    const { columns } = this.size;
    const painted = lines.map((line) => paintLine(line, columns, this.#palette));
    const before = this.#drawn;
    const gone = Array.from({ length: Math.max(0, before.length - painted.length) }, () => "");
    const changed = [...painted, ...gone].map((line, i) => line === before[i] ? "" : `\x1b[${i + 1};1H\x1b[K${line}`);
    this.#drawn = painted;
    const all = changed.join("");
    if (all !== "") draw(BEGIN + all + END);
  }

  /** Forgets what is drawn: the next time, everything is. */
  forget(): void {
    this.#drawn = [];
    if (this.#ours) draw("\x1b[2J");
  }

  /** Gives the terminal back and stops the process, as Ctrl-Z does; SIGCONT takes it again. */
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
    this.#ours = true;
    this.#drawn = [];
    draw(ENTER);
  }

  readonly #leave = (): void => {
    if (!this.#ours) return;
    this.#ours = false;
    try {
      draw(LEAVE);
      Deno.stdin.setRaw(false);
    } catch {
      // The terminal is gone: there is nothing to give back.
    }
  };

  #again(events: ScreenEvents): void {
    try {
      this.forget();
      events.changed();
    } catch {
      events.ended(); // the terminal is gone
    }
  }
}
