/**
 * Reads the lines of a file in large chunks: line by line through streams takes longer than storing them.
 *
 * @module
 */
import { decodeLine, isUtf16 } from "../../job/utf8.ts";
import { UsageError } from "../terminal/errors.ts";

/** Lines that were read together. */
export interface Lines {
  /** Undefined for a line that isn't UTF-8. */
  readonly texts: readonly (string | undefined)[];
  /** How much of the file was read, from 0 to 1; undefined if its size is unknown. */
  readonly share: number | undefined;
}

const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 10;

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
  /** The beginning of a line whose end isn't read yet. */
  let rest: Uint8Array<ArrayBuffer>[] = [];
  let read = 0;
  let buffer = new Uint8Array(CHUNK_BYTES);
  try {
    while (!signal.aborted) {
      const { value, done } = await reader.read(buffer);
      if (signal.aborted) return;
      if (done) break;
      if (read === 0 && isUtf16(value)) {
        throw new UsageError(`Can't read --bulk "${file}": it is UTF-16, expected UTF-8`);
      }
      // The mark of the encoding, at the beginning only.
      const start = read === 0 && value[0] === 0xef && value[1] === 0xbb && value[2] === 0xbf ? 3 : 0;
      read += value.length;
      const end = value.lastIndexOf(NEWLINE);
      if (end >= start) {
        const texts = textsOf(joined([...rest, value.subarray(start, end)]));
        rest = [value.slice(end + 1)];
        yield { texts, share: size ? Math.min(1, read / size) : undefined };
      } else rest.push(value.slice(start));
      buffer = new Uint8Array(value.buffer);
    }
    const last = joined(rest);
    if (last.length > 0 && !signal.aborted) yield { texts: textsOf(last), share: size ? 1 : undefined };
  } finally {
    signal.removeEventListener("abort", cancel);
    await reader.cancel().catch(() => {});
  }
}

function joined(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  if (parts.length === 1) return parts[0]!;
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Decodes lines together: one by one takes several times as long. */
function textsOf(bytes: Uint8Array): (string | undefined)[] {
  const text = decodeLine(bytes);
  if (text !== undefined) return text.split("\n").map(withoutReturn);
  const texts: (string | undefined)[] = [];
  let end = 0;
  for (let start = 0; end >= 0; start = end + 1) {
    end = bytes.indexOf(NEWLINE, start);
    const line = decodeLine(bytes.subarray(start, end < 0 ? undefined : end));
    texts.push(line && withoutReturn(line));
  }
  return texts;
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
    `Invalid --bulk "${file}": expected a file with JSON on each line, or - for stdin, found a folder`,
  );
}
