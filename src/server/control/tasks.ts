/**
 * The async tasks of this process, by label, each with its state and since when: what TTIN and `jobs dump` print. JavaScript
 * can't list pending promises, so each task reports its state.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { RunningJob } from "../../handlers/running_job.ts";
import type { BoardSlot, TaskBoard } from "./task_board.ts";

export class Task {
  /** Counts from 1 in the order in which tasks began. */
  readonly id: number;
  /** `processor-3`, `poller`. */
  readonly label: string;
  readonly #clock: Clock;
  readonly #slot: BoardSlot | undefined;
  #state = "";
  #since = 0;
  #job: RunningJob | undefined;

  /** Use {@linkcode Tasks.add}. */
  constructor(id: number, label: string, clock: Clock, slot: BoardSlot | undefined) {
    this.id = id;
    this.label = label;
    this.#clock = clock;
    this.#slot = slot;
    this.enter("starting");
  }

  /** Sets the state, in one word: `idle`, `working`, `waiting`. Returns the time, on the monotonic clock. */
  enter(state: string): number {
    this.#state = state;
    this.#since = this.#clock.monotonic();
    this.#slot?.enter(state, this.#since);
    return this.#since;
  }

  /** Sets the job that it performs. Returns the time, on the monotonic clock. */
  perform(job: RunningJob): number {
    this.#job = job;
    this.#slot?.perform(job);
    return this.enter("performing");
  }

  /** Notes whether the function of the job's handler has been called and has not returned. */
  calling(isCalling: boolean): void {
    this.#slot?.calling(isCalling);
  }

  /** Sets that it performs no job. Returns the time, on the monotonic clock. */
  rest(): number {
    this.#job = undefined;
    this.#slot?.rest();
    return this.enter("idle");
  }

  /** Ends it; use {@linkcode Tasks.remove}. */
  end(): void {
    this.#slot?.remove();
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

export class Tasks {
  readonly #clock: Clock;
  readonly #board: TaskBoard | undefined;
  readonly #tasks = new Map<number, Task>();
  #lastId = 0;

  /** @param board receives all tasks; default: none */
  constructor(clock: Clock, board?: TaskBoard) {
    this.#clock = clock;
    this.#board = board;
  }

  add(label: string): Task {
    const id = ++this.#lastId;
    const task = new Task(id, label, this.#clock, this.#board?.add(id, label));
    this.#tasks.set(id, task);
    return task;
  }

  remove(task: Task): void {
    if (this.#tasks.delete(task.id)) task.end();
  }

  /** Returns all tasks, in the order in which they began. */
  list(): Task[] {
    return [...this.#tasks.values()];
  }
}
