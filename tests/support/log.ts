/**
 * A log that keeps its lines.
 *
 * @module
 */
import type { Log, LogFields, LogLevel } from "../../src/log/log.ts";

/** One line. */
export interface KeptLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

/** A log whose lines a test can read. */
export class KeptLog implements Log {
  readonly lines: KeptLine[];
  readonly #fields: LogFields;

  constructor(lines: KeptLine[] = [], fields: LogFields = {}) {
    this.lines = lines;
    this.#fields = fields;
  }

  debug(message: string, fields?: LogFields): void {
    this.#keep("debug", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#keep("info", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#keep("warn", message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#keep("error", message, fields);
  }

  enabled(): boolean {
    return true;
  }

  with(fields: LogFields): KeptLog {
    return new KeptLog(this.lines, { ...this.#fields, ...fields });
  }

  /** The messages, each after its level. */
  get said(): string[] {
    return this.lines.map(({ level, message }) => `${level} ${message}`);
  }

  #keep(level: LogLevel, message: string, fields: LogFields = {}): void {
    this.lines.push({ level, message, fields: { ...this.#fields, ...fields } });
  }
}
