/**
 * The way from a process to the store. Each call of the port is sent, executed and answered, as three events of the world. On its
 * way it may be late, or lost before or after its execution.
 *
 * @module
 */
import type { Store } from "../../src/store/admin/store.ts";
import { StoreError } from "../../src/store/port/errors.ts";
import type { Topic } from "../../src/store/port/watch.ts";
import type { Machine } from "./world.ts";

/** A fault of one call; the last one only of a take. */
export type CallFault = "lost before" | "lost after" | "late" | "late take";

/** The parts of the store whose properties are verbs, but for those that answer at once. */
export const PARTS = [
  ...["jobs", "workers", "cron", "steps", "batches", "flows", "results", "logs", "series", "classes"] as const,
  ...["admin", "sessions", "transfer", "streams"] as const,
];
type Parts = readonly Extract<keyof Store, string>[];

/** How long a call and its reply are under way, in milliseconds. */
export interface Weather {
  /** The usual maximum. */
  readonly usualMs: number;
  /** The share of calls that take up to `slowMs`. */
  readonly slow: number;
  readonly slowMs: number;
}

/** The weather after all trouble. */
export const CALM: Weather = { usualMs: 2, slow: 0, slowMs: 0 };

/** A reply is never lost of these: their callers can't know what they got. Redis, where replies are lost, keeps a book of them. */
const ALWAYS_ANSWERED: ReadonlySet<string> = new Set(["jobs.take"]);

/** How the calls of a store are executed. */
export interface LinkedStore {
  /** Executes a call. Default: as it is. */
  readonly perform?: (label: string, execute: () => unknown) => unknown;
  /** Parts whose calls are sent, too. The other ones must answer at once. */
  readonly more?: readonly Extract<keyof Store, string>[];
}

/** Watches the calls of a link. */
export interface LinkObserver {
  /** A call meets a fault. */
  faulted(): void;
  /** The store has executed a call. */
  executed(label: string, result: unknown, args: readonly unknown[]): void;
  /** The store has given jobs of a queue, or of a group of it. */
  taken(name: string, count: number): void;
}

/** The line of one process to the store. */
export class Link {
  /** Calls from here on that meet a fault, in order. */
  readonly faults: (CallFault | undefined)[] = [];
  /** Until then the store is unreachable. */
  #cutUntil = 0;
  #commandsLostUntil = 0;
  readonly machine: Machine;
  weather: Weather;
  /** Calls of one connection arrive in the order in which they were sent. */
  #arrives = 0;
  readonly observer: LinkObserver;
  readonly #parts: Parts;

  /** @param parts those whose calls are sent */
  constructor(machine: Machine, weather: Weather, observer: LinkObserver, parts: Parts = PARTS) {
    this.machine = machine;
    this.weather = weather;
    this.observer = observer;
    this.#parts = parts;
  }

  get isCut(): boolean {
    return this.machine.world.time < this.#cutUntil;
  }

  cut(until: number): void {
    this.#cutUntil = Math.max(this.#cutUntil, until);
    this.machine.deafUntil = this.#cutUntil;
  }

  /** Lets the replies with commands to its worker be lost for some time: their sender has been told that they are stored. */
  loseCommands(forMs: number): void {
    this.#commandsLostUntil = this.machine.world.time + forMs;
  }

  /** Ends all that is wrong with it. */
  mend(weather: Weather): void {
    this.#cutUntil = 0;
    this.#commandsLostUntil = 0;
    this.faults.length = 0;
    this.weather = weather;
  }

  /** Returns the store as its process sees it. */
  through(store: Store, { perform = (_, execute) => execute(), more = [] }: LinkedStore = {}): Store {
    const parts = [...this.#parts, ...more].map((part) => [part, this.#part(part, store[part] as object, perform)]);
    return {
      ...store,
      ...Object.fromEntries(parts),
      watch: (topic: Topic, signal: AbortSignal) => this.#watch(store, topic, signal),
    };
  }

  #part(name: string, part: object, perform: NonNullable<LinkedStore["perform"]>): object {
    return new Proxy(part, {
      get: (target, verb) => {
        const run = Reflect.get(target, verb);
        if (typeof run !== "function") return run;
        const label = `${name}.${String(verb)}`;
        return (...args: unknown[]) => this.#call(label, args, () => perform(label, () => run.apply(target, args)));
      },
    });
  }

  /** The store reports at once that a condition may hold; the process learns it later. */
  async #watch(store: Store, topic: Topic, signal: AbortSignal): Promise<boolean> {
    const { world, clock } = this.machine;
    const isOpen = await store.watch(topic, signal);
    await new Promise<void>((resolve) => void world.at(world.time + this.travel(), this.machine, resolve));
    // Without a connection nothing is reported, and nothing is known.
    if (this.isCut) await clock.sleep(1_000, signal);
    return isOpen && !signal.aborted;
  }

  #call(label: string, args: readonly unknown[], execute: () => unknown): Promise<unknown> {
    const machine = this.machine;
    const { world } = machine;
    const fault = this.faultOf(label);
    const lateMs = fault === "late" ? this.lateness() : 0;
    const arrives = this.#arrives = Math.max(this.#arrives, world.time + this.travel() + lateMs);
    world.arrivedBy = Math.max(world.arrivedBy, arrives);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    world.at(arrives, undefined, async () => {
      if (fault === "lost before" || this.isCut) {
        world.note(`${machine.name} ${label} lost`);
        return reply(() => reject(unreachable()));
      }
      // A rejected verb is one that the store has refused.
      const [outcome] = await Promise.allSettled([(async () => await execute())()]);
      if (outcome.status === "fulfilled") this.observer.executed(label, outcome.value, args);
      world.note(
        `${machine.name} ${label}${outcome.status === "rejected" ? ` ! ${outcome.reason?.message}` : ""}${
          fault ? ` (${fault})` : ""
        }`,
      );
      if (fault === "lost after" || this.isCut) reply(() => reject(unreachable()));
      else reply(() => outcome.status === "fulfilled" ? resolve(outcome.value) : reject(outcome.reason));
    });
    const reply = (settle: () => void) => void world.at(world.time + this.travel(), machine, settle);
    return promise;
  }

  /** Returns the fault that the next call meets. */
  faultOf(label: string): Exclude<CallFault, "late take"> | undefined {
    if (label === "workers.collect" && this.machine.world.time < this.#commandsLostUntil) return "lost after";
    const [first] = this.faults;
    if (first === "lost after" && ALWAYS_ANSWERED.has(label) || first === "late take" && !label.endsWith("take")) {
      return;
    }
    const fault = this.faults.shift();
    if (fault !== undefined) this.observer.faulted();
    return fault === "late take" ? "late" : fault;
  }

  /** Returns how much longer a late message is under way. */
  lateness(): number {
    const { world } = this.machine;
    const ms = 5_000 + world.random.next() * 20_000;
    world.lateUntil = Math.max(world.lateUntil, world.time + ms + this.weather.slowMs);
    return ms;
  }

  /** Returns how long a message is under way. */
  travel(): number {
    const { random } = this.machine.world;
    const { usualMs, slow, slowMs } = this.weather;
    return random.chance(slow) ? random.next() * slowMs : random.next() * usualMs;
  }
}

function unreachable(): StoreError {
  return new StoreError("unavailable", "Store doesn't reply; start it, or wait");
}
