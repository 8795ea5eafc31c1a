/**
 * The task board: the tasks of this process in memory that the heartbeat's thread shares, so that the thread can print them
 * while a handler blocks the event loop. `tasks.ts` writes it, `dump.ts` formats it.
 *
 * A task has a slot. Words that repeat (states, classes, queues) are numbers in it, and the thread receives each word once, as a
 * message. Label and jid are written as text. Posting a job instead would take two microseconds, a fifth of a short job.
 *
 * A slot is written without a lock: the thread reads it while the main thread can't write, and otherwise may read a job that
 * has just changed.
 *
 * @module
 */

/** Tasks beyond this number aren't on the board. */
const SLOTS = 1_024;
/** Longer labels and jids are cut off. */
const MAX_TEXT_LENGTH = 64;
/** The texts of a slot: its label and its jid. */
const TEXTS = 2;
const LABEL = 0;
const JID = 1;
/** Words after this many are shown as `?`: jobs that others push may have any number of queues. */
const MAX_WORDS = 4_096;
const UNKNOWN = 0;

/** How many numbers a slot has. */
const FIELDS = 8;
/** The number of the task; 0 if the slot is empty. */
const ID = 0;
const STATE = 1;
const CLASS = 2;
const QUEUE = 3;
const ATTEMPT = 4;
/** 1 while the call of the handler has not returned, not even a promise. */
const CALLING = 5;
/** The lengths of the texts. That of the jid is 0 without a job. */
const LENGTHS = 6;

/** A word that slots refer to by its number. */
export interface Word {
  readonly number: number;
  readonly text: string;
}

export interface BoardJob {
  readonly class: string;
  readonly jid: string;
  readonly queue: string;
  readonly attempt: number;
}

export interface BoardTask {
  readonly id: number;
  readonly label: string;
  readonly state: string;
  /** When it entered its state, on the monotonic clock of the main thread. */
  readonly since: number;
  readonly job?: BoardJob;
  /** Whether the call of the handler has not returned: if the event loop is blocked, it blocks it. */
  readonly isCalling: boolean;
}

/** Returns the task whose handler blocks the event loop; undefined if that can't be told, because several jobs run. */
export function blockingTask(tasks: readonly BoardTask[]): BoardTask | undefined {
  const busy = tasks.filter(({ job }) => job !== undefined);
  return busy.find(({ isCalling }) => isCalling) ?? (busy.length === 1 ? busy[0] : undefined);
}

/** The memory of a board, and the texts in it. */
class Slots {
  readonly buffer: SharedArrayBuffer;
  readonly numbers: Int32Array;
  readonly since: Float64Array;
  readonly #codes: Uint16Array;

  /** @param buffer from the other side; default: new memory without tasks */
  constructor(buffer?: SharedArrayBuffer) {
    const sinceBytes = SLOTS * Float64Array.BYTES_PER_ELEMENT;
    const numberBytes = SLOTS * FIELDS * Int32Array.BYTES_PER_ELEMENT;
    const codes = SLOTS * TEXTS * MAX_TEXT_LENGTH;
    this.buffer = buffer ?? new SharedArrayBuffer(sinceBytes + numberBytes + codes * Uint16Array.BYTES_PER_ELEMENT);
    this.since = new Float64Array(this.buffer, 0, SLOTS);
    this.numbers = new Int32Array(this.buffer, sinceBytes, SLOTS * FIELDS);
    this.#codes = new Uint16Array(this.buffer, sinceBytes + numberBytes, codes);
  }

  write(slot: number, which: number, text: string): void {
    const length = Math.min(text.length, MAX_TEXT_LENGTH);
    const from = (slot * TEXTS + which) * MAX_TEXT_LENGTH;
    for (let i = 0; i < length; i++) this.#codes[from + i] = text.charCodeAt(i);
    this.numbers[slot * FIELDS + LENGTHS + which] = length;
  }

  read(slot: number, which: number): string {
    const from = (slot * TEXTS + which) * MAX_TEXT_LENGTH;
    const length = this.numbers[slot * FIELDS + LENGTHS + which]!;
    return String.fromCharCode(...this.#codes.slice(from, from + length));
  }
}

/** The main thread's side: writes the tasks. */
export class TaskBoard {
  #memory: Slots | undefined;
  readonly #free: number[] = [];
  /** Slots from this one on were never used. */
  #unused = 0;
  readonly #words = new Map<string, number>();
  #post: ((word: Word) => void) | undefined;

  /** The memory, to be passed to the thread. */
  get buffer(): SharedArrayBuffer {
    return this.#slots.buffer;
  }

  /** A worker without a thread needs none of its 300 KB. */
  get #slots(): Slots {
    return this.#memory ??= new Slots();
  }

  /** Posts all words to a thread, and each new one. */
  attach(post: (word: Word) => void): void {
    this.#post = post;
    for (const [text, number] of this.#words) post({ number, text });
  }

  /** Returns a slot for a task; undefined if none is free. */
  add(id: number, label: string): BoardSlot | undefined {
    const slot = this.#free.pop() ?? this.#unused++;
    if (slot >= SLOTS) return undefined;
    const { numbers } = this.#slots;
    this.#slots.write(slot, LABEL, label);
    this.#slots.write(slot, JID, "");
    numbers[slot * FIELDS + CALLING] = 0;
    numbers[slot * FIELDS + ID] = id;
    const free = () => {
      numbers[slot * FIELDS + ID] = 0;
      this.#free.push(slot);
    };
    return new BoardSlot(this.#slots, slot, (text) => this.#number(text), free);
  }

  #number(text: string): number {
    let number = this.#words.get(text);
    if (number === undefined) {
      if (this.#words.size >= MAX_WORDS) return UNKNOWN;
      this.#words.set(text, number = this.#words.size + 1);
      this.#post?.({ number, text });
    }
    return number;
  }
}

export class BoardSlot {
  readonly #slots: Slots;
  readonly #slot: number;
  readonly #number: (text: string) => number;
  readonly #free: () => void;
  /** The words that the slot has: the next job mostly shares them. */
  #state = "";
  #class = "";
  #queue = "";

  /** Use {@linkcode TaskBoard.add}. */
  constructor(slots: Slots, slot: number, number: (text: string) => number, free: () => void) {
    this.#slots = slots;
    this.#slot = slot;
    this.#number = number;
    this.#free = free;
  }

  /** Writes a state, and since when the task has it. */
  enter(state: string, since: number): void {
    if (state !== this.#state) this.#write(STATE, this.#number(this.#state = state));
    this.#slots.since[this.#slot] = since;
  }

  perform({ class: name, jid, queue, attempt }: BoardJob): void {
    if (name !== this.#class) this.#write(CLASS, this.#number(this.#class = name));
    if (queue !== this.#queue) this.#write(QUEUE, this.#number(this.#queue = queue));
    this.#write(ATTEMPT, attempt);
    this.#slots.write(this.#slot, JID, jid);
  }

  /** Writes whether the handler's function has been called and has not returned. */
  calling(isCalling: boolean): void {
    this.#write(CALLING, isCalling ? 1 : 0);
  }

  rest(): void {
    this.#write(LENGTHS + JID, 0);
  }

  /** Frees the slot: the task has ended. */
  remove(): void {
    this.#free();
  }

  #write(field: number, value: number): void {
    this.#slots.numbers[this.#slot * FIELDS + field] = value;
  }
}

/** The thread's side: reads the tasks. */
export class BoardReader {
  readonly #slots: Slots;
  readonly #words = new Map<number, string>();

  constructor(buffer: SharedArrayBuffer) {
    this.#slots = new Slots(buffer);
  }

  /** Learns a word. */
  learn({ number, text }: Word): void {
    this.#words.set(number, text);
  }

  get isBusy(): boolean {
    for (let slot = 0; slot < SLOTS; slot++) if (this.#hasJob(slot)) return true;
    return false;
  }

  /** Returns the tasks in the order in which they began. */
  read(): BoardTask[] {
    const tasks: BoardTask[] = [];
    for (let slot = 0; slot < SLOTS; slot++) {
      const id = this.#read(slot, ID);
      if (id === 0) continue;
      tasks.push({
        id,
        label: this.#slots.read(slot, LABEL),
        state: this.#word(slot, STATE),
        since: this.#slots.since[slot]!,
        isCalling: this.#read(slot, CALLING) === 1,
        ...(this.#hasJob(slot) && {
          job: {
            class: this.#word(slot, CLASS),
            jid: this.#slots.read(slot, JID),
            queue: this.#word(slot, QUEUE),
            attempt: this.#read(slot, ATTEMPT),
          },
        }),
      });
    }
    return tasks.sort((a, b) => a.id - b.id);
  }

  #hasJob(slot: number): boolean {
    return this.#read(slot, ID) !== 0 && this.#read(slot, LENGTHS + JID) > 0;
  }

  #read(slot: number, field: number): number {
    return this.#slots.numbers[slot * FIELDS + field]!;
  }

  #word(slot: number, field: number): string {
    return this.#words.get(this.#read(slot, field)) ?? "?";
  }
}
