/**
 * Writes log lines to a file or stderr.
 *
 *  1. The first line of a turn of the event loop is written when its microtask ends, and further lines together at the end
 *     of the turn. The first line of a handler that blocks the event loop is therefore written. `kill -9` loses the lines
 *     of one turn at most.
 *  2. Lines that cannot be written, because the disk is full or the pipe is closed, are counted. The count is logged when
 *     writing works again.
 *
 * @module
 */
import { systemClock } from "../clock.ts";
import { plain } from "./format.ts";
import { FULL_PAUSE_MS, pauseThread, writeStdout } from "./stdout.ts";

/**
 * The log cannot be opened. The message is one line for people.
 *
 * @example
 * ```ts
 * import { LogError, startServer } from "@jobs/jobs";
 *
 * const log = { file: "/dev/null/jobs.log" };
 * await startServer({ store: "sqlite::memory:", log }).catch((error) => {
 *   if (!(error instanceof LogError)) throw error;
 * });
 * ```
 */
export class LogError extends Error {
  /** `LogError`. */
  override readonly name = "LogError";
}

/** More than this many buffered characters are written at once. */
const MAX_BUFFER_CHARS = 64 * 1024;
const LINE_BREAK = 10;
const OPEN_OPTIONS: Deno.OpenOptions = { append: true, create: true, mode: 0o640 };

export class LogOutput {
  readonly #path: string | undefined;
  readonly #lostLine: (count: number) => string;
  readonly #encoder = new TextEncoder();
  #file: Deno.FsFile | undefined;
  #buffer = "";
  #scheduled = false;
  /** The number of lines lost since the last successful write. */
  #lost = 0;
  /** Whether the last write ended within a line. */
  #torn = false;
  /** Whether the process is ending. Nothing is buffered then. */
  #isEnding = false;
  readonly #onUnload = () => {
    this.#isEnding = true;
    this.flush();
  };

  /**
   * @param path undefined or `-` for stderr
   * @param lostLine returns the line that reports the number of lost lines
   * @throws {LogError} if the file cannot be opened
   */
  constructor(path: string | undefined, lostLine: (count: number) => string) {
    this.#path = fileOf(path);
    this.#lostLine = lostLine;
    this.#file = this.#open();
    globalThis.addEventListener("unload", this.#onUnload);
  }

  write(line: string): void {
    this.#buffer += line + "\n";
    if (this.#isEnding || this.#buffer.length > MAX_BUFFER_CHARS) return this.flush();
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.flush();
      void systemClock.turn().then(() => {
        this.#scheduled = false;
        this.flush();
      });
    });
  }

  flush(): void {
    if (this.#buffer === "") return;
    const text = this.#buffer;
    this.#buffer = "";
    if (this.#lost > 0 && this.#send(this.#lostLine(this.#lost) + "\n") === 0) this.#lost = 0;
    this.#lost += this.#send(text);
  }

  /** Opens the new file before closing the old one, which stays in use if that fails. */
  reopen(): void {
    this.flush();
    const old = this.#file;
    this.#file = this.#open();
    this.#torn = false;
    old?.close();
  }

  close(): void {
    globalThis.removeEventListener("unload", this.#onUnload);
    this.flush();
    this.#file?.close();
    this.#file = undefined;
  }

  #open(): Deno.FsFile | undefined {
    if (this.#path === undefined) return undefined;
    try {
      return Deno.openSync(this.#path, OPEN_OPTIONS);
    } catch (error) {
      const reason = error instanceof Deno.errors.NotFound ? "no such folder" : (error as Error).message;
      throw new LogError(`Log file "${this.#path}" cannot be opened: ${reason}`);
    }
  }

  /** Writes whole lines. Returns the number of lines that were not written whole. */
  #send(lines: string): number {
    const out = this.#file ?? Deno.stderr;
    const begin = this.#torn ? 1 : 0;
    const bytes = this.#encoder.encode(this.#torn ? "\n" + lines : lines);
    const sent = writeAll(out, bytes);
    if (sent > 0) this.#torn = bytes[sent - 1] !== LINE_BREAK;
    return bytes.subarray(Math.max(sent, begin)).reduce((lines, byte) => byte === LINE_BREAK ? lines + 1 : lines, 0);
  }
}

/** Returns the file of a log; undefined for stderr, which `-` names as it does elsewhere. */
function fileOf(path: string | undefined): string | undefined {
  return path === "-" ? undefined : path;
}

/**
 * Appends text to a file, or writes it to stderr. The calling thread doesn't wait.
 *
 * @throws {Error} if the file can't be opened, or the text can't be written
 */
export async function append(path: string | undefined, text: string): Promise<void> {
  const given = fileOf(path);
  using file = given === undefined ? undefined : await Deno.open(given, OPEN_OPTIONS);
  const out = file ?? Deno.stderr;
  const bytes = new TextEncoder().encode(text);
  for (let sent = 0; sent < bytes.length;) {
    try {
      sent += await out.write(bytes.subarray(sent));
    } catch (error) {
      if (!(error instanceof Deno.errors.WouldBlock)) throw error;
      await systemClock.sleep(FULL_PAUSE_MS);
    }
  }
}

/**
 * Writes bytes, and waits while a pipe is full, also if another process that has it made it non-blocking. Never throws.
 *
 * @returns how many were written
 */
function writeAll(out: { writeSync(bytes: Uint8Array): number }, bytes: Uint8Array): number {
  for (let sent = 0;;) {
    try {
      while (sent < bytes.length) sent += out.writeSync(bytes.subarray(sent));
      return sent;
    } catch (error) {
      if (!(error instanceof Deno.errors.WouldBlock)) return sent;
      pauseThread();
    }
  }
}

type Methods = Record<string, unknown>;
/** Deno's class of `console`, which formats every method's arguments and passes the text on. */
type ConsoleClass = new (print: (text: string, level: number) => void) => Methods;

/** From this level on, the text is for stderr: `warn`, `error`, `trace`. */
const MIN_STDERR_LEVEL = 2;
// deno-lint-ignore no-control-regex -- colors
const COLORS = /\x1b\[[\d;]*m/g;

/**
 * The console of handlers. Its output never decides about a job: a line that cannot be written, because the disk is full or
 * the terminal is closed, is dropped. Lines are sanitised as those of the log are, and have no colors.
 *
 * Makes the global console write to the streams of this process without throwing.
 */
export function guardConsole(): void {
  const internal = (Deno as unknown as Record<symbol, { readonly Console?: ConsoleClass } | undefined>)[
    (Deno as unknown as { readonly internal: symbol }).internal
  ];
  if (internal?.Console === undefined) return;
  const guarded = new internal.Console((text, level) =>
    print(level >= MIN_STDERR_LEVEL, new TextEncoder().encode(sanitised(text)))
  );
  const global = globalThis.console as unknown as Methods;
  for (const name of Object.keys(global)) {
    if (typeof global[name] === "function" && typeof guarded[name] === "function") global[name] = guarded[name];
  }
}

/** Returns text whose lines control no terminal. */
function sanitised(text: string): string {
  return text.replace(COLORS, "").split("\n").map(plain).join("\n");
}

function print(isError: boolean, bytes: Uint8Array): void {
  if (isError) return void writeAll(Deno.stderr, bytes);
  try {
    writeStdout(bytes);
  } catch {
    // Dropped.
  }
}
