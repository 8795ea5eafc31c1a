/**
 * The isolated processes of a simulated worker: each on a machine by itself, which is killed with its worker's. Frames between both are
 * events.
 *
 * @module
 */
import { HorseMain } from "../../src/handlers/isolation/horse_main.ts";
import type { HorseProcess, HorseProcesses } from "../../src/handlers/isolation/horse_process.ts";
import type { Frames, FromHorse, ToHorse } from "../../src/handlers/isolation/ipc.ts";
import type { Registry } from "../../src/handlers/registry.ts";
import type { Model } from "./model.ts";
import { Machine } from "./world.ts";

/** A frame is under way for this long at most. */
const FRAME_MS = 1;
/** A process connects within this time. */
const START_MS = 300;

/** Returns what starts the processes of a worker. @param handlersOn returns the handlers of a process */
export function horsesOf(main: Machine, model: Model, handlersOn: (machine: Machine) => Registry): HorseProcesses {
  let started = 0;
  return {
    check: () => Promise.resolve(),
    start: () => new Horse(main, model, ++started, handlersOn),
  };
}

class Horse implements HorseProcess {
  readonly pid: number;
  readonly connection: HorseProcess["connection"];
  readonly status: Promise<Deno.CommandStatus>;
  readonly kill: () => void;

  constructor(main: Machine, model: Model, number: number, handlersOn: (machine: Machine) => Registry) {
    const { world } = main;
    const machine = new Machine(`${main.name} horse${number}`, world, main);
    main.children.push(machine);
    this.pid = number;
    const [here, there] = FrameLine.pair<FromHorse, ToHorse>(main, machine);
    const connected = Promise.withResolvers<typeof here | undefined>();
    this.connection = connected.promise;
    const ended = Promise.withResolvers<Deno.CommandStatus>();
    this.status = ended.promise;
    const end = (status: Deno.CommandStatus) => {
      if (machine.state === "dead") return;
      world.note(`${machine.name} ends: ${status.signal ?? status.code}`);
      machine.kill();
      model.lostHorse(machine);
      there[Symbol.dispose]();
      world.at(world.time, main, () => {
        connected.resolve(undefined);
        ended.resolve(status);
      });
    };
    this.kill = () => end({ success: false, code: 137, signal: "SIGKILL" });
    machine.onCrash = () => end({ success: false, code: 139, signal: "SIGSEGV" });
    world.at(world.time + world.random.next() * START_MS, machine, () => {
      const horse = new HorseMain({
        parent: there,
        openTracing: () => Promise.resolve(undefined),
        load: (_modules, registry) => {
          for (const one of handlersOn(machine).list()) {
            registry.addInternal(one.class, one.perform, one.options, one.source);
          }
          return Promise.resolve({ pushMiddleware: [] });
        },
        clock: machine.clock,
      });
      void horse.run().then(() => end({ success: true, code: 0, signal: null }));
      world.at(world.time, main, () => connected.resolve(here));
    });
  }

  /** It prints nothing. */
  async read(): Promise<void> {
    await this.status;
  }
}

/** One end of a line for frames. */
class FrameLine<In, Out> implements Frames<In, Out> {
  readonly #machine: Machine;
  #other!: FrameLine<Out, In>;
  #onFrame: ((frame: In) => void) | undefined;
  readonly #closed = Promise.withResolvers<boolean>();
  #isClosed = false;
  /** When the latest frame arrives. */
  #arrives = 0;

  private constructor(machine: Machine) {
    this.#machine = machine;
  }

  static pair<In, Out>(one: Machine, other: Machine): [FrameLine<In, Out>, FrameLine<Out, In>] {
    const ends: [FrameLine<In, Out>, FrameLine<Out, In>] = [new FrameLine(one), new FrameLine(other)];
    [ends[0].#other, ends[1].#other] = [ends[1], ends[0]];
    return ends;
  }

  send(frame: Out): void {
    const { world } = this.#machine;
    const other = this.#other;
    if (this.#isClosed || other.#isClosed) return;
    const text = JSON.stringify(frame);
    other.#arrives = Math.max(other.#arrives, world.time + world.random.next() * FRAME_MS);
    world.at(other.#arrives, other.#machine, () => {
      if (!other.#isClosed) other.#onFrame?.(JSON.parse(text));
    });
  }

  deliver(frame: Out): Promise<boolean> {
    const isWritten = !this.#isClosed && !this.#other.#isClosed && this.#other.#machine.state !== "dead";
    this.send(frame);
    return Promise.resolve(isWritten);
  }

  read(onFrame: (frame: In) => void): Promise<boolean> {
    this.#onFrame = onFrame;
    return this.#closed.promise;
  }

  /** Closes both ends; the other one learns of it after the frames before. */
  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closed.resolve(true);
    const other = this.#other;
    const { world } = this.#machine;
    world.at(Math.max(other.#arrives, world.time), other.#machine, () => other[Symbol.dispose]());
  }
}
