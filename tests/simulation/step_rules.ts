/**
 * The rules of durable steps: a stored step keeps its value and doesn't run again, sleeps last, a signal ends one wait, and the end
 * of a child reaches its parent.
 *
 * @module
 */
import type { NewWait, StepLease, Wait } from "../../src/store/port/steps.ts";
import type { JobPlan } from "./jobs.ts";
import type { Model, Run } from "./model.ts";
import type { World } from "./world.ts";

/** The end of a job is stored this soon. */
const SETTLE_MS = 15_000;
/** Clocks count whole milliseconds. */
const ROUNDING_MS = 2;

export class StepRules {
  readonly #world: World;
  readonly #model: Model;
  readonly #stored = new Map<string, unknown>();
  readonly #firstAt = new Map<string, number>();
  readonly #received = new Map<number, string>();
  readonly #sent = new Map<number, { readonly key: string; readonly at: number }>();
  /** When an operator last changed the steps of a job. */
  readonly #touchedAt = new Map<string, number>();
  readonly #killedAt = new Map<string, number>();
  /** The child of a step, as the store has it. */
  readonly #children = new Map<string, string>();
  /** The last item that was done, by iteration. */
  readonly #items = new Map<string, number>();
  /** The jobs that wait for a child, with the names of their steps. */
  readonly parents = new Map<string, string>();
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

  /** An item of an iteration begins, or its end is near: the one after the last. Items have numbers from 1 on. */
  item(id: string, name: string, { jid }: Run, item: number): void {
    const done = this.#items.get(`${jid} ${name}`) ?? 0;
    if (item > done + 1) this.#world.fail("no item is skipped", `${name} of ${id}: ${item} begins, ${done} are done`);
  }

  itemDone(name: string, { jid }: Run, item: number): void {
    const key = `${jid} ${name}`;
    this.#items.set(key, Math.max(item, this.#items.get(key) ?? 0));
  }

  /** A sleep or a wait begins, perhaps again. */
  waits(name: string, { id, jid }: Run): void {
    const key = `${jid} ${name}`;
    if (name.startsWith("child")) this.parents.set(id, name);
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
    this.#sent.set(signal, { key, at: this.#world.time });
  }

  /** Signals that no job waits for stay in the store that is left. */
  signalsStay(): void {
    this.#sent.clear();
  }

  touched(id: string): void {
    this.#touchedAt.set(id, this.#world.time);
    this.#killedAt.delete(id);
  }

  /** An operator was told that a job is dead. */
  killed(id: string): void {
    this.#killedAt.set(id, this.#world.time);
  }

  /** An operator has deleted steps of a job. */
  cleared(jid: string): void {
    for (const key of this.#firstAt.keys()) if (key.startsWith(`${jid} `)) this.#firstAt.delete(key);
  }

  /** The store has begun or continued a wait. */
  stored({ jid }: StepLease, { name }: NewWait, wait: Wait | undefined): void {
    const { child } = wait === undefined ? {} : JSON.parse(wait.record);
    if (child !== undefined) this.#children.set(`${jid} ${name}`, child);
  }

  /**
   * A child has ended, as its parent sees it. After its step was deleted another child runs, and the end of the old one doesn't count.
   */
  childEnded(parent: string, run: Run, step: string, { id }: JobPlan, value: unknown): void {
    this.parents.delete(parent);
    if (value === undefined) return;
    const child = this.#children.get(`${run.jid} ${step}`);
    // An earlier run that has lost its lease may have read its steps before.
    const isLast = this.#model.runsOf(parent).at(-1) === run;
    if (isLast && child !== undefined && value !== `${id} ${child}`) {
      this.#world.fail("an old child ends no new wait", `${parent} got ${value}, and waited for ${child}`);
    }
    if (this.#model.touched.has(parent) || this.#model.touched.has(id)) return;
    const hasRun = this.#model.runsOf(id).some(({ how }) => how === "returned" || how === "aborted");
    if (hasRun && String(value).startsWith(`${id} `)) return;
    this.#world.fail("a parent gets the result of its child", `${parent} got ${JSON.stringify(value)} of ${id}`);
  }

  /** Whether a job that didn't end may have received a signal. It is in its steps, and gone with them. A dead job receives none. */
  #mayHave(key: string, at: number, dead: ReadonlySet<string>): boolean {
    const { sagas, touched } = this.#model;
    return sagas.entries().some(([id, { steps }]) => {
      const runs = this.#model.runsOf(id);
      const last = runs.at(-1);
      if (!touched.has(id) && runs.some(({ how }) => how === "returned")) return false;
      if ((this.#killedAt.get(id) ?? Infinity) < at) return false;
      if (!steps.some((step) => step.kind === "wait" && step.key === key)) return false;
      const diedAt = Math.max(last?.end ?? Infinity, this.#touchedAt.get(id) ?? 0) + SETTLE_MS;
      return last === undefined || !dead.has(last.jid) || at < diedAt;
    });
  }

  /**
   * @param kept the signals in the store
   * @param dead the jids in the dead set
   */
  judge(kept: ReadonlySet<number>, dead: ReadonlySet<string>): void {
    for (const [signal, { key, at }] of this.#sent) {
      if (!kept.has(signal) && !this.#received.has(signal) && !this.#mayHave(key, at, dead)) {
        this.#world.fail("a signal isn't lost", `signal ${signal} for ${key} ended no wait, and isn't kept`);
      }
    }
  }
}
