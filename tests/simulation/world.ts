/**
 * The world of a simulation: virtual time, the events in it, and the machines on which the processes run.
 *
 * All that a simulated process waits for is an event of this world: a sleep, a turn of the event loop, the arrival of a call at
 * the store, the arrival of its reply. The world performs one event at a time, lets the code that it wakes run until all of it
 * waits again, and then performs the next one. So one seed gives one order of events.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import type { Clock } from "../../src/clock.ts";
import type { Random } from "./random.ts";

// deno-lint-ignore no-explicit-any -- not in the types of the runtime
const { runMicrotasks } = (Deno as any)[(Deno as any).internal].core;

/** 2026-01-01, the beginning of each simulation. */
const BEGINNING = Date.UTC(2026, 0, 1);
const MIN_SLEEP_MS = 0.001;
/** More events in one virtual second are a loop that never rests. */
const MAX_EVENTS_PER_SECOND = 20_000;

interface Event {
  at: number;
  order: number;
  /** The machine that it wakes; undefined if it is outside of all. */
  readonly machine: Machine | undefined;
  run: (() => void | Promise<void>) | undefined;
}

/** A broken rule, in one line. The run ends with it. */
export class Failure extends Error {
  /** The rule that was broken: a smaller trace has to break the same one. */
  readonly rule: string;

  constructor(rule: string, message: string) {
    super(`${rule}: ${message}`);
    this.rule = rule;
  }
}

export class World {
  readonly random: Random;
  /** Milliseconds since the beginning. */
  time = 0;
  /** The latest call that is late has arrived by then. */
  lateUntil = 0;
  /** The calls under way have arrived by then. */
  arrivedBy = 0;
  /** Events performed so far. */
  events = 0;
  /** The lines of the log, if it is kept. */
  readonly log: string[] | undefined;
  #hash = 0x811c9dc5;
  readonly #heap = new Heap();
  #order = 0;
  #failure: Failure | undefined;
  #second = { from: 0, events: 0 };
  /** Looks for contradictions in the store, after each event. */
  check: () => void | Promise<void> = () => {};
  #isChecked = true;
  /** The event that waits for something real. */
  #waits: Promise<void> | undefined;

  constructor(random: Random, { log = false }: { readonly log?: boolean } = {}) {
    this.random = random;
    this.log = log ? [] : undefined;
  }

  /** The wall clock of everything that isn't on a machine with a wrong clock. */
  get now(): number {
    return BEGINNING + this.time;
  }

  /** A number that differs if the events did. */
  get trace(): string {
    return `${this.#hash.toString(16).padStart(8, "0")}-${this.events}`;
  }

  /** Adds a line to the trace. */
  note(line: string): void {
    for (let i = 0; i < line.length; i++) this.#hash = Math.imul(this.#hash ^ line.charCodeAt(i), 0x01000193) >>> 0;
    this.#hash = Math.imul(this.#hash ^ Math.round(this.time * 1_000), 0x01000193) >>> 0;
    this.log?.push(`${(this.time / 1_000).toFixed(3).padStart(9)}  ${line}`);
  }

  /** Ends the run. The first failure counts. */
  fail(rule: string, message: string): void {
    this.#failure ??= new Failure(rule, message);
    this.note(`FAILURE ${rule}: ${message}`);
  }

  /** @throws {Failure} the first one */
  throwFailure(): void {
    if (this.#failure) throw this.#failure;
  }

  /** Schedules an event. Returns a function that removes it. */
  at(time: number, machine: Machine | undefined, run: () => void | Promise<void>): () => void {
    const event: Event = { at: Math.max(time, this.time), order: this.#order++, machine, run };
    this.#heap.push(event);
    return () => event.run = undefined;
  }

  /** Schedules a held event for now. */
  again(event: Event): void {
    event.at = this.time;
    event.order = this.#order++;
    this.#heap.push(event);
  }

  /**
   * Performs events until a condition holds, or until a time.
   *
   * @returns whether the condition held
   * @throws {Failure}
   */
  async until(isDone: () => boolean, time: number): Promise<boolean> {
    for (;;) {
      const end = await new Promise<boolean | undefined>((resolve, reject) => {
        setImmediate(() => {
          try {
            resolve(this.#performAll(isDone, time));
          } catch (error) {
            reject(error);
          }
        });
      });
      if (end !== undefined) return end;
      await this.#waits;
    }
  }

  /**
   * Performs events without a turn of the event loop, which costs more than most events do.
   *
   * @returns whether the condition held; undefined if an event waits for something real, such as a socket
   */
  #performAll(isDone: () => boolean, time: number): boolean | undefined {
    runMicrotasks();
    for (;;) {
      this.throwFailure();
      if (!this.#isChecked) {
        this.#isChecked = true;
        this.#waits = this.#runAll(this.check);
        if (this.#waits !== undefined) return undefined;
        continue;
      }
      if (isDone()) return true;
      const event = this.#heap.first;
      if (event === undefined || event.at > time) {
        this.time = Math.max(this.time, time);
        return false;
      }
      this.#heap.pop();
      this.#waits = this.#perform(event);
      if (this.#waits !== undefined) return undefined;
    }
  }

  /** Performs one event. Returns its promise if that isn't settled then. */
  #perform(event: Event): Promise<void> | undefined {
    const { machine, run } = event;
    if (run === undefined || machine?.state === "dead") return;
    if (machine?.state === "frozen" || machine?.state === "blocked") {
      machine.held.push(event);
      return;
    }
    this.time = Math.max(this.time, event.at);
    this.events++;
    this.#isChecked = false;
    if (this.time >= this.#second.from + 1_000) this.#second = { from: this.time, events: 0 };
    if (++this.#second.events > MAX_EVENTS_PER_SECOND) {
      this.fail("no loop spins", `more than ${MAX_EVENTS_PER_SECOND} events in one second`);
    }
    event.run = undefined;
    return this.#runAll(run);
  }

  /** Runs a function, and the code that it wakes. Returns its promise if that isn't settled then. */
  #runAll(run: () => void | Promise<void>): Promise<void> | undefined {
    const running: unknown = run();
    let isOver = !(running instanceof Promise);
    if (running instanceof Promise) void running.then(() => isOver = true);
    runMicrotasks();
    return isOver ? undefined : running as Promise<void>;
  }
}

/** A machine with one process. A restart is another machine. */
export class Machine {
  readonly name: string;
  readonly world: World;
  /** `blocked`: a handler doesn't yield, and its thread runs on. */
  state: "running" | "frozen" | "blocked" | "dead" = "running";
  /** Events that became due while it was frozen. */
  readonly held: Event[] = [];
  /** By how much its wall clock is wrong. */
  clockError = 0;
  readonly clock: Clock;
  /** Nothing reached it until then. */
  deafUntil = 0;
  /** Called when the store has given it jobs. */
  onTake = () => {};
  /** Kills it from within. */
  onCrash = () => {};
  /** Another thread of its process: it is frozen and killed with it. */
  thread: Machine | undefined;
  /** The processes that it has started: they are killed with it. */
  readonly children: Machine[] = [];
  readonly #began: number;

  /** @param main where the worker is whose thread or process this is: they have one clock */
  constructor(name: string, world: World, main?: Machine) {
    this.name = name;
    this.world = world;
    this.#began = world.time;
    this.clock = {
      now: () => Math.round(world.now + (main ?? this).clockError),
      monotonic: () => world.time - this.#began,
      turn: () => new Promise((resolve) => void world.at(world.time, this, resolve)),
      sleep: (ms, signal) => this.#sleep(ms, signal),
    };
  }

  /** Calls a function again and again, until the returned function is called. */
  repeat(ms: number, call: () => void): () => void {
    let cancel: () => void;
    const next = () => {
      cancel = this.world.at(this.world.time + ms, this, () => {
        next();
        call();
      });
    };
    next();
    return () => cancel();
  }

  /** Ends it at once: nothing of it runs any more. */
  kill(): void {
    this.state = "dead";
    this.held.length = 0;
    for (const other of [...this.children, ...this.thread ? [this.thread] : []]) other.kill();
  }

  freeze(): void {
    if (this.state !== "dead") this.state = "frozen";
    this.thread?.freeze();
  }

  /** Lets a handler keep its event loop until {@linkcode unblock}. */
  block(): void {
    if (this.state === "running") this.state = "blocked";
  }

  unblock(): void {
    if (this.state === "blocked") this.#goOn();
  }

  thaw(): void {
    if (this.state === "frozen") this.#goOn();
    this.thread?.thaw();
  }

  #goOn(): void {
    this.state = "running";
    this.deafUntil = this.world.time;
    for (const event of this.held.splice(0)) this.world.again(event);
  }

  #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        cancel();
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      // A timer of less than the resolution of the clock would never get past it.
      const cancel = this.world.at(this.world.time + Math.max(MIN_SLEEP_MS, ms), this, wake);
      signal?.addEventListener("abort", wake, { once: true });
    });
  }
}

/** Events by time, and by the order in which they were scheduled. */
class Heap {
  readonly #events: Event[] = [];

  get first(): Event | undefined {
    return this.#events[0];
  }

  push(event: Event): void {
    const events = this.#events;
    let at = events.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (isBefore(events[parent]!, event)) break;
      events[at] = events[parent]!;
      at = parent;
    }
    events[at] = event;
  }

  pop(): void {
    const events = this.#events;
    const last = events.pop()!;
    if (events.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= events.length) break;
      if (child + 1 < events.length && isBefore(events[child + 1]!, events[child]!)) child++;
      if (isBefore(last, events[child]!)) break;
      events[at] = events[child]!;
      at = child;
    }
    events[at] = last;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || a.at === b.at && a.order < b.order;
}
