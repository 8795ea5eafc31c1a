/**
 * The logger, and the only place that prints.
 *
 *  1. `logger(name)` gives each part its {@linkcode Log}, on LogTape's category `["jobs", name]`. A program that embeds
 *     this library and configures LogTape itself gets the records there.
 *  2. `openLog` is what the executable does: it configures LogTape with one sink, a file or stderr, pretty or JSON.
 *  3. The sink can be told to reopen its file (after logrotate moved it), and loses no line over it.
 *
 * @module
 */
import { configureSync, getLogger, type Logger, type LogLevel as TapeLevel, type LogRecord } from "@logtape/logtape";
import { type Clock, systemClock } from "./clock.ts";
import { formatJson, formatPretty, type LogLevel } from "./log_format.ts";

export { LOG_LEVELS, type LogLevel } from "./log_format.ts";

/** Fields of a log line; the text beside them stays constant. */
export type LogFields = Readonly<Record<string, unknown>>;

/** What each part logs through. */
export interface Log {
  /** For whoever looks for a fault. */
  debug(message: string, fields?: LogFields): void;
  /** What happens. */
  info(message: string, fields?: LogFields): void;
  /** What ought not to happen, and can be lived with. */
  warn(message: string, fields?: LogFields): void;
  /** What somebody must look at. */
  error(message: string, fields?: LogFields): void;
  /** Whether a line of this level would be written: ask before building costly fields. */
  enabled(level: LogLevel): boolean;
  /** The same log with these fields on every line. */
  with(fields: LogFields): Log;
}

/** The log of the part called `name`. */
export function logger(name: string, clock: Clock = systemClock): Log {
  return new TapeLog(getLogger(["jobs", name]), clock, {});
}

const TAPE_LEVELS: Record<LogLevel, TapeLevel> = { debug: "debug", info: "info", warn: "warning", error: "error" };

class TapeLog implements Log {
  readonly #tape: Logger;
  readonly #clock: Clock;
  readonly #fields: LogFields;

  constructor(tape: Logger, clock: Clock, fields: LogFields) {
    this.#tape = tape;
    this.#clock = clock;
    this.#fields = fields;
  }

  debug(message: string, fields?: LogFields): void {
    this.#emit("debug", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#emit("info", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#emit("warn", message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#emit("error", message, fields);
  }

  enabled(level: LogLevel): boolean {
    return this.#tape.isEnabledFor(TAPE_LEVELS[level]);
  }

  with(fields: LogFields): Log {
    return new TapeLog(this.#tape, this.#clock, { ...this.#fields, ...fields });
  }

  /** Past LogTape's message templates: what a handler logs may contain braces. */
  #emit(level: LogLevel, message: string, fields: LogFields | undefined): void {
    if (!this.enabled(level)) return;
    this.#tape.emit({
      level: TAPE_LEVELS[level],
      message: [message],
      rawMessage: message,
      timestamp: this.#clock.now(),
      properties: fields === undefined ? this.#fields : { ...this.#fields, ...fields },
    });
  }
}

/** Where log lines go, and how they look. */
export interface LogOptions {
  /** Lines below it are not written; default `info`. */
  readonly level?: LogLevel;
  /** `auto` (default): pretty on a terminal, JSON elsewhere. */
  readonly format?: "auto" | "pretty" | "json";
  /** A file to append to; default stderr. */
  readonly file?: string | undefined;
}

/** The opened log of the executable. */
export interface LogControl extends Disposable {
  /** Changes the level of everything from now on. */
  setLevel(level: LogLevel): void;
  /** Writes what is buffered, then opens the file anew: what logrotate needs. Without a file it only writes. */
  reopen(): void;
  /** Writes what is buffered. */
  flush(): void;
}

/**
 * Sends everything that is logged to a file or stderr.
 *
 * @throws {Deno.errors.PermissionDenied} and other errors of opening the file
 */
export function openLog(options: LogOptions = {}): LogControl {
  const output = new LogOutput(options.file);
  const terminal = options.file === undefined && Deno.stderr.isTerminal();
  const pretty = options.format === "pretty" || ((options.format ?? "auto") === "auto" && terminal);
  const color = terminal && pretty && !Deno.noColor;
  const sink = (record: LogRecord) => {
    const line = {
      time: record.timestamp,
      level: record.level === "warning" ? "warn" : record.level as LogLevel,
      name: record.category.slice(1).join("."),
      message: String(record.message[0]),
      fields: record.properties,
    };
    output.write(pretty ? formatPretty(line, color) : formatJson(line));
  };
  const setLevel = (level: LogLevel) =>
    configureSync({
      reset: true,
      sinks: { output: sink },
      loggers: [
        { category: ["jobs"], sinks: ["output"], lowestLevel: TAPE_LEVELS[level] },
        { category: ["logtape", "meta"], sinks: ["output"], lowestLevel: "error" },
      ],
    });
  setLevel(options.level ?? "info");
  return {
    setLevel,
    reopen: () => output.reopen(),
    flush: () => output.flush(),
    [Symbol.dispose]: () => output.close(),
  };
}

/** Buffered lines are written at once beyond this many characters. */
const BUFFER_LIMIT = 64 * 1024;

/** Collects the lines of one turn of the event loop and writes them in one call. */
class LogOutput {
  readonly #path: string | undefined;
  readonly #encoder = new TextEncoder();
  #file: Deno.FsFile | undefined;
  #buffer = "";
  #scheduled = false;
  /** Lines that could not be written since the last one that could. */
  #lost = 0;

  constructor(path: string | undefined) {
    this.#path = path;
    this.#file = this.#open();
  }

  write(line: string): void {
    this.#buffer += line + "\n";
    if (this.#buffer.length > BUFFER_LIMIT) return this.flush();
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => this.flush());
  }

  flush(): void {
    this.#scheduled = false;
    if (this.#buffer === "") return;
    const text = this.#buffer;
    this.#buffer = "";
    try {
      if (this.#lost > 0) {
        this.#writeAll(`{"level":"error","name":"log","msg":"Log lines lost","count":${this.#lost}}\n`);
      }
      this.#lost = 0;
      this.#writeAll(text);
    } catch {
      // A full disk or a closed pipe: the jobs matter more than their log. Counted, and said when it works again.
      this.#lost += text.split("\n").length - 1;
    }
  }

  /** Opens the new file before closing the old one: if that fails, the old one goes on. */
  reopen(): void {
    this.flush();
    const old = this.#file;
    this.#file = this.#open();
    old?.close();
  }

  close(): void {
    this.flush();
    this.#file?.close();
    this.#file = undefined;
  }

  #open(): Deno.FsFile | undefined {
    return this.#path === undefined
      ? undefined
      : Deno.openSync(this.#path, { append: true, create: true, mode: 0o640 });
  }

  #writeAll(text: string): void {
    const out = this.#file ?? Deno.stderr;
    let bytes = this.#encoder.encode(text);
    while (bytes.length > 0) {
      const written = out.writeSync(bytes);
      bytes = bytes.subarray(written);
    }
  }
}
