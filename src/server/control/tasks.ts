/**
 * Every async task of the process, by label, with what it is doing and since when: what the TTIN dump prints and
 * `jobs dump` shows. JavaScript cannot list its pending promises, so each task says itself what it waits for.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { JobContext } from "../../handlers/context.ts";

/** One async task. */
export class Task {
  /** Counts up from 1 in the order in which tasks began. */
  readonly id: number;
  /** What operators call it: `processor-3`, `poller`. */
  readonly label: string;
  readonly #clock: Clock;
  #state = "starting";
  #since: number;
  #job: JobContext | undefined;

  /** Made by {@linkcode Tasks.add}. */
  constructor(id: number, label: string, clock: Clock) {
    this.id = id;
    this.label = label;
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** What it is doing from now on, in one word: `idle`, `taking`, `performing`, `sleeping`. */
  enter(state: string): void {
    this.#state = state;
    this.#since = this.#clock.monotonic();
  }

  /** The job it performs from now on. Returns the moment, on the monotonic clock. */
  perform(job: JobContext): number {
    this.#job = job;
    this.#state = "performing";
    return this.#since = this.#clock.monotonic();
  }

  /** It performs nothing any more. Returns the moment, on the monotonic clock. */
  rest(): number {
    this.#job = undefined;
    this.#state = "idle";
    return this.#since = this.#clock.monotonic();
  }

  get state(): string {
    return this.#state;
  }

  /** The moment it began what it is doing, on the monotonic clock. */
  get since(): number {
    return this.#since;
  }

  get job(): JobContext | undefined {
    return this.#job;
  }
}

/** The tasks of one process. */
export class Tasks {
  readonly #clock: Clock;
  readonly #tasks = new Map<number, Task>();
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A new task; it stays on the list until {@linkcode remove}. */
  add(label: string): Task {
    const task = new Task(++this.#last, label, this.#clock);
    this.#tasks.set(task.id, task);
    return task;
  }

  /** Takes a task that has ended off the list. */
  remove(task: Task): void {
    this.#tasks.delete(task.id);
  }

  /** All tasks, in the order in which they began. */
  list(): Task[] {
    return [...this.#tasks.values()];
  }
}
