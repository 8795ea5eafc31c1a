/**
 * The batches of `jobs push --bulk`: lines of a file, parsed into jobs that are stored together.
 *
 * @module
 */
import type { JobRequest } from "../../client/client.ts";
import { jsonArgs, parseJobText } from "../../job/json_args.ts";
import { argsText, prepare } from "../../job/payload.ts";
import { UsageError } from "../terminal/errors.ts";
import { readLines } from "./push_lines.ts";
import type { BulkReport } from "./push_report.ts";

/** As many jobs as the client stores at once. */
const BATCH_LINES = 1_000;
/** The characters of a batch's lines. A batch ends with the line that reaches it. */
const BATCH_CHARS = 4 * 1024 * 1024;

/** Jobs that are pushed together: any, or jobs of one class with the same options, which are built faster. */
type BatchJobs =
  | { readonly class: string; readonly args: readonly (readonly unknown[])[] }
  | { readonly requests: readonly JobRequest[] };

/** Lines that are pushed together. */
export interface Batch {
  /** The line numbers of the jobs, from 1. */
  readonly lines: readonly number[];
  readonly jobs: BatchJobs;
  /** The last line that was read. */
  readonly last: number;
  /** The share of the file that was read by then, from 0 to 1; undefined if its size is unknown. */
  readonly share: number | undefined;
}

/** Yields batches of the valid lines; invalid ones are reported. */
export async function* parseBatches(
  file: string,
  base: Partial<JobRequest>,
  report: BulkReport,
  signal: AbortSignal,
): AsyncGenerator<Batch, undefined> {
  let line = 0;
  let batch = new BatchBuilder(base);
  let chars = 0;
  const finish = (share: number | undefined): Batch => ({ lines: batch.lines, jobs: batch.jobs(), last: line, share });
  for await (const { texts, share } of readLines(file, signal)) {
    for (const text of texts) {
      line++;
      if (text?.trim() === "") continue;
      if (!(text === undefined ? report.reject(line, "it isn't UTF-8 text") : parseInto(batch, text, line, report))) {
        if (batch.lines.length > 0) yield { ...finish(share), last: line - 1 };
        return undefined;
      }
      chars += text?.length ?? 0;
      if (batch.lines.length < BATCH_LINES && chars < BATCH_CHARS) continue;
      yield finish(share);
      [batch, chars] = [new BatchBuilder(base), 0];
    }
  }
  if (batch.lines.length > 0 && !signal.aborted) yield finish(1);
  return undefined;
}

/** Collects the jobs of a batch: as arguments of one class until a job has another class or separate options. */
class BatchBuilder {
  readonly lines: number[] = [];
  readonly #base: Partial<JobRequest>;
  readonly #args: (readonly unknown[])[] = [];
  #class: string | undefined;
  #requests: JobRequest[] | undefined;

  constructor(base: Partial<JobRequest>) {
    this.#base = base;
  }

  /** Adds arguments for a class; default: the class of the command line. */
  addArgs(line: number, args: readonly unknown[], name: string | undefined = this.#base.class): void {
    if (name === undefined) throw new UsageError("an array of arguments, but no CLASS on the command line");
    if (this.#requests === undefined && (this.#class ?? name) === name) {
      this.#class = name;
      this.#args.push(args);
      this.lines.push(line);
    } else this.add(line, { ...this.#base, class: name, args });
  }

  /** Returns the job of an object's fields. */
  requestOf(fields: Record<string, unknown>): JobRequest {
    return { ...this.#base, ...fields } as JobRequest;
  }

  /** Adds a job with any options. */
  add(line: number, request: JobRequest): void {
    this.#requests ??= this.#args.map((args) => ({ ...this.#base, class: this.#class!, args }));
    this.#requests.push(request);
    this.lines.push(line);
  }

  jobs(): BatchJobs {
    return this.#requests === undefined ? { class: this.#class!, args: this.#args } : { requests: this.#requests };
  }
}

/** Adds the job of a line to a batch. Returns false if the push ends at this line. */
function parseInto(batch: BatchBuilder, text: string, line: number, report: BulkReport): boolean {
  try {
    if (/^\s*\[/.test(text)) {
      batch.addArgs(line, jsonArgs(text));
      return true;
    }
    const fields = parseObject(text);
    const names = Object.keys(fields);
    if (names.length === 2 && typeof fields["class"] === "string" && Array.isArray(fields["args"]) && !report.stops) {
      batch.addArgs(line, fields["args"], fields["class"]);
      return true;
    }
    const request = batch.requestOf(fields);
    if (report.stops) check(request);
    report.warn(line, names);
    batch.add(line, request);
    return true;
  } catch (error) {
    return report.reject(line, (error as Error).message);
  }
}

/** Rejects now what the push would reject later, when following lines of the batch are already stored. */
function check(request: JobRequest): void {
  prepare(request);
  if (request.args !== undefined) argsText(request.args);
}

function parseObject(text: string): Record<string, unknown> {
  const value = parseJobText(text);
  if (typeof value !== "object" || value === null) {
    throw new UsageError(
      `expected an array of arguments, or an object with class and args; found ${text.slice(0, 40)}`,
    );
  }
  return value as Record<string, unknown>;
}
