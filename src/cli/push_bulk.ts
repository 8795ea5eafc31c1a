/**
 * `jobs push --bulk`: a job for each line of a file.
 *
 * @module
 */
import { TextLineStream } from "@std/streams/text-line-stream";
import type { Client, JobRequest } from "../client/client.ts";
import { parseLossless } from "../job/json.ts";
import { UsageError } from "./args.ts";
import { print, remark } from "./output.ts";

/** Lines that are no jobs, by the position they have among those that were pushed. */
interface Line {
  readonly number: number;
  readonly request: JobRequest;
}

/**
 * Pushes the lines of a file, in batches, and prints a jid for each. Lines that are refused are named on stderr and stop
 * nothing.
 *
 * @param file a path, or `-` for stdin
 * @param base what holds for every line that does not say otherwise
 * @returns the exit code: 1 when a line was refused
 */
export async function pushLines(
  client: Client,
  file: string,
  base: Partial<JobRequest>,
  json: boolean,
): Promise<number> {
  let refused = 0;
  const refuse = (number: number, why: string) => {
    refused++;
    remark(`jobs: line ${number}: ${why}`);
  };
  const numbers: number[] = [];
  const requests = (async function* () {
    for await (const line of readLines(file, base, refuse)) {
      numbers.push(line.number);
      yield line.request;
    }
  })();
  for await (const result of client.pushMany(requests)) {
    const number = numbers.shift()!;
    if (result.jid !== undefined) print(json ? JSON.stringify({ line: number, jid: result.jid }) : result.jid);
    else refuse(number, result.refused);
  }
  return refused === 0 ? 0 : 1;
}

async function* readLines(
  file: string,
  base: Partial<JobRequest>,
  refuse: (number: number, why: string) => void,
): AsyncGenerator<Line> {
  let number = 0;
  for await (const text of (await open(file)).pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())) {
    number++;
    if (text.trim() === "") continue;
    try {
      yield { number, request: parseLine(text, base) };
    } catch (error) {
      refuse(number, (error as Error).message);
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

async function open(file: string): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  if (file === "-") return Deno.stdin.readable;
  try {
    return (await Deno.open(file)).readable;
  } catch (error) {
    const why = error instanceof Deno.errors.NotFound ? "there is no such file" : (error as Error).message;
    throw new UsageError(`--bulk "${file}" cannot be read: ${why}`);
  }
}
