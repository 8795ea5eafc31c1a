/**
 * Writes the stream of a running job: `ctx.stream`. Chunks gather in a buffer, and are written together under the lease of the job.
 *
 *  1. The first chunk is written at once, those after it every {@linkcode FLUSH_MS}, or earlier if there are many.
 *  2. The buffer is bounded. A handler that awaits `ctx.stream` waits while it is full. Of one that doesn't, the earliest chunks that aren't
 *     written are dropped: readers see that their numbers are missing.
 *  3. The outcome of a job is stored after its stream, because it ends the lease.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { LeaseLost } from "../job/errors.ts";
import { stringifyLossless } from "../job/json.ts";
import type { Log } from "../log/log.ts";
import { StoreError } from "../store/port/errors.ts";
import type { NewChunks, StreamStore } from "../store/port/streams.ts";

/** Chunks are written at most this often, unless there are many. */
const FLUSH_MS = 100;
/** A chunk has at most this many characters of JSON. */
export const MAX_CHUNK_CHARACTERS = 64 * 1024;
/** One write has at most this many chunks, and characters unless one chunk has more. */
const MAX_WRITE_CHUNKS = 1_000;
const MAX_WRITE_CHARACTERS = 64 * 1024;
/** From this many characters on, `ctx.stream` waits. */
const FULL_CHARACTERS = 256 * 1024;
/** Beyond this many characters, the earliest chunks are dropped. */
const MAX_CHARACTERS = 1024 * 1024;
/** Pause before a write is repeated that the store could not make. */
const RETRY_MS = 500;
/** The end of a job waits this long for a store that doesn't answer. */
const FINISH_MS = 5_000;

/** The stream of one lease. */
export interface LeaseStream {
  /** Returns false if the worker has lost the lease. */
  append(chunks: NewChunks): Promise<boolean>;
}

/** The job whose stream is written. */
export interface StreamedJob {
  readonly jid: string;
  readonly attempt: number;
  readonly log: Log;
  /** Aborts when the job must end. */
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
}

export interface StreamServices {
  readonly clock: Clock;
  readonly stream: LeaseStream;
}

/**
 * Returns the text of a chunk.
 *
 * @throws {TypeError} if the chunk isn't JSON, or is too large
 */
export function chunkText(chunk: unknown): string {
  const text = stringifyLossless(chunk);
  if (text === undefined) {
    throw new TypeError(`Invalid chunk: a ${typeof chunk} isn't JSON; expected a text or another value`);
  }
  if (text.length <= MAX_CHUNK_CHARACTERS) return text;
  throw new TypeError(
    `Chunk too large: ${text.length} characters of JSON; expected at most ${MAX_CHUNK_CHARACTERS}: split it`,
  );
}

/** Returns a function that creates the writer of a job's stream, for the token of its lease. */
export function streamWriters(
  { store, worker, clock }: {
    readonly store: { readonly streams: Pick<StreamStore, "append"> };
    readonly worker: string;
    readonly clock: Clock;
  },
): (job: StreamedJob, token: string) => StreamWriter {
  return (job, token) => {
    const lease = { worker, token, jid: job.jid };
    return new StreamWriter(job, { clock, stream: { append: (chunks) => store.streams.append(lease, chunks) } });
  };
}

export class StreamWriter {
  readonly #job: StreamedJob;
  readonly #services: StreamServices;
  /** JSON texts that aren't written. */
  #pending: string[] = [];
  #characters = 0;
  /** How many chunks were written, or dropped, or are being written. */
  #from = 0;
  #hasWritten = false;
  #hasDropped = false;
  #isClosed = false;
  /** Chunks are no longer written: the lease is lost, the store rejects them, or it doesn't answer. */
  #isGivenUp = false;
  #writing: Promise<void> | undefined;
  /** Ends the pause between two writes. */
  #hurry = new AbortController();
  #room: PromiseWithResolvers<void> | undefined;

  constructor(job: StreamedJob, services: StreamServices) {
    this.#job = job;
    this.#services = services;
  }

  /** Whether the job may have a stream in the store. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** The stream in the store, for the writer of this job in an isolated process. */
  get relay(): LeaseStream {
    return { append: (chunks) => this.#append(chunks) };
  }

  /**
   * Continues a stream that another process has begun under the same lease. Call it before the first chunk.
   *
   * @param from how many chunks that process has written or dropped
   */
  continueAfter(from: number): void {
    this.#from = from;
  }

  /**
   * Adds a chunk.
   *
   * @returns a promise that resolves when the buffer has room for the next one
   * @throws {TypeError} if the chunk isn't JSON, is too large, or comes after the end of the handler
   */
  write(chunk: unknown): Promise<void> {
    const text = chunkText(chunk);
    if (this.#isClosed) throw new TypeError("A chunk comes after its handler has ended; await what writes it");
    if (this.#isGivenUp) return Promise.resolve();
    this.#pending.push(text);
    this.#characters += text.length;
    while (this.#characters > MAX_CHARACTERS) this.#drop();
    this.#writing ??= this.#writeAll();
    if (this.#isLarge) this.#hurry.abort();
    if (this.#characters < FULL_CHARACTERS) return Promise.resolve();
    return (this.#room ??= Promise.withResolvers()).promise;
  }

  /**
   * Writes the rest, because the handler has ended.
   *
   * @returns a promise that resolves when it is written, or the store has not answered for some seconds
   */
  async finish(): Promise<void> {
    this.#isClosed = true;
    this.#hurry.abort();
    if (this.#writing === undefined || this.#isGivenUp) return;
    const over = new AbortController();
    const isLate = await Promise.race([
      this.#writing.then(() => false),
      this.#services.clock.sleep(FINISH_MS, over.signal).then(() => !over.signal.aborted),
    ]);
    over.abort();
    if (!isLate) return;
    this.#giveUp();
    this.#job.log.warn("Stream has no end: the store doesn't answer", { jid: this.#job.jid });
  }

  get #isLarge(): boolean {
    return this.#pending.length >= MAX_WRITE_CHUNKS || this.#characters >= MAX_WRITE_CHARACTERS;
  }

  #drop(): void {
    this.#characters -= this.#pending.shift()!.length;
    this.#from++;
    if (this.#hasDropped) return;
    this.#hasDropped = true;
    this.#job.log.warn("Chunks of a stream dropped: the handler doesn't wait for the store; await ctx.stream", {
      jid: this.#job.jid,
    });
  }

  async #writeAll(): Promise<void> {
    // Chunks of the same turn share the write.
    await this.#services.clock.turn();
    while (this.#pending.length > 0) {
      const { attempt } = this.#job;
      const from = this.#from;
      const chunks = this.#takeChunks();
      try {
        if (!await this.#append({ attempt, from, chunks })) {
          // The job may have been aborted for another reason before.
          this.#giveUp();
          this.#job.abort(new LeaseLost());
        } else if (!this.#isLarge && !this.#isClosed) await this.#pause();
      } catch (error) {
        this.#giveUp();
        this.#job.log.warn("Stream not stored", { jid: this.#job.jid, error: (error as Error).message });
      }
      if (this.#job.signal.aborted && this.#job.signal.reason instanceof LeaseLost) this.#giveUp();
    }
    this.#writing = undefined;
  }

  #takeChunks(): string[] {
    let count = 0;
    let characters = 0;
    do characters += this.#pending[count++]!.length; while (
      count < Math.min(this.#pending.length, MAX_WRITE_CHUNKS) &&
      characters + this.#pending[count]!.length <= MAX_WRITE_CHARACTERS
    );
    this.#from += count;
    this.#characters -= characters;
    if (this.#characters < FULL_CHARACTERS) this.#makeRoom();
    return this.#pending.splice(0, count);
  }

  /** Repeats a write until the store has made it. Stops when the writer has given up. */
  async #append(chunks: NewChunks): Promise<boolean> {
    this.#hasWritten = true;
    for (;;) {
      try {
        return await this.#services.stream.append(chunks);
      } catch (error) {
        if (!(error instanceof StoreError && error.transient) || this.#isGivenUp) throw error;
        await this.#services.clock.sleep(RETRY_MS * (0.5 + Math.random()));
        if (this.#isGivenUp || this.#job.signal.reason instanceof LeaseLost) throw error;
      }
    }
  }

  async #pause(): Promise<void> {
    this.#hurry = new AbortController();
    await this.#services.clock.sleep(FLUSH_MS, this.#hurry.signal);
  }

  #giveUp(): void {
    this.#isGivenUp = true;
    this.#pending = [];
    this.#characters = 0;
    this.#makeRoom();
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}
