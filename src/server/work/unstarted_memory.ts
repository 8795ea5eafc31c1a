/**
 * The memory that both sides of the unstarted jobs (`unstarted.ts`) share. A slot has the token of one job, and a state that
 * identifies the side that has the job: the one that changed it from {@linkcode WAITING} first.
 *
 * Tokens are written here, and not posted to the thread: posting takes two microseconds per job instead of a tenth of one,
 * more than a tenth of the cost of a short job.
 *
 * @module
 */

/** Either side may claim the job. */
const WAITING = 1;
/** The main side has it. Also the state of an empty slot. */
const KEPT = 0;
/** The thread has it, and returns it. */
const RETURNED = 2;

/** More than the jobs that a worker takes ahead and those of its processors. */
const SLOTS = 2_048;
/** In UTF-16 code units. A job with a longer token isn't shared: its queue's name has more than 120. */
const MAX_TOKEN_LENGTH = 160;

/** A job that the thread has claimed. */
export interface Claimed {
  readonly token: string;
  /** Grows from job to job in the order in which they were taken, modulo 2³². */
  readonly order: number;
}

export class UnstartedMemory {
  /** The memory, to pass to the other side. */
  readonly buffer: SharedArrayBuffer;
  readonly #states: Int32Array;
  readonly #orders: Int32Array;
  readonly #lengths: Int32Array;
  readonly #tokens: Uint16Array;
  /** 1 while the thread doesn't watch. */
  readonly #asleep: Int32Array;
  /** 1 if the thread was asked to take no more jobs, and the main side hasn't acted on it. */
  readonly #quiet: Int32Array;

  /** @param buffer from the other side; default: new memory, without jobs, for a thread that begins by watching */
  constructor(buffer?: SharedArrayBuffer) {
    const words = SLOTS * Int32Array.BYTES_PER_ELEMENT;
    this.buffer = buffer ?? new SharedArrayBuffer(
      3 * words + SLOTS * MAX_TOKEN_LENGTH * Uint16Array.BYTES_PER_ELEMENT + 2 * Int32Array.BYTES_PER_ELEMENT,
    );
    this.#states = new Int32Array(this.buffer, 0, SLOTS);
    this.#orders = new Int32Array(this.buffer, words, SLOTS);
    this.#lengths = new Int32Array(this.buffer, 2 * words, SLOTS);
    this.#tokens = new Uint16Array(this.buffer, 3 * words, SLOTS * MAX_TOKEN_LENGTH);
    const flags = this.buffer.byteLength - 2 * Int32Array.BYTES_PER_ELEMENT;
    this.#asleep = new Int32Array(this.buffer, flags, 1);
    this.#quiet = new Int32Array(this.buffer, flags + Int32Array.BYTES_PER_ELEMENT, 1);
  }

  /** The number of slots. They are numbered from 0. */
  get slots(): number {
    return SLOTS;
  }

  /** Main side: returns true if a token can be shared. */
  static fits(token: string): boolean {
    return token.length <= MAX_TOKEN_LENGTH;
  }

  /** Main side: shares a job in a slot that this side has. */
  share(slot: number, token: string, order: number): void {
    const from = slot * MAX_TOKEN_LENGTH;
    for (let i = 0; i < token.length; i++) this.#tokens[from + i] = token.charCodeAt(i);
    this.#lengths[slot] = token.length;
    this.#orders[slot] = order | 0;
    Atomics.store(this.#states, slot, WAITING);
  }

  /** Main side: returns true if it has the job from now on. */
  keep(slot: number): boolean {
    return Atomics.compareExchange(this.#states, slot, WAITING, KEPT) === WAITING;
  }

  /** Main side: returns true if the thread was asleep, and must be woken up. */
  wake(): boolean {
    return Atomics.load(this.#asleep, 0) === 1 && Atomics.exchange(this.#asleep, 0, 0) === 1;
  }

  /** Returns whether neither side has the job yet. */
  isWaiting(slot: number): boolean {
    return Atomics.load(this.#states, slot) === WAITING;
  }

  /** Either side: notes a request to take no more jobs, or its end. */
  askQuiet(isAsked: boolean): void {
    Atomics.store(this.#quiet, 0, isAsked ? 1 : 0);
  }

  /** Main side: whether the thread was asked to take no more jobs. */
  get isQuietAsked(): boolean {
    return Atomics.load(this.#quiet, 0) === 1;
  }

  /** Thread: returns whether any job waits. */
  get hasWaiting(): boolean {
    for (let slot = 0; slot < SLOTS; slot++) if (this.isWaiting(slot)) return true;
    return false;
  }

  /** Thread: returns true if it may end its watch; the main side will wake it up. */
  sleep(): boolean {
    Atomics.store(this.#asleep, 0, 1);
    // A job that was shared before the main side could see this.
    return !this.hasWaiting || Atomics.exchange(this.#asleep, 0, 0) === 0;
  }

  /** Thread: claims every job that waits, and returns them in the order in which they were taken. */
  claimAll(): Claimed[] {
    const claimed: Claimed[] = [];
    for (let slot = 0; slot < SLOTS; slot++) {
      if (Atomics.compareExchange(this.#states, slot, WAITING, RETURNED) !== WAITING) continue;
      const from = slot * MAX_TOKEN_LENGTH;
      const codes = this.#tokens.slice(from, from + this.#lengths[slot]!);
      claimed.push({ token: String.fromCharCode(...codes), order: this.#orders[slot]! });
    }
    return claimed.sort((a, b) => (a.order - b.order) | 0);
  }
}
