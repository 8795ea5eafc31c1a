/**
 * `jobs push --bulk`: a job for each line of a file.
 *
 * @module
 */
import { TextLineStream } from "@std/streams/text-line-stream";
import { BulkInterrupted, type Client, type JobRequest } from "../client/client.ts";
import { parseLossless } from "../job/json.ts";
import { number } from "../words/amounts.ts";
import { UsageError } from "./args.ts";
import { print, remark } from "./output.ts";
import { Interrupted, LongWork } from "./progress.ts";

/** So many refused lines are named; the rest are counted. */
const MOST_NAMED = 20;

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
 * @returns the exit code: 1 when a line was refused, or the store failed on the way
 * @throws {Interrupted} when it is asked to stop; it says from which line on nothing is stored
 */
export async function pushLines(
  client: Client,
  file: string,
  base: Partial<JobRequest>,
  json: boolean,
): Promise<number> {
  const source = await open(file);
  // Where the jids appear on the same terminal, they say how far it is.
  using work = new LongWork("Pushing", { drawn: !Deno.stdout.isTerminal() });
  let stored = 0;
  let refused = 0;
  const refuse = (line: number, why: string) => {
    if (++refused > MOST_NAMED) return;
    work.clear();
    remark(`jobs: line ${line} refused: ${why}`);
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
        print(json ? JSON.stringify({ line, jid: result.jid }) : result.jid);
      } else refuse(line, result.refused);
      work.at({ done: stored, ...(reader.share !== undefined && { share: reader.share }) });
    }
  } catch (error) {
    if (!(error instanceof BulkInterrupted)) throw error;
    failure = error;
  }
  work.clear();
  if (refused > 0) {
    const unnamed = refused > MOST_NAMED ? ` (the first ${MOST_NAMED} are named above)` : "";
    remark(`jobs: ${lines(refused)} refused${unnamed}; ${lines(stored)} stored: push only the refused ones again`);
  }
  if (failure !== undefined) {
    const why = failure.cause instanceof Error ? failure.cause.message : String(failure.cause);
    remark(`jobs: stopped at line ${numbers[0] ?? reader.line}: ${why}; ${lines(stored)} before it stored`);
    return 1;
  }
  if (reader.stopped) {
    throw new Interrupted(`Stopped: ${lines(stored)} stored, none from line ${reader.line + 1} on`);
  }
  return refused === 0 ? 0 : 1;
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
      return parseLine(text, this.#base);
    } catch (error) {
      this.#refuse(this.line, (error as Error).message);
      return undefined;
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
    return { bytes: opened.readable, size: (await opened.stat()).size };
  } catch (error) {
    const why = error instanceof Deno.errors.NotFound ? "there is no such file" : (error as Error).message;
    throw new UsageError(`--bulk "${file}" cannot be read: ${why}`);
  }
}
