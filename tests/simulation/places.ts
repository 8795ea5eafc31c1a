/**
 * The processes of a simulation: places at which one worker runs after the other, a client, and an operator.
 *
 * @module
 */
import { defaultSettings, type Settings } from "../../src/config/settings.ts";
import { WEBHOOK_QUEUE } from "../../src/job/webhook.ts";
import { Launcher } from "../../src/server/launcher.ts";
import type { Thread } from "../../src/server/liveness/heartbeat.ts";
import { nameOf } from "../../src/store/port/groups.ts";
import type { Lease, RescueResult } from "../../src/store/port/jobs.ts";
import type { NewWait, StepLease, Wait } from "../../src/store/port/steps.ts";
import type { SettleResult } from "../../src/store/port/outcomes.ts";
import type { Store } from "../../src/store/admin/store.ts";
import type { Ground } from "./ground.ts";
import { horsesOf } from "./horses.ts";
import { handlersOn, ISOLATED, QUEUES } from "./jobs.ts";
import { CALM, Link, PARTS } from "./link.ts";
import type { Model } from "./model.ts";
import type { Mishap, Plan } from "./plan.ts";
import { Remote } from "./remote.ts";
import { startThread } from "./thread.ts";
import { Machine, type World } from "./world.ts";

const HEARTBEAT_MS = 4_000;
const HEARTBEAT_TIMEOUT_MS = 10_000;
const SHUTDOWN_TIMEOUT_MS = 3_000;
/** An isolated process has this long to end an aborted job. */
const KILL_AFTER_MS = 2_000;
/** Commands are lost for this long. */
const MISHAP_MS = 5_000;

/** A process that is connected to the store. */
export interface Process {
  readonly machine: Machine;
  readonly link: Link;
  readonly store: Store;
}

interface Place {
  readonly machine: Machine;
  readonly link: Link;
  /** The line of the heartbeat's thread, if it has one. */
  readonly thread: Link | undefined;
  /** Undefined while it starts. */
  launcher: Launcher | undefined;
}

export interface Surroundings {
  readonly ground: Ground;
  readonly plan: Plan;
  readonly world: World;
  readonly model: Model;
}

/** The settings of all workers. */
export function settingsOf({ concurrency, cron, hooked, isolated }: Plan): Settings {
  return {
    ...defaultSettings(),
    ...{ concurrency, cron },
    queues: [...QUEUES, ...hooked ? [WEBHOOK_QUEUE] : []].map((name) => ({ name, weight: 0 })),
    heartbeatMs: HEARTBEAT_MS,
    heartbeatTimeoutMs: HEARTBEAT_TIMEOUT_MS,
    shutdownTimeoutMs: SHUTDOWN_TIMEOUT_MS,
    isolate: isolated ? ISOLATED : [],
    killAfterMs: KILL_AFTER_MS,
  } as Settings;
}

/** The end of the ID of a worker. */
export function nonceOf(number: number): string {
  return String(number).padStart(12, "0");
}

export class Places {
  readonly #in: Surroundings;
  readonly #places: Place[] = [];
  readonly #links = new Set<Link>();
  #workers = 0;
  #isCalm = false;
  #outageUntil = 0;
  #isStopped = false;

  /** A worker in another program; undefined in most runs. */
  readonly remote: Remote | undefined;

  constructor(surroundings: Surroundings) {
    this.#in = surroundings;
    if (surroundings.plan.remote) this.remote = new Remote(surroundings, this);
  }

  /** The number of the next worker. */
  nextWorker(): number {
    return ++this.#workers;
  }

  /** Starts a process without a worker, connected to the store. */
  async open(name: string): Promise<Process> {
    const { machine, link } = this.process(name);
    link.cut(this.#outageUntil);
    return { machine, link, store: await this.#in.ground.connect(machine, link) };
  }

  /**
   * Starts a process that has a line to another one.
   *
   * @param main it is a thread of the process on that machine
   */
  process(name: string, main?: Machine): Pick<Process, "machine" | "link"> {
    const { world, model, plan } = this.#in;
    const machine = new Machine(name, world, main);
    if (main) main.thread = machine;
    const link = new Link(machine, this.#isCalm ? CALM : plan.weather, {
      faulted: () => model.hit(main ?? machine, 25_000),
      taken: (name, count) => model.starts.taken(name, count),
      executed: (label, result, args) => {
        const [worker] = args;
        if (label === "batches.close" && args[1] === "cancelled") model.groups.cancelled(args[0] as string);
        if (label === "jobs.take" && (result as readonly Lease[]).length > 0) {
          model.groups.taken(result as readonly Lease[]);
          for (const { queue, group } of result as readonly Lease[]) link.observer.taken(nameOf(queue, group), 1);
          machine.onTake();
          machine.onTake = () => {};
        }
        if (label === "jobs.rescue") model.rescued(result as RescueResult);
        if (label === "steps.wait") model.steps.stored(...args as [StepLease, NewWait], result as Wait | undefined);
        // A rescuer settles the dead jobs of others.
        const isOwn = typeof worker === "string" && model.machines.get(worker.slice(-12)) === machine;
        if (label === "jobs.settle" && isOwn) model.settled(machine, (result as SettleResult).lost);
      },
    }, plan.hooked ? [...PARTS, "webhooks"] : PARTS);
    this.#links.add(link);
    return { machine, link };
  }

  /** Ends a process at once. */
  end({ machine, link }: Pick<Process, "machine" | "link">): void {
    const { world, model } = this.#in;
    world.note(`${machine.name} is killed`);
    machine.kill();
    this.#links.delete(link);
    for (const other of this.#links) if (other.machine.state === "dead") this.#links.delete(other);
    model.killed(machine);
  }

  /** Starts a worker at a place. */
  async start(of: number): Promise<void> {
    if (this.#isStopped) return;
    const { world, model, plan } = this.#in;
    const number = this.nextWorker();
    const { machine, link, store } = await this.open(`w${of}.${number}`);
    machine.onCrash = () => this.kill(of, 1_000);
    const thread = plan.threads ? this.process(`${machine.name} thread`, machine) : undefined;
    const place: Place = this.#places[of] = { machine, link, thread: thread?.link, launcher: undefined };
    world.note(`${machine.name} starts`);
    model.machines.set(nonceOf(number), machine);
    const launcher = new Launcher({
      ...{
        store,
        settings: { ...settingsOf(plan), ...(plan.named && { name: `place${of}` }) },
        storeUrl: thread ? "simulated:" : "sqlite::memory:",
        clock: machine.clock,
      },
      ...(thread && { startThread: () => Promise.resolve(this.#startThread(machine, thread)) }),
      registry: handlersOn(machine, model),
      horseProcesses: horsesOf(machine, model, (horse) => handlersOn(horse, model, machine)),
      nonce: nonceOf(number),
    });
    launcher.start().then(() => place.launcher = launcher, (error) => {
      // A start without a store ends the process. systemd starts it again.
      world.note(`${machine.name} doesn't start: ${(error as Error).message}`);
      this.kill(of, 1_000);
    });
  }

  #startThread(main: Machine, { machine, link }: Pick<Process, "machine" | "link">): Thread {
    link.cut(this.#outageUntil);
    return startThread(main, machine, async () => {
      const store = await this.#in.ground.connect(machine, link);
      return { ...store, [Symbol.asyncDispose]: () => Promise.resolve() };
    });
  }

  /** The process that runs at a place now, or did last. */
  at(of: number): Readonly<Place> {
    return this.#places[of % this.#places.length]!;
  }

  get all(): readonly Readonly<Place>[] {
    return this.#places;
  }

  /** Kills the worker at a place, and starts another one later. */
  kill(of: number, downMs: number): void {
    const { world } = this.#in;
    if (this.at(of).machine.state === "dead") return;
    this.end(this.at(of));
    world.at(world.time + downMs, undefined, () => this.start(of));
  }

  /** Kills all processes; of a worker no other one starts. */
  killAll(): void {
    this.#isStopped = true;
    this.remote?.kill();
    for (const of of this.#places.keys()) this.kill(of, 0);
    for (const link of this.#links) link.machine.kill();
    this.#links.clear();
  }

  /** Starts the workers again. */
  startAll(): void {
    this.#isStopped = false;
    this.remote?.start();
    for (const of of this.#places.keys()) void this.start(of);
  }

  /** Stops the worker at a place orderly, and starts another one. */
  async restart(of: number): Promise<void> {
    const { machine, launcher } = this.at(of);
    if (launcher === undefined || machine.state !== "running") return;
    this.#in.model.hit(machine, 10_000);
    launcher.inbox.put({ verb: "stop", by: "operator" });
    await launcher.finished;
    this.kill(of, 100);
  }

  /** Lets the worker of a job that an operator cancels meet a mishap. */
  meets(worker: string | undefined, mishap: Mishap = "none"): void {
    const { world, model } = this.#in;
    const machine = model.machines.get(worker?.slice(-12) ?? "");
    const of = this.#places.findIndex((place) => place.machine === machine);
    if (machine === undefined || of === -1) return;
    model.hit(machine, MISHAP_MS);
    if (mishap.includes("lost")) {
      model.deaf.add(machine);
      for (const link of this.linksOf(of)) link.loseCommands(MISHAP_MS);
    }
    const later = (run: () => void) => void world.at(world.time + world.random.next() * 500, undefined, run);
    if (mishap.includes("stop")) later(() => void this.restart(of));
    if (mishap === "kill") later(() => this.kill(of, 1_000));
  }

  /** The lines of the worker at a place to the store. */
  linksOf(of: number): Link[] {
    const { link, thread } = this.at(of);
    return thread ? [link, thread] : [link];
  }

  /** Cuts all processes off from the store. A replica may take the store's place after the trouble: then at once. */
  cutAll(forMs: number): void {
    if (this.#isCalm) return;
    this.#outageUntil = Math.max(this.#outageUntil, this.#in.world.time + forMs);
    for (const link of this.#links) link.cut(this.#outageUntil);
  }

  /** Whether no worker is frozen or starts, and the program and its server run. */
  get areAwake(): boolean {
    return this.remote?.isUp !== false &&
      this.#places.every(({ machine: { state }, launcher }) =>
        state === "dead" || state === "running" && launcher !== undefined
      );
  }

  /** Whether the next worker of one that was killed hasn't come. */
  get haveDead(): boolean {
    return this.#places.some(({ machine }) => machine.state === "dead");
  }

  /** Whether none of these workers was killed: the others have forgotten those. */
  areAll(workers: readonly string[]): boolean {
    const { machines } = this.#in.model;
    return workers.every((worker) => machines.get(worker.slice(-12))?.state === "running");
  }

  /** Ends all trouble: every process is connected and takes jobs. Frozen ones thaw in their time. */
  calm(): void {
    this.#isCalm = true;
    this.#outageUntil = 0;
    this.remote?.calm();
    for (const link of this.#links) link.mend(CALM);
    for (const { machine, launcher } of this.#places) {
      machine.onTake = () => {};
      machine.clockError = 0;
      void launcher?.resume();
    }
  }

  /** Stops all workers. Returns a function that returns how many have not stopped. */
  stopAll(): () => number {
    this.#isStopped = true;
    let left = 0;
    if (this.remote) {
      left++;
      void this.remote.stop().then(() => left--);
    }
    for (const { machine, launcher } of this.#places) {
      if (machine.state !== "running" || launcher === undefined) continue;
      left++;
      launcher.inbox.put({ verb: "stop", by: "simulation" });
      void launcher.finished.finally(() => left--);
    }
    return () => left;
  }
}
