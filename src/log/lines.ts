/**
 * The destination and format of log lines: a file or stderr, pretty or JSON.
 *
 * @module
 */
import { getColorEnabled } from "@std/fmt/colors";
import { systemClock } from "../clock.ts";
import { formatJson, formatPretty, type LogLevel, type LogLine } from "./format.ts";
import { LogOutput } from "./output.ts";
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
export function openLines({ format: wanted = "auto", file, fields }: LogOptions): LogLines {
  const terminal = file === undefined && Deno.stderr.isTerminal();
  const pretty = wanted === "pretty" || (wanted === "auto" && terminal);
  const color = terminal && pretty && getColorEnabled();
  const format = (line: LogLine) => {
    const whole = fields === undefined ? line : { ...line, fields: mergeFields(fields, line.fields) };
    return pretty ? formatPretty(whole, color) : formatJson(whole);
  };
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
