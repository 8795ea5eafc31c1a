/**
 * The async tasks of this process, by label, each with its state and since when: what TTIN and `jobs dump` print. JavaScript
 * can't list pending promises, so each task reports its state.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { RunningJob } from "../../handlers/running_job.ts";

/** One async task. */
export class Task {
  /** Counts from 1 in the order in which tasks began. */
  readonly id: number;
  /** `processor-3`, `poller`. */
  readonly label: string;
  readonly #clock: Clock;
  #state = "starting";
  #since: number;
  #job: RunningJob | undefined;

  /** Use {@linkcode Tasks.add}. */
  constructor(id: number, label: string, clock: Clock) {
    this.id = id;
    this.label = label;
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** Sets the state, in one word: `idle`, `working`, `waiting`. */
  enter(state: string): void {
    this.#state = state;
    this.#since = this.#clock.monotonic();
  }

  /** Sets the job that it performs. Returns the time, on the monotonic clock. */
  perform(job: RunningJob): number {
    this.#job = job;
    this.#state = "performing";
    return this.#since = this.#clock.monotonic();
  }

  /** Sets that it performs no job. Returns the time, on the monotonic clock. */
  rest(): number {
    this.#job = undefined;
    this.#state = "idle";
    return this.#since = this.#clock.monotonic();
  }

  get state(): string {
    return this.#state;
  }

  /** When it entered its state, on the monotonic clock. */
  get since(): number {
    return this.#since;
  }

  get job(): RunningJob | undefined {
    return this.#job;
  }
}

/** The tasks of this process. */
export class Tasks {
  readonly #clock: Clock;
  readonly #tasks = new Map<number, Task>();
  #lastId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a task, until {@linkcode remove}. */
  add(label: string): Task {
    const task = new Task(++this.#lastId, label, this.#clock);
    this.#tasks.set(task.id, task);
    return task;
  }

  /** Removes a task that has ended. */
  remove(task: Task): void {
    this.#tasks.delete(task.id);
  }

  /** Returns all tasks, in the order in which they began. */
  list(): Task[] {
    return [...this.#tasks.values()];
  }
}
