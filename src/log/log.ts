/**
 * The logger. No other part of the program prints.
 *
 *  1. `logger(name)` returns the {@linkcode Log} of a part, on LogTape's category `["jobs", name]`. A program that embeds
 *     this library and configures LogTape itself receives the records there.
 *  2. `openLog` configures LogTape with one sink: a file or stderr, pretty or JSON. The executable calls it, and an embedded
 *     worker unless the program has configured LogTape itself.
 *  3. The sink can reopen its file after logrotate has moved it, and loses no line.
 *  4. Logging never throws, whatever is logged and whatever happens to the disk: jobs matter more than their log.
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
import { type Clock, systemClock } from "../clock.ts";
import type { LogLevel, LogLine } from "./format.ts";
import { type LogOptions, openLines } from "./lines.ts";
import { asText, mergeFields } from "./value.ts";

export { LOG_LEVELS, type LogLevel } from "./format.ts";
export type { LogOptions } from "./lines.ts";
export { LogError } from "./output.ts";

/** Fields of a log line. The message stays constant. */
export type LogFields = Readonly<Record<string, unknown>>;

/** A log for one part of the program. */
export interface Log {
  /** Logs a detail for debugging. */
  debug(message: string, fields?: LogFields): void;
  /** Logs an event. */
  info(message: string, fields?: LogFields): void;
  /** Logs a problem that the program handles. */
  warn(message: string, fields?: LogFields): void;
  /** Logs a problem that needs attention. */
  error(message: string, fields?: LogFields): void;
  /** Returns whether a line of this level would be written. Check this before building costly fields. */
  enabled(level: LogLevel): boolean;
  /** Returns a log that adds these fields to every line. */
  with(fields: LogFields): Log;
}

/** Returns the log of a part. */
export function logger(name: string, clock: Clock = systemClock): Log {
  return new TapeLog(getLogger(["jobs", name]), clock, {});
}

const TAPE_LEVELS: Record<LogLevel, TapeLevel> = { debug: "debug", info: "info", warn: "warning", error: "error" };

const RANKS: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };

/** The last configuration of {@linkcode openLog}, and the one level that applies to all its parts. */
let own: { readonly config: unknown; readonly level: LogLevel } | undefined;

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
    // LogTape would ask each parent of the logger, twice per job.
    if (own !== undefined && getConfig() === own.config) return RANKS[level] >= RANKS[own.level];
    return this.#tape.isEnabledFor(TAPE_LEVELS[level]);
  }

  with(fields: LogFields): Log {
    return new TapeLog(this.#tape, this.#clock, mergeFields(this.#fields, fields));
  }

  /** Bypasses LogTape's message templates, because a message of a handler may contain braces. */
  #emit(level: LogLevel, message: string, more: LogFields | undefined): void {
    if (!this.enabled(level)) return;
    const text = asText(message);
    const time = this.#clock.now();
    const fields = mergeFields(this.#fields, more);
    // LogTape takes 4 µs from a record to its sinks, as long as the rest of a line. The configuration of openLog() has one sink.
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
    // LogTape copies a record that has no category.
    this.#tape.emit(record);
  }
}

/** Logs a warning; on stderr if the program has configured no log. */
export function warn(part: string, message: string, fields: LogFields): void {
  const isSilent = inspectLogger(getLogger(["jobs"])).source === "unconfigured";
  if (isSilent) console.warn(`jobs: ${message} ${JSON.stringify(fields)}`);
  else logger(part).warn(message, fields);
}

export interface LogControl extends Disposable {
  setLevel(level: LogLevel): void;
  /**
   * Writes buffered lines, then opens the file again, for logrotate. Without a file, only writes. If it can't be opened, logs that to the
   * old one, which stays in use.
   */
  reopen(): void;
  /** Writes buffered lines. */
  flush(): void;
}

/** The name of the sink of {@linkcode openLog} in LogTape's configuration. */
const SINK = "jobs";

/** A LogTape sink that also accepts a line without a LogTape record. */
interface LineSink {
  (record: LogRecord): void;
  writeLine(line: LogLine): void;
}

/** The logs that are open, each as a function that directs the lines to it: those of several workers in one program. */
const opened: (() => void)[] = [];

/** Returns whether code other than {@linkcode openLog} has configured LogTape, possibly another copy of it. */
export function isLoggingConfigured(): boolean {
  if (Object.hasOwn(getConfig()?.sinks ?? {}, SINK)) return false;
  return inspectLogger(getLogger(["jobs"])).source !== "unconfigured";
}

/**
 * Sends everything that is logged to a file or stderr.
 *
 * @throws {LogError} if the file cannot be opened
 */
export function openLog(options: LogOptions = {}): LogControl {
  const lines = openLines(options);
  const writeLine = (line: LogLine) => lines.write(line);
  const sink: LineSink = Object.assign((record: LogRecord) => writeLine(lineOf(record)), { writeLine });
  let { level = "info" } = options;
  const configure = () => {
    configureSync({
      reset: true,
      sinks: { [SINK]: sink },
      loggers: [
        { category: ["jobs"], sinks: [SINK], lowestLevel: TAPE_LEVELS[level] },
        { category: ["logtape", "meta"], sinks: [SINK], lowestLevel: "error" },
      ],
    });
    own = { config: getConfig(), level };
  };
  configure();
  opened.push(configure);
  return {
    setLevel: (changed) => {
      level = changed;
      configure();
    },
    reopen() {
      try {
        lines.reopen();
      } catch (error) {
        logger("log").error("Log file not reopened", { error: (error as Error).message });
      }
    },
    flush: () => lines.flush(),
    [Symbol.dispose]: () => {
      const index = opened.indexOf(configure);
      if (index >= 0) opened.splice(index, 1);
      // The lines of the others would go to a closed log. If this is the last one, the log stays configured.
      if (getConfig()?.sinks[SINK] === sink) opened.at(-1)?.();
      lines[Symbol.dispose]();
    },
  };
}

const LEVELS: Record<TapeLevel, LogLevel> = {
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
    level: LEVELS[record.level],
    name: nameOf(record.category),
    message: record.message.map(asText).join(""),
    fields: record.properties,
  };
}

/** Returns the name of the part that logs under a LogTape category. */
function nameOf(category: readonly string[]): string {
  return category.slice(1).join(".");
}
