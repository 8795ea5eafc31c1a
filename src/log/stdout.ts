/**
 * Writes to stdout if it is a pipe that another process has made non-blocking: waits while the pipe is full.
 *
 * Deno writes to stdout through Rust's buffer of a line (1,024 bytes). When a write to a full pipe fails, part of its bytes may be in
 * the pipe or in the buffer, and a repeated write would print them twice. Pieces of two kinds are certain while the buffer is empty: a
 * piece that ends with a line break is written whole or not at all, and a short one without any is always buffered.
 *
 * @module
 */

/** A pipe takes a write of this size whole or not at all (`PIPE_BUF` of Linux). */
const MAX_LINES_BYTES = 4_096;
/** Less than the buffer. */
const MAX_PART_BYTES = 512;
const LINE_BREAK = 10;
/** Pause before the next attempt to write to a non-blocking pipe that is full. */
export const FULL_PAUSE_MS = 5;
const NEVER_NOTIFIED = new Int32Array(new SharedArrayBuffer(4));
const NOTHING = new Uint8Array(0);

/**
 * Writes bytes to stdout, and waits for its reader.
 *
 * @throws if they can't be written
 */
export function writeStdout(bytes: Uint8Array): void {
  // A terminal may take a part of any write.
  if (Deno.stdout.isTerminal()) {
    for (let left = bytes; left.length > 0;) left = left.subarray(Deno.stdout.writeSync(left));
  } else for (const piece of piecesOf(bytes)) writePiece(piece);
}

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length;) {
    const lines = bytes.subarray(start, start + MAX_LINES_BYTES).lastIndexOf(LINE_BREAK) + 1;
    const length = lines > 0 ? lines : MAX_PART_BYTES;
    yield bytes.subarray(start, start + length);
    start += length;
  }
}

function writePiece(piece: Uint8Array): void {
  for (let left = piece;;) {
    try {
      left = left.subarray(Deno.stdout.writeSync(left));
      if (left.length === 0) return;
    } catch (error) {
      if (!(error instanceof Deno.errors.WouldBlock)) throw error;
      // The next write also writes the buffer, even if it is empty itself.
      if (left.at(-1) !== LINE_BREAK) left = NOTHING;
      pauseThread();
    }
  }
}

/** Blocks this thread while a pipe is full. */
export function pauseThread(): void {
  Atomics.wait(NEVER_NOTIFIED, 0, 0, FULL_PAUSE_MS);
}
