/**
 * The output of a program. All of its standard output is the result, up to a limit; of a longer one the beginning and the end are
 * kept: a program is never ended for what it prints. If it fails, the end of all that it printed is kept with its failure.
 *
 * @module
 */
import { formatBytes } from "../../job/bytes.ts";
import { CutOutput } from "../../job/returned.ts";

/** Lines that are kept of the end of an output. */
const MAX_LINES = 5_000;
/** Shorter pieces of an output share a block of this size. */
const BLOCK_BYTES = 16 * 1024;

export class ProgramOutput {
  readonly #maxBytes: number;
  readonly #halfBytes: number;
  /** All of the output or, once it is too long, its beginning. */
  #head = new Pieces();
  /** The end of an output that is too long. */
  readonly #tail: OutputTail;
  #bytes = 0;

  /** @param maxBytes the longest output that is kept as a whole */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#halfBytes = Math.floor(maxBytes / 2);
    this.#tail = new OutputTail(this.#halfBytes);
  }

  add(bytes: Uint8Array): void {
    const wasWhole = this.#bytes <= this.#maxBytes;
    this.#bytes += bytes.length;
    if (wasWhole) this.#head.add(bytes);
    else this.#tail.add(bytes);
    if (!wasWhole || this.#bytes <= this.#maxBytes) return;
    const all = this.#head.join();
    this.#head = new Pieces();
    this.#head.add(all.subarray(0, this.#halfBytes));
    this.#tail.add(all.subarray(this.#halfBytes));
  }

  /** Returns the whole output, or the ends of one that is too long. */
  end(): Uint8Array | CutOutput {
    if (this.#bytes <= this.#maxBytes) return this.#head.join();
    const head = decode(this.#head.join());
    const tail = this.#tail.text();
    const size = formatBytes(this.#bytes);
    // As JSON the text may be several times as long.
    for (let length = this.#halfBytes;; length = Math.floor(length * 0.7)) {
      const text = `${head.slice(0, length)}\n… (${size} in total) …\n${length === 0 ? "" : tail.slice(-length)}`
        .toWellFormed();
      if (JSON.stringify(text).length <= this.#maxBytes || length === 0) return new CutOutput(text, size);
    }
  }
}

/** The end of an output. */
export class OutputTail {
  readonly #maxBytes: number;
  readonly #pieces = new Pieces();

  /** @param maxBytes how much of the end is kept */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(bytes: Uint8Array): void {
    this.#pieces.add(bytes);
    this.#pieces.dropBefore(this.#maxBytes);
  }

  get isEmpty(): boolean {
    return this.#pieces.bytes === 0;
  }

  /** Returns the last lines, without an empty one at the end. */
  lines(): string[] {
    return this.text().toWellFormed().replace(/\n$/, "").split("\n").slice(-MAX_LINES);
  }

  /** Returns the end; the whole output if it is short enough. */
  text(): string {
    return this.#maxBytes === 0 ? "" : decode(this.#pieces.join().slice(-this.#maxBytes));
  }
}

/** Bytes that arrive in pieces. They are copied: a piece of two bytes would keep all 64 KiB in memory that it was read into. */
export class Pieces {
  /** The last one is the beginning of `#block`, if that is set. */
  #pieces: Uint8Array[] = [];
  /** Has room for further short pieces. */
  #block: Uint8Array | undefined;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    const used = this.#pieces.at(-1)?.length ?? 0;
    if (this.#block !== undefined && used + bytes.length <= BLOCK_BYTES) {
      this.#block.set(bytes, used);
      this.#pieces[this.#pieces.length - 1] = this.#block.subarray(0, used + bytes.length);
    } else if (bytes.length < BLOCK_BYTES) {
      this.#block = new Uint8Array(BLOCK_BYTES);
      this.#block.set(bytes);
      this.#pieces.push(this.#block.subarray(0, bytes.length));
    } else {
      this.#block = undefined;
      this.#pieces.push(bytes.slice());
    }
  }

  /** Drops pieces from the beginning, as long as the rest has at least this many bytes. */
  dropBefore(bytes: number): void {
    while (this.#pieces.length > 1 && this.#bytes - this.#pieces[0]!.length >= bytes) {
      this.#bytes -= this.#pieces.shift()!.length;
    }
  }

  join(): Uint8Array {
    const all = new Uint8Array(this.#bytes);
    let at = 0;
    for (const piece of this.#pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
