/**
 * `jobs push --bulk`: a job for each line of a file.
 *
 * Lines are stored in batches, and the next batch is read and parsed while one is stored. At most two batches are in memory.
 *
 * @module
 */
import { BulkInterrupted, type Client, type JobRequest, type PushResult } from "../../client/client.ts";
import { hasOddNumber, jsonArgs } from "../../job/json_args.ts";
import { meantOption } from "../../job/options.ts";
import { argsText, prepare } from "../../job/payload.ts";
import { fieldTexts } from "../../job/raw.ts";
import { parseLossless } from "../../job/json.ts";
import { number } from "../../text/format.ts";
import { UsageError } from "../terminal/errors.ts";
import { blankControls, OutputClosed, OutputFailed, printError, printPart } from "../terminal/output.ts";
import { Interrupted } from "../terminal/errors.ts";
import { LongWork } from "../terminal/progress.ts";
import { readLines } from "./push_lines.ts";

/** This many invalid lines are named; the rest are counted. */
const MAX_NAMED = 20;
/** As many jobs as the client stores at once. */
const BATCH_LINES = 1_000;
/** The characters of a batch's lines. A batch ends with the line that reaches it. */
const BATCH_CHARS = 4 * 1024 * 1024;

/** How lines are pushed. */
export interface BulkFlags {
  readonly json: boolean;
  /** `skip` names invalid lines and pushes the others; `stop` pushes the lines before the first invalid one. */
  readonly onError: "skip" | "stop";
}

/** Jobs that are pushed together: of one class and with the same options, which are built faster, or any. */
type BatchJobs =
  | { readonly class: string; readonly args: readonly (readonly unknown[])[] }
  | { readonly requests: readonly JobRequest[] };

/** Lines that are pushed together. */
interface Batch {
  /** The line numbers of the jobs, from 1. */
  readonly lines: readonly number[];
  readonly jobs: BatchJobs;
  /** The last line that was read. */
  readonly last: number;
  /** How much of the file was read by then, from 0 to 1; undefined if its size is unknown. */
  readonly share: number | undefined;
}

/**
 * Pushes the lines of a file and prints a jid for each.
 *
 * @param file a path, or `-` for stdin
 * @param base the options of every line that doesn't set them
 * @returns the exit code, 1 if a line is invalid, a jid can't be printed, or the store failed; and how many lines were stored
 * @throws {Interrupted} on Ctrl-C, with the line from which on nothing is stored
 */
export async function pushLines(
  client: Client,
  file: string,
  base: Partial<JobRequest>,
  { json, onError }: BulkFlags,
): Promise<{ code: number; stored: number }> {
  // On a terminal that shows the jids, they are the progress.
  using work = new LongWork("Pushing", { drawn: !Deno.stdout.isTerminal() });
  const report = new Report(work, onError);
  const output = new Jids(json);
  let last = 0;
  let failure: { readonly cause: unknown; readonly line: number } | undefined;
  const batches = parseBatches(file, base, report, work.signal);
  let next = batches.next();
  while (failure === undefined) {
    const { value: batch, done } = await next;
    if (done) break;
    last = batch.last;
    const storing = storeBatch(client, batch, base);
    // Parses the next batch meanwhile. Its errors are reported when it is awaited.
    next = batches.next();
    next.catch(() => {});
    const { results, cause } = await storing;
    report.add(results, batch);
    output.print(results, batch);
    if (cause !== undefined) failure = { cause, line: batch.lines[results.length] ?? batch.last };
    work.at({ done: report.stored, ...(batch.share !== undefined && { share: batch.share }) });
    if (report.stopsAt !== undefined && report.stopsAt <= last || work.signal.aborted) break;
  }
  await batches.return(undefined);
  work.clear();
  const code = report.end(file, last, failure);
  output.end(report.stored);
  if (failure === undefined && work.signal.aborted) {
    throw new Interrupted(`Interrupted: ${lines(report.stored)} stored, none from line ${last + 1} on`);
  }
  return { code: output.failure === undefined ? code : 1, stored: report.stored };
}

async function storeBatch(
  client: Client,
  { jobs }: Batch,
  base: Partial<JobRequest>,
): Promise<{ results: readonly PushResult[]; cause?: unknown }> {
  const results: PushResult[] = [];
  try {
    if ("args" in jobs) return { results: await client.pushBulk({ ...base, ...jobs }) };
    for await (const result of client.pushMany(jobs.requests)) results.push(result);
    return { results };
  } catch (error) {
    if (!(error instanceof BulkInterrupted)) throw error;
    return { results: [...results, ...error.results], cause: error.cause };
  }
}

/** Yields batches of the valid lines; invalid ones are reported. */
async function* parseBatches(
  file: string,
  base: Partial<JobRequest>,
  report: Report,
  signal: AbortSignal,
): AsyncGenerator<Batch, undefined> {
  let line = 0;
  let batch = new BatchBuilder(base);
  let chars = 0;
  const whole = (share: number | undefined): Batch => ({ lines: batch.lines, jobs: batch.jobs(), last: line, share });
  for await (const { texts, share } of readLines(file, signal)) {
    for (const text of texts) {
      line++;
      if (text.trim() === "") continue;
      if (!parseInto(batch, text, line, report)) {
        if (batch.lines.length > 0) yield { ...whole(share), last: line - 1 };
        return undefined;
      }
      chars += text.length;
      if (batch.lines.length < BATCH_LINES && chars < BATCH_CHARS) continue;
      yield whole(share);
      [batch, chars] = [new BatchBuilder(base), 0];
    }
  }
  if (batch.lines.length > 0 && !signal.aborted) yield whole(1);
  return undefined;
}

/** Collects the jobs of a batch: as arguments of one class for as long as they are alike. */
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
function parseInto(batch: BatchBuilder, text: string, line: number, report: Report): boolean {
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

/** Rejects what the push would reject: by then, later lines of the batch are stored. */
function check(request: JobRequest): void {
  prepare(request);
  argsText(request.args);
}

function parseObject(text: string): Record<string, unknown> {
  const value = parseLossless(text);
  if (typeof value !== "object" || value === null) {
    throw new UsageError(
      `expected an array of arguments, or an object with class and args; found ${text.slice(0, 40)}`,
    );
  }
  if (!hasOddNumber(text)) return value as Record<string, unknown>;
  const args = fieldTexts(text)?.findLast(([name]) => name === "args")?.[1];
  return { ...value, ...(args?.startsWith("[") && { args: jsonArgs(args) }) };
}

/** Counts lines, and reports invalid ones. */
class Report {
  stored = 0;
  /** The first invalid line, with `--on-error stop`. */
  stopsAt: number | undefined;
  #rejected = 0;
  #duplicates = 0;
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
    if (++this.#rejected <= MAX_NAMED) this.#print(`jobs: line ${line} is invalid: ${blankControls(why)}`);
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
        `jobs: line ${line}: unknown option "${blankControls(field)}" is kept in the payload; did you mean "${meant}"?`,
      );
    }
  }

  /** Counts the results of a batch. */
  add(results: readonly PushResult[], { lines }: Batch): void {
    results.forEach((result, i) => {
      if (result.jid !== undefined) this.stored++;
      else if (result.duplicateOf !== undefined) this.#duplicates++;
      else this.reject(lines[i]!, result.refused);
    });
  }

  /** Prints the totals; returns the exit code. */
  end(file: string, last: number, failure: { readonly cause: unknown; readonly line: number } | undefined): number {
    if (this.#duplicates > 0) printError(`jobs: skipped ${lines(this.#duplicates)} as duplicates`);
    if (failure !== undefined) {
      const why = failure.cause instanceof Error ? failure.cause.message : String(failure.cause);
      printError(
        `jobs: stopped at line ${failure.line}: ${blankControls(why)}; ${lines(this.stored)} before it stored`,
      );
    } else if (this.stopsAt !== undefined) {
      printError(
        `jobs: stopped at line ${this.stopsAt}: ${lines(this.stored)} stored, none from line ${
          Math.max(this.stopsAt, last + 1)
        } on`,
      );
    } else if (this.#rejected > 0) {
      const unnamed = this.#rejected > MAX_NAMED ? `; the first ${MAX_NAMED} are named above` : "";
      printError(
        `jobs: ${lines(this.#rejected)} invalid${unnamed}; ${
          lines(this.stored)
        } stored. Push only the invalid ones again`,
      );
    } else if (this.stored + this.#duplicates === 0 && !this.#work.signal.aborted) {
      printError(`jobs: nothing to push: ${file === "-" ? "standard input" : file} has no lines`);
    }
    return failure === undefined && this.#rejected === 0 ? 0 : 1;
  }

  #print(text: string): void {
    this.#work.clear();
    printError(text);
  }
}

/** Prints jids, a batch at a time. If they can't be printed, the push continues: the jobs are stored anyway. */
class Jids {
  /** Why they can't be printed. */
  failure: string | undefined;
  #unprinted = 0;
  #closed = false;
  readonly #json: boolean;

  constructor(json: boolean) {
    this.#json = json;
  }

  print(results: readonly PushResult[], { lines }: Batch): void {
    const printed = results.flatMap(({ jid, duplicateOf }, i) => {
      if (jid === undefined && duplicateOf === undefined) return [];
      if (!this.#json) return [jid ?? duplicateOf];
      return [
        JSON.stringify({ line: lines[i], jid: jid ?? duplicateOf, ...(duplicateOf !== undefined && { duplicateOf }) }),
      ];
    });
    if (printed.length === 0 || this.#closed) return;
    if (this.failure !== undefined) {
      this.#unprinted += printed.length;
      return;
    }
    try {
      printPart(`${printed.join("\n")}\n`);
    } catch (error) {
      if (error instanceof OutputClosed) this.#closed = true;
      else if (error instanceof OutputFailed) {
        this.failure = error.message;
        this.#unprinted += printed.length;
      } else throw error;
    }
  }

  end(stored: number): void {
    if (this.failure === undefined) return;
    printError(`jobs: ${this.failure}; ${lines(stored)} stored, ${number(this.#unprinted)} jids not printed`);
  }
}

function lines(count: number): string {
  return count === 1 ? "1 line" : `${number(count)} lines`;
}
