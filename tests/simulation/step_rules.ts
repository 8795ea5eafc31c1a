/**
 * The rules of durable steps: a stored step keeps its value and doesn't run again, sleeps last, a signal ends one wait, and the end
 * of a child reaches its parent.
 *
 * @module
 */
import type { JobPlan } from "./jobs.ts";
import type { Model, Run } from "./model.ts";
import type { World } from "./world.ts";

/** Clocks count whole milliseconds. */
const ROUNDING_MS = 2;

export class StepRules {
  readonly #world: World;
  readonly #model: Model;
  readonly #stored = new Map<string, unknown>();
  readonly #firstAt = new Map<string, number>();
  readonly #received = new Map<number, string>();
  readonly #sent = new Map<number, string>();
  #signals = 0;

  constructor(world: World, model: Model) {
    this.#world = world;
    this.#model = model;
  }

  /**
   * A step's function runs. The run that has the lease knows all stored steps. A worker that was frozen or cut off learns later that
   * it has lost it: it repeats a step that another run has stored meanwhile.
   */
  async runs(id: string, name: string, run: Run): Promise<void> {
    const model = this.#model;
    if (!this.#stored.has(`${run.jid} ${name}`) || model.touched.has(id)) return;
    const holder = await model.holder(run);
    const isHolder = holder !== undefined && model.machines.get(holder.slice(-12)) === run.machine;
    const isLast = model.runsOf(id).at(-1) === run;
    if (!(isHolder && isLast) && model.wasHit(run.machine, run.start, this.#world.time)) return;
    this.#world.fail("a stored step doesn't run again", `${name} of ${id}`);
  }

  /** A step has returned its stored value. */
  returned<Value>(id: string, name: string, { jid }: Run, value: Value): Value {
    if (this.#model.touched.has(id)) return value;
    const before = this.#stored.getOrInsert(`${jid} ${name}`, value);
    if (before !== value) {
      this.#world.fail("a stored step keeps its value", `${name} of ${id}: ${before}, then ${value}`);
    }
    return value;
  }

  /** A sleep or a wait begins, perhaps again. */
  waits(name: string, { jid }: Run): void {
    const key = `${jid} ${name}`;
    if (!this.#firstAt.has(key)) this.#firstAt.set(key, this.#world.time);
  }

  /** A sleep has ended, or a wait has timed out. */
  timedOut(id: string, name: string, { jid }: Run, ms: number): void {
    const lasted = this.#world.time - this.#firstAt.get(`${jid} ${name}`)!;
    if (lasted >= ms - ROUNDING_MS || this.#model.touched.has(id) || this.#model.clocksJumped) return;
    this.#world.fail("a sleep lasts", `${name} of ${id} ended after ${Math.round(lasted)} of ${ms} ms`);
  }

  /** A wait has ended with a signal. */
  received(signal: number, by: string): void {
    const other = this.#received.get(signal);
    if (other !== undefined && other !== by && !this.#model.isUndone) {
      this.#world.fail("a signal ends one wait", `signal ${signal} ended ${other} and ${by}`);
    }
    this.#received.set(signal, by);
  }

  /** Returns the data of a new signal. */
  newSignal(): number {
    return ++this.#signals;
  }

  /** The store has acknowledged a signal. */
  sent(signal: number, key: string): void {
    this.#sent.set(signal, key);
  }

  /** Signals that no job waits for stay in the store that is left. */
  signalsStay(): void {
    this.#sent.clear();
  }

  /** A child has ended, as its parent sees it. */
  childEnded(parent: string, { id }: JobPlan, value: unknown): void {
    if (this.#model.touched.has(parent) || this.#model.touched.has(id)) return;
    const hasRun = this.#model.runsOf(id).some(({ how }) => how === "returned" || how === "aborted");
    if (value === undefined || value === id && hasRun) return;
    this.#world.fail("a parent gets the result of its child", `${parent} got ${JSON.stringify(value)} of ${id}`);
  }

  /** @param kept the signals in the store */
  judge(kept: ReadonlySet<number>): void {
    const hasEnded = (id: string) => this.#model.runsOf(id).some(({ how }) => how === "returned");
    // A signal that a job has received is in its steps, and gone with a job that never ends.
    if ([...this.#model.sagas.keys()].some((id) => this.#model.touched.has(id) || !hasEnded(id))) return;
    for (const [signal, key] of this.#sent) {
      if (!kept.has(signal) && !this.#received.has(signal)) {
        this.#world.fail("a signal isn't lost", `signal ${signal} for ${key} ended no wait, and isn't kept`);
      }
    }
  }
}
