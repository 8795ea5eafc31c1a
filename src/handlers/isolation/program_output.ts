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

export class ProgramOutput {
  readonly #maxBytes: number;
  readonly #halfBytes: number;
  /** All of the output or, once it is too long, its beginning. */
  #head: Uint8Array[] = [];
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
    if (this.#bytes <= this.#maxBytes) return void this.#head.push(bytes);
    if (!wasWhole) return this.#tail.add(bytes);
    const all = join([...this.#head, bytes]);
    this.#head = [all.slice(0, this.#halfBytes)];
    this.#tail.add(all.slice(this.#halfBytes));
  }

  /** Returns the whole output, or the ends of one that is too long. */
  end(): Uint8Array | CutOutput {
    if (this.#bytes <= this.#maxBytes) return join(this.#head);
    const head = decode(join(this.#head));
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
  #parts: Uint8Array[] = [];
  #bytes = 0;

  /** @param maxBytes how much of the end is kept */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
    while (this.#bytes - this.#parts[0]!.length >= this.#maxBytes) this.#bytes -= this.#parts.shift()!.length;
    // Small pieces of a large buffer would keep it in memory.
    if (this.#parts.length > 1_000) this.#parts = [join(this.#parts)];
  }

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  /** Returns the last lines, without an empty one at the end. */
  lines(): string[] {
    return this.text().toWellFormed().replace(/\n$/, "").split("\n").slice(-MAX_LINES);
  }

  /** Returns the end; the whole output if it is short enough. */
  text(): string {
    return this.#maxBytes === 0 ? "" : decode(join(this.#parts).slice(-this.#maxBytes));
  }
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
