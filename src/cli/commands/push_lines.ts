/**
 * Reads the lines of a file in large chunks: line by line through streams takes longer than storing them.
 *
 * @module
 */
import { UsageError } from "../terminal/errors.ts";

/** Lines that were read together. */
export interface Lines {
  readonly texts: readonly string[];
  /** How much of the file was read, from 0 to 1; undefined if its size is unknown. */
  readonly share: number | undefined;
}

const CHUNK_BYTES = 256 * 1024;

/**
 * Yields the lines of a file until its end, or until the signal aborts, which also ends a wait for stdin.
 *
 * @param file a path, or `-` for stdin
 * @throws {UsageError} if the file can't be read
 */
export async function* readLines(file: string, signal: AbortSignal): AsyncGenerator<Lines> {
  const { size, bytes } = await open(file);
  const reader = bytes.getReader({ mode: "byob" });
  // A pending read of stdin ends only with the reader.
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  const decoder = new TextDecoder();
  let rest = "";
  let read = 0;
  let buffer = new Uint8Array(CHUNK_BYTES);
  try {
    while (!signal.aborted) {
      const { value, done } = await reader.read(buffer);
      if (signal.aborted) return;
      if (done) break;
      read += value.length;
      const texts = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = texts.pop()!;
      buffer = new Uint8Array(value.buffer);
      if (texts.length > 0) {
        yield { texts: texts.map(withoutReturn), share: size ? Math.min(1, read / size) : undefined };
      }
    }
    rest += decoder.decode();
    if (rest !== "" && !signal.aborted) yield { texts: [withoutReturn(rest)], share: size ? 1 : undefined };
  } finally {
    signal.removeEventListener("abort", cancel);
    await reader.cancel().catch(() => {});
  }
}

function withoutReturn(text: string): string {
  return text.endsWith("\r") ? text.slice(0, -1) : text;
}

interface Source {
  readonly bytes: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** In bytes; 0 if unknown. */
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
    const why = error instanceof Deno.errors.NotFound ? "no such file" : (error as Error).message;
    throw new UsageError(`Can't read --bulk "${file}": ${why}`);
  }
  throw new UsageError(
    `Invalid --bulk "${file}": expected a file with a job on each line, or - for stdin, found a folder`,
  );
}
