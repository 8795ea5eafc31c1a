/**
 * `jobs push --bulk`: a job for each line of a file.
 *
 * @module
 */
import { TextLineStream } from "@std/streams/text-line-stream";
import { BulkInterrupted, type Client, type JobRequest } from "../../client/client.ts";
import { parseLossless } from "../../job/json.ts";
import { meantOption } from "../../job/options.ts";
import { number } from "../../text/format.ts";
import { UsageError } from "../terminal/args.ts";
import { blankControls, OutputClosed, OutputFailed, print, printError } from "../terminal/output.ts";
import { Interrupted, LongWork } from "../terminal/progress.ts";

/** So many refused lines are named; the rest are counted. */
const MAX_NAMED = 20;

/** A line that is a job. */
interface Line {
  readonly number: number;
  readonly request: JobRequest;
}

/**
 * Pushes the lines of a file, in batches, and prints a jid for each. Lines that are refused stop nothing: the first 20
 * are named on stderr with why, and at the end it is said how many there were and that the others are stored.
 *
 * @param file a path, or `-` for stdin
 * @param base what holds for every line that does not say otherwise
 * @returns the exit code, 1 when a line was refused, a jid could not be printed, or the store failed on the way; and how
 * many lines were stored
 * @throws {Interrupted} when it is asked to stop; it says from which line on nothing is stored
 */
export async function pushLines(
  client: Client,
  file: string,
  base: Partial<JobRequest>,
  json: boolean,
): Promise<{ code: number; stored: number }> {
  const source = await open(file);
  // Where the jids appear on the same terminal, they say how far it is.
  using work = new LongWork("Pushing", { drawn: !Deno.stdout.isTerminal() });
  let stored = 0;
  let refused = 0;
  const output = new Jids();
  const refuse = (line: number, why: string) => {
    if (++refused > MAX_NAMED) return;
    work.clear();
    printError(`jobs: line ${line} refused: ${blankControls(why)}`);
  };
  const reader = new LineReader(source, base, work.signal, refuse);
  const numbers: number[] = [];
  const requests = (async function* () {
    for await (const line of reader) {
      numbers.push(line.number);
      yield line.request;
    }
  })();
  let failure: BulkInterrupted | undefined;
  try {
    for await (const result of client.pushMany(requests)) {
      const line = numbers.shift()!;
      if (result.jid !== undefined) {
        stored++;
        output.print(json ? JSON.stringify({ line, jid: result.jid }) : result.jid);
      } else refuse(line, result.refused);
      work.at({ done: stored, ...(reader.share !== undefined && { share: reader.share }) });
    }
  } catch (error) {
    if (!(error instanceof BulkInterrupted)) throw error;
    failure = error;
  }
  work.clear();
  if (refused > 0) {
    const unnamed = refused > MAX_NAMED ? ` (the first ${MAX_NAMED} are named above)` : "";
    printError(`jobs: ${lines(refused)} refused${unnamed}; ${lines(stored)} stored: push only the refused ones again`);
  }
  if (failure !== undefined) {
    const why = failure.cause instanceof Error ? failure.cause.message : String(failure.cause);
    printError(
      `jobs: stopped at line ${numbers[0] ?? reader.line}: ${blankControls(why)}; ${lines(stored)} before it stored`,
    );
    return { code: 1, stored };
  }
  if (reader.stopped) {
    throw new Interrupted(`Stopped: ${lines(stored)} stored, none from line ${reader.line + 1} on`);
  }
  if (stored + refused === 0) {
    printError(`jobs: nothing to push: ${file === "-" ? "standard input" : file} has no lines`);
  }
  if (output.failure !== undefined) {
    printError(
      `jobs: ${output.failure}; ${lines(stored)} stored, and the jids of the last ${number(output.unprinted)} untold`,
    );
  }
  return { code: refused === 0 && output.failure === undefined ? 0 : 1, stored };
}

/** The jids on stdout. What cannot be printed is stored all the same: pushing goes on. */
class Jids {
  /** Why they cannot be printed. */
  failure: string | undefined;
  unprinted = 0;
  #closed = false;

  print(line: string): void {
    if (this.failure !== undefined) this.unprinted++;
    else if (!this.#closed) this.#try(line);
  }

  #try(line: string): void {
    try {
      print(line);
    } catch (error) {
      if (error instanceof OutputClosed) this.#closed = true;
      else if (error instanceof OutputFailed) {
        this.failure = error.message;
        this.unprinted++;
      } else throw error;
    }
  }
}

function lines(count: number): string {
  return count === 1 ? "1 line is" : `${number(count)} lines are`;
}

/** The lines of a file that are jobs; the others are refused. */
class LineReader implements AsyncIterable<Line> {
  /** The last line that was read, from 1. */
  line = 0;
  /** Whether it ended before the file did. */
  stopped = false;
  readonly #source: Source;
  readonly #base: Partial<JobRequest>;
  readonly #signal: AbortSignal;
  readonly #refuse: (line: number, why: string) => void;
  readonly #doubted = new Set<string>();
  #read = 0;

  constructor(
    source: Source,
    base: Partial<JobRequest>,
    signal: AbortSignal,
    refuse: (line: number, why: string) => void,
  ) {
    this.#source = source;
    this.#base = base;
    this.#signal = signal;
    this.#refuse = refuse;
  }

  /** How much of the file was read, from 0 to 1; undefined where nobody knows how long it is. */
  get share(): number | undefined {
    return this.#source.size ? Math.min(1, this.#read / this.#source.size) : undefined;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Line> {
    try {
      for await (const text of this.#lines()) {
        if (this.#signal.aborted) break;
        this.line++;
        if (text.trim() === "") continue;
        const request = this.#parse(text);
        if (request !== undefined) yield { number: this.line, request };
      }
    } catch (error) {
      // What was read so far is pushed, and told.
      if (!this.#signal.aborted) throw error;
    }
    this.stopped = this.#signal.aborted;
  }

  #lines(): ReadableStream<string> {
    const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform: (chunk, controller) => {
        this.#read += chunk.length;
        controller.enqueue(chunk);
      },
    });
    // The signal ends also the wait for a line that nobody types.
    return this.#source.bytes.pipeThrough(counted, { signal: this.#signal })
      .pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  }

  #parse(text: string): JobRequest | undefined {
    try {
      const request = parseLine(text, this.#base);
      this.#doubt(request);
      return request;
    } catch (error) {
      this.#refuse(this.line, (error as Error).message);
      return undefined;
    }
  }

  /** A field of one's own stays in the payload; one that is nearly a known one is named, once. */
  #doubt(request: JobRequest): void {
    for (const field of Object.keys(request)) {
      if (this.#doubted.has(field) || field === "class" || field === "args") continue;
      const meant = this.#doubted.size < MAX_NAMED ? meantOption(field, "push") : undefined;
      if (meant === undefined) continue;
      this.#doubted.add(field);
      printError(
        `jobs: line ${this.line}: "${
          blankControls(field)
        }" is no option, and is kept in the payload; did you mean "${meant}"?`,
      );
    }
  }
}

function parseLine(text: string, base: Partial<JobRequest>): JobRequest {
  const value = parseLossless(text);
  if (Array.isArray(value)) {
    if (base.class === undefined) throw new UsageError("an array of arguments, and no CLASS was given for it");
    return { ...base, class: base.class, args: value };
  }
  if (typeof value === "object" && value !== null) return { ...base, ...value } as JobRequest;
  throw new UsageError(`${text.slice(0, 40)} found; wanted: an array of arguments, or an object with class and args`);
}

interface Source {
  readonly bytes: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** In bytes; 0 where it has none that is known. */
  readonly size: number;
}

async function open(file: string): Promise<Source> {
  if (file === "-") return { bytes: Deno.stdin.readable, size: 0 };
  try {
    const opened = await Deno.open(file);
    const { size, isDirectory } = await opened.stat();
    if (!isDirectory) return { bytes: opened.readable, size };
    opened.close();
  } catch (error) {
    const why = error instanceof Deno.errors.NotFound ? "there is no such file" : (error as Error).message;
    throw new UsageError(`--bulk "${file}" cannot be read: ${why}`);
  }
  throw new UsageError(`--bulk "${file}" is a folder; wanted: a file with a job a line, or - for standard input`);
}
