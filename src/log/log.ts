/**
 * The logger, and the only place that prints.
 *
 *  1. `logger(name)` gives each part its {@linkcode Log}, on LogTape's category `["jobs", name]`. A program that embeds
 *     this library and configures LogTape itself gets the records there.
 *  2. `openLog` is what the executable does, and a program's server unless the program has configured LogTape itself: it
 *     configures LogTape with one sink, a file or stderr, pretty or JSON.
 *  3. The sink can be told to reopen its file (after logrotate moved it), and loses no line over it.
 *  4. Nothing here throws, whatever is logged and whatever becomes of the disk: the jobs matter more than their log.
 *
 * @module
 */
import {
  configureSync,
  getConfig,
  getLogger,
  inspectLogger,
  type Logger,
  type LogLevel as TapeLevel,
  type LogRecord,
} from "@logtape/logtape";
import { getColorEnabled } from "@std/fmt/colors";
import { type Clock, systemClock } from "../clock.ts";
import { formatJson, formatPretty, type LogLevel, type LogLine } from "./format.ts";
import { asText, mergeFields } from "./value.ts";

export { LOG_LEVELS, type LogLevel } from "./format.ts";

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
  readonly #name: string;
  readonly #clock: Clock;
  readonly #fields: LogFields;

  constructor(tape: Logger, clock: Clock, fields: LogFields) {
    this.#tape = tape;
    this.#name = nameOf(tape.category);
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
    return new TapeLog(this.#tape, this.#clock, mergeFields(this.#fields, fields));
  }

  /** Past LogTape's message templates: what a handler logs may contain braces. */
  #emit(level: LogLevel, message: string, more: LogFields | undefined): void {
    if (!this.enabled(level)) return;
    const text = asText(message);
    const time = this.#clock.now();
    const fields = mergeFields(this.#fields, more);
    // LogTape takes 4 µs, as long as the rest of a line, from a record to its sinks. Our configuration has one sink.
    const sink = getConfig()?.sinks[SINK] as LineSink | undefined;
    if (sink) return sink.writeLine({ time, level, name: this.#name, message: text, fields });
    const record: LogRecord = {
      category: this.#tape.category,
      level: TAPE_LEVELS[level],
      message: [text],
      rawMessage: text,
      timestamp: time,
      properties: fields,
    };
    // With its category, LogTape need not copy the record to add it.
    this.#tape.emit(record);
  }
}

/** Logs a warning; to stderr if the program has set up no log. */
export function warn(part: string, message: string, fields: LogFields): void {
  const isSilent = inspectLogger(getLogger(["jobs"])).source === "unconfigured";
  if (isSilent) console.warn(`jobs: ${message} ${JSON.stringify(fields)}`);
  else logger(part).warn(message, fields);
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

/** The log cannot be opened as it was asked for. The message is one line for people. */
export class LogError extends Error {
  /** Told apart by name. */
  override readonly name = "LogError";
}

/** The sink's name in LogTape's configuration, by which we know ours again. */
const SINK = "jobs";

/** Our sink: a LogTape sink that also takes a line without LogTape's record around it. */
interface LineSink {
  (record: LogRecord): void;
  writeLine(line: LogLine): void;
}

/** Whether somebody other than {@linkcode openLog} has configured LogTape, be it with a copy of it that is not ours. */
export function isLoggingConfigured(): boolean {
  if (Object.hasOwn(getConfig()?.sinks ?? {}, SINK)) return false;
  return inspectLogger(getLogger(["jobs"])).source !== "unconfigured";
}

/**
 * Sends everything that is logged to a file or stderr.
 *
 * @throws {LogError} when the file cannot be opened
 */
export function openLog(options: LogOptions = {}): LogControl {
  const terminal = options.file === undefined && Deno.stderr.isTerminal();
  const pretty = options.format === "pretty" || ((options.format ?? "auto") === "auto" && terminal);
  const color = terminal && pretty && getColorEnabled();
  const format = (line: LogLine) => pretty ? formatPretty(line, color) : formatJson(line);
  const output = new LogOutput(options.file, (count) =>
    format({
      time: systemClock.now(),
      level: "error",
      name: "log",
      message: "Log lines lost: they could not be written",
      fields: { count },
    }));
  const writeLine = (line: LogLine) => output.write(format(line));
  const sink: LineSink = Object.assign((record: LogRecord) => writeLine(lineOf(record)), { writeLine });
  const setLevel = (level: LogLevel) =>
    configureSync({
      reset: true,
      sinks: { [SINK]: sink },
      loggers: [
        { category: ["jobs"], sinks: [SINK], lowestLevel: TAPE_LEVELS[level] },
        { category: ["logtape", "meta"], sinks: [SINK], lowestLevel: "error" },
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

const OUR_LEVELS: Record<TapeLevel, LogLevel> = {
  trace: "debug",
  debug: "debug",
  info: "info",
  warning: "warn",
  error: "error",
  fatal: "error",
};

function lineOf(record: LogRecord): LogLine {
  return {
    time: record.timestamp,
    level: OUR_LEVELS[record.level],
    name: nameOf(record.category),
    message: record.message.map(asText).join(""),
    fields: record.properties,
  };
}

/** Returns the name of the part that logs under a LogTape category. */
function nameOf(category: readonly string[]): string {
  return category.slice(1).join(".");
}

/** Buffered lines are written at once beyond this many characters. */
const BUFFER_LIMIT = 64 * 1024;
const LINE_BREAK = 10;

/**
 * Writes lines in few calls: the first line of a turn of the event loop when its microtask is over, further ones
 * together when the turn is. A handler that blocks the event loop has its first line out; `kill -9` loses the lines of
 * one turn at most. Lines that cannot be written (a full disk, a closed pipe) are counted, and the count is logged when
 * writing works again.
 */
class LogOutput {
  readonly #path: string | undefined;
  readonly #sayLost: (count: number) => string;
  readonly #encoder = new TextEncoder();
  #file: Deno.FsFile | undefined;
  #buffer = "";
  #scheduled = false;
  /** Lines that could not be written since the last one that could. */
  #lost = 0;
  /** Whether what was last written ends within a line. */
  #torn = false;

  /** @param sayLost the line that says how many were lost */
  constructor(path: string | undefined, sayLost: (count: number) => string) {
    this.#path = path;
    this.#sayLost = sayLost;
    this.#file = this.#open();
  }

  write(line: string): void {
    this.#buffer += line + "\n";
    if (this.#buffer.length > BUFFER_LIMIT) return this.flush();
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
    if (this.#lost > 0 && this.#send(this.#sayLost(this.#lost) + "\n") === 0) this.#lost = 0;
    this.#lost += this.#send(text);
  }

  /** Opens the new file before closing the old one: if that fails, the old one goes on. */
  reopen(): void {
    this.flush();
    const old = this.#file;
    this.#file = this.#open();
    this.#torn = false;
    old?.close();
  }

  close(): void {
    this.flush();
    this.#file?.close();
    this.#file = undefined;
  }

  #open(): Deno.FsFile | undefined {
    if (this.#path === undefined) return undefined;
    try {
      return Deno.openSync(this.#path, { append: true, create: true, mode: 0o640 });
    } catch (error) {
      const why = error instanceof Deno.errors.NotFound ? "there is no such folder" : (error as Error).message;
      throw new LogError(`Log file "${this.#path}" cannot be opened: ${why}`);
    }
  }

  /** Writes whole lines. Returns how many of them could not be written whole. */
  #send(lines: string): number {
    const out = this.#file ?? Deno.stderr;
    const begin = this.#torn ? 1 : 0;
    const bytes = this.#encoder.encode(this.#torn ? "\n" + lines : lines);
    let sent = 0;
    try {
      while (sent < bytes.length) sent += out.writeSync(bytes.subarray(sent));
    } catch {
      // What was not sent is counted below.
    }
    if (sent > 0) this.#torn = bytes[sent - 1] !== LINE_BREAK;
    return bytes.subarray(Math.max(sent, begin)).reduce((lines, byte) => byte === LINE_BREAK ? lines + 1 : lines, 0);
  }
}
