/**
 * The report of `jobs push --bulk`: counts of lines, and messages about invalid ones.
 *
 * @module
 */
import type { PushResult } from "../../client/client.ts";
import { meantOption } from "../../job/option_names.ts";
import { number } from "../../text/format.ts";
import { printError } from "../terminal/output.ts";
import type { LongWork } from "../terminal/progress.ts";

/** This many invalid lines are named; the rest are counted. */
const MAX_NAMED = 20;

/** Counts lines, and reports invalid ones. */
export class BulkReport {
  stored = 0;
  /** The first invalid line, with `--on-error stop`. */
  stopsAt: number | undefined;
  #rejected = 0;
  #duplicates = 0;
  #throttled = 0;
  readonly #warned = new Set<string>();
  readonly #work: LongWork;
  readonly #onError: "skip" | "stop";

  constructor(work: LongWork, onError: "skip" | "stop") {
    this.#work = work;
    this.#onError = onError;
  }

  /** Whether the first invalid line ends the push. */
  get stops(): boolean {
    return this.#onError === "stop";
  }

  /** Reports an invalid line; returns whether to continue. */
  reject(line: number, why: string): boolean {
    if (++this.#rejected <= MAX_NAMED) this.#print(`jobs: line ${line} is invalid: ${why}`);
    if (this.#onError === "skip") return true;
    this.stopsAt ??= line;
    return false;
  }

  /** Warns once about a field that is nearly an option. It stays in the payload. */
  warn(line: number, fields: readonly string[]): void {
    for (const field of fields) {
      if (this.#warned.has(field) || field === "class" || field === "args") continue;
      const meant = this.#warned.size < MAX_NAMED ? meantOption(field, "push") : undefined;
      if (meant === undefined) continue;
      this.#warned.add(field);
      this.#print(
        `jobs: line ${line}: unknown option "${field}" is kept in the payload; did you mean "${meant}"?`,
      );
    }
  }

  /** Counts the results of a batch with these line numbers. */
  add(results: readonly PushResult[], lines: readonly number[]): void {
    results.forEach((result, i) => {
      if (result.kind === "duplicate") this.#duplicates++;
      else if (result.kind === "throttled") this.#throttled++;
      else if (result.kind === "refused") this.reject(lines[i]!, result.refused);
      else this.stored++;
    });
  }

  /** Prints the totals; returns the exit code. */
  end(file: string, last: number, failure: { readonly cause: unknown; readonly line: number } | undefined): number {
    if (this.#duplicates > 0) printError(`jobs: skipped ${countLines(this.#duplicates)} as duplicates`);
    if (this.#throttled > 0) printError(`jobs: skipped ${countLines(this.#throttled)} as throttled`);
    if (failure !== undefined) {
      const why = failure.cause instanceof Error ? failure.cause.message : String(failure.cause);
      printError(
        `jobs: stopped at line ${failure.line}: ${why}; ${countLines(this.stored)} before it stored`,
      );
    } else if (this.stopsAt !== undefined) {
      printError(
        `jobs: stopped at line ${this.stopsAt}: ${countLines(this.stored)} stored, none from line ${
          Math.max(this.stopsAt, last + 1)
        } on`,
      );
    } else if (this.#rejected > 0) {
      const unnamed = this.#rejected > MAX_NAMED ? `; the first ${MAX_NAMED} are named above` : "";
      printError(
        `jobs: ${countLines(this.#rejected)} invalid${unnamed}; ${
          countLines(this.stored)
        } stored. Push only the invalid ones again`,
      );
    } else if (this.stored + this.#duplicates + this.#throttled === 0 && !this.#work.signal.aborted) {
      printError(`jobs: nothing to push: ${file === "-" ? "standard input" : file} has no lines`);
    }
    return failure === undefined && this.#rejected === 0 ? 0 : 1;
  }

  #print(text: string): void {
    this.#work.clear();
    printError(text);
  }
}

/** Returns `1 line`, `2,000 lines`. */
export function countLines(count: number): string {
  return count === 1 ? "1 line" : `${number(count)} lines`;
}
