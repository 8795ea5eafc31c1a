/**
 * The destination and format of log lines: a file or stderr, pretty or JSON.
 *
 * @module
 */
import { getColorEnabled } from "@std/fmt/colors";
import { systemClock } from "../clock.ts";
import { formatJson, formatPretty, type LogLevel, type LogLine } from "./format.ts";
import { append, LogOutput } from "./output.ts";
import { mergeFields } from "./value.ts";

/** Destination and format of the log. */
export interface LogOptions {
  /** Lines below this level are dropped. Default `info`. */
  readonly level?: LogLevel;
  /** `auto` (default): pretty on a terminal, otherwise JSON. */
  readonly format?: "auto" | "pretty" | "json";
  /** A file to append to. Default: stderr. */
  readonly file?: string | undefined;
  /** Fields of every line, before those of the line. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

export interface LogLines extends Disposable {
  write(line: LogLine): void;
  /** Writes buffered lines, then opens the file again. */
  reopen(): void;
  /** Writes buffered lines. */
  flush(): void;
}

/**
 * Opens the destination.
 *
 * @throws {LogError} if the file cannot be opened
 */
export function openLines(options: LogOptions): LogLines {
  const { file } = options;
  const format = formatterOf(options);
  const output = new LogOutput(file, (count) =>
    format({
      time: systemClock.now(),
      level: "error",
      name: "log",
      message: "Log lines lost: they could not be written",
      fields: { count },
    }));
  return {
    write: (line) => output.write(format(line)),
    reopen: () => output.reopen(),
    flush: () => output.flush(),
    [Symbol.dispose]: () => output.close(),
  };
}

/**
 * Lines of a thread that must not wait: a pipe that isn't read blocks each thread that writes to it, and often that is why the main
 * thread is blocked. A file is opened for each line: it may have been rotated. A line that can't be written is dropped.
 */
export class UnblockedLines {
  readonly #file: string | undefined;
  readonly #format: (line: LogLine) => string;
  #written: Promise<void> = Promise.resolve();

  constructor(options: LogOptions) {
    this.#file = options.file;
    this.#format = formatterOf(options);
  }

  /** Resolves when the lines until now are written. Never rejects. */
  get written(): Promise<void> {
    return this.#written;
  }

  /** Writes a line after those before it. */
  write(line: LogLine): void {
    const text = this.#format(line) + "\n";
    this.#written = this.#written.then(() => append(this.#file, text)).catch(() => {});
  }
}

function formatterOf({ format = "auto", file, fields }: LogOptions): (line: LogLine) => string {
  const terminal = file === undefined && Deno.stderr.isTerminal();
  const pretty = format === "pretty" || (format === "auto" && terminal);
  const color = terminal && pretty && getColorEnabled();
  return (line) => {
    const whole = fields === undefined ? line : { ...line, fields: mergeFields(fields, line.fields) };
    return pretty ? formatPretty(whole, color) : formatJson(whole);
  };
}
