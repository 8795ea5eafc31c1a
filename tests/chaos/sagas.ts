/**
 * Jobs of twenty steps with a sleep, a signal and a child, and their account: each step appends a line, which must exist
 * exactly once, except for the steps in flight when a worker was killed or frozen.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Bench } from "../support/bench.ts";
import type { JobsProcess } from "../support/process.ts";

/** The module with class `Saga`. */
export const SAGA_HANDLERS: string = new URL("../support/step_handlers.js", import.meta.url).pathname;
const STEPS = 20;
/** The step before which a job waits for its signal. */
const BEFORE_SIGNAL = 9;

/** The progress of all jobs. */
export interface SagaProgress {
  /** The lines of all handlers. */
  readonly lines: number;
  /** The steps that have run, with repetitions. */
  readonly steps: number;
  /** The jobs that have ended. */
  readonly ended: number;
}

/** The jobs of one run. */
export class Sagas {
  readonly #bench: Bench;
  readonly #jids: readonly string[];
  /** Jobs that wait for a signal that is not sent yet. */
  readonly #unsignalled: Set<string>;

  private constructor(bench: Bench, jids: readonly string[]) {
    this.#bench = bench;
    this.#jids = jids;
    this.#unsignalled = new Set(jids.slice(0, jids.length / 2));
  }

  /** Pushes jobs. Half of the signals come before their waits, and are kept. */
  static async push(bench: Bench, count: number): Promise<Sagas> {
    const jids: string[] = [];
    for (let i = 0; i < count; i++) jids.push(await bench.push("Saga", [bench.notes]));
    for (const jid of jids.slice(count / 2)) await bench.client.signal(`saga:${jid}`);
    return new Sagas(bench, jids);
  }

  /** Reads the progress, and signals the jobs that wait. */
  async progress(): Promise<SagaProgress> {
    const notes = await this.#bench.readNotes();
    let steps = 0;
    let ended = 0;
    for (const line of notes) {
      const [what, jid, step] = line.split(" ");
      if (what === "step") steps++;
      else if (what === "end") ended++;
      else if (what === "value" && Number(step) === BEFORE_SIGNAL && this.#unsignalled.has(jid!)) {
        await this.#bench.client.signal(`saga:${jid}`);
        this.#unsignalled.delete(jid!);
      }
    }
    return { lines: notes.length, steps, ended };
  }

  /** Returns whether all jobs have ended. A job that died after its last line ends twice. */
  async haveEnded(): Promise<boolean> {
    await this.progress();
    const notes = new Set(await this.#bench.readNotes());
    return this.#jids.every((jid) => notes.has(`end ${jid}`));
  }

  /**
   * Waits until the store is empty, and checks the account.
   *
   * @param inFlight the most steps that may have run twice
   * @param frozen the processes that were frozen: they may continue with jobs that others have run meanwhile
   * @returns how many have
   */
  async account(inFlight: number, frozen: ReadonlySet<number>): Promise<number> {
    const { store } = this.#bench;
    await this.#bench.until(async () => {
      const { enqueued, scheduled, retry, dead, running } = await store.admin.stats();
      return enqueued + scheduled + retry + dead + running === 0;
    }, "the store is empty");
    const notes = await this.#bench.readNotes();
    const all = this.#jids.length * STEPS;
    const runs = notes.filter((line) => line.startsWith("step ")).map((line) => line.replace(/ \d+$/, ""));
    assertEquals(new Set(runs).size, all, "each step has run");
    const repeated = runs.length - all;
    assertEquals(knownAndRepeated(notes, frozen), [], "a step whose value is known doesn't run again");
    assert(repeated <= inFlight, `${repeated} steps ran again; at most ${inFlight} were in flight at a disturbance`);
    const values = new Set(notes.filter((line) => line.startsWith("value ")));
    assertEquals(values.size, all, "each step has the same value in every attempt");
    const children = new Set(notes.filter((line) => line.startsWith("child ")));
    assertEquals(children.size, this.#jids.length, "each job has one child");
    for (const jid of this.#jids) {
      assert(notes.includes(`result ${jid} of:${jid}`));
      assertEquals(await store.steps.read(jid), []);
    }
    return repeated;
  }
}

/**
 * Returns the steps that ran although an earlier attempt had noted their value, in a process that was not frozen and got the
 * job after that.
 */
function knownAndRepeated(notes: readonly string[], frozen: ReadonlySet<number>): string[] {
  const knownAt = new Map<string, number>();
  const begunAt = new Map<string, number>();
  return notes.filter((line, at) => {
    const [what, jid, step, process] = line.split(" ");
    const key = `${jid} ${step}`;
    if (what === "value" && !knownAt.has(key)) knownAt.set(key, at);
    if (what !== "step") return false;
    const attempt = `${process} ${jid}`;
    if (!begunAt.has(attempt)) begunAt.set(attempt, at);
    return !frozen.has(Number(process)) && begunAt.get(attempt)! > (knownAt.get(key) ?? Infinity);
  });
}

/** Freezes a worker until the others have rescued its jobs. */
export async function freezePastTimeout(bench: Bench, worker: JobsProcess): Promise<void> {
  const { worker: workerId } = await worker.logged("Ready");
  await bench.freeze(worker);
  await bench.until(
    async () => !(await bench.store.workers.list()).some((one) => one.id === workerId),
    "the frozen worker is offline",
  );
  worker.kill("SIGCONT");
}
