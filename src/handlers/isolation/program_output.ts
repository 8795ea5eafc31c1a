/**
 * The standard output of a program. All of it is the result, up to a limit; of a longer one the beginning and the end are kept:
 * a program is never ended for what it prints.
 *
 * @module
 */
import { formatBytes } from "../../job/bytes.ts";
import { CutOutput } from "../../job/returned.ts";

export class ProgramOutput {
  readonly #maxBytes: number;
  readonly #halfBytes: number;
  /** All of the output or, once it is too long, its beginning. */
  #head: Uint8Array[] = [];
  /** The end of an output that is too long. */
  #tail: Uint8Array[] = [];
  #tailBytes = 0;
  #bytes = 0;

  /** @param maxBytes the longest output that is kept as a whole */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#halfBytes = Math.floor(maxBytes / 2);
  }

  add(bytes: Uint8Array): void {
    const wasWhole = this.#bytes <= this.#maxBytes;
    this.#bytes += bytes.length;
    if (this.#bytes <= this.#maxBytes) return void this.#head.push(bytes);
    if (!wasWhole) return this.#addToTail(bytes);
    const all = join([...this.#head, bytes]);
    this.#head = [all.slice(0, this.#halfBytes)];
    this.#addToTail(all.slice(this.#halfBytes));
  }

  /** Returns the whole output, or the ends of one that is too long. */
  end(): Uint8Array | CutOutput {
    if (this.#bytes <= this.#maxBytes) return join(this.#head);
    const head = decode(join(this.#head));
    const tail = decode(join(this.#tail).slice(-this.#halfBytes));
    const size = formatBytes(this.#bytes);
    // As JSON the text may be several times as long.
    for (let length = this.#halfBytes;; length = Math.floor(length * 0.7)) {
      const text = `${head.slice(0, length)}\n… (${size} in total) …\n${length === 0 ? "" : tail.slice(-length)}`
        .toWellFormed();
      if (JSON.stringify(text).length <= this.#maxBytes || length === 0) return new CutOutput(text, size);
    }
  }

  #addToTail(bytes: Uint8Array): void {
    this.#tail.push(bytes);
    this.#tailBytes += bytes.length;
    while (this.#tailBytes - this.#tail[0]!.length >= this.#halfBytes) this.#tailBytes -= this.#tail.shift()!.length;
    // Small pieces of a large buffer would keep it in memory.
    if (this.#tail.length > 1_000) this.#tail = [join(this.#tail)];
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
