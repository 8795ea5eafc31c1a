/**
 * The processes of horses: this program with a hidden subcommand, which connects to a socket of its parent.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import { ChildListener, type ExpectedChild } from "./child_listener.ts";
import { FrameConnection, type Frames, type FromHorse, type ToHorse } from "./ipc.ts";
import { eachLine, killGroup } from "./process_group.ts";
import { checkDescriptors, spawnSelf } from "./spawn_self.ts";

/** The hidden subcommand. */
const HORSE_COMMAND = "__horse";
/** The variable with the address of the parent's socket, the token of the horse, and the process ID of the parent. */
export const HORSE_VARIABLE = "JOBS_HORSE";

/** A process, as its parent sees it. */
export interface HorseProcess {
  readonly pid: number;
  /** Its connection; undefined if it has ended before it connected. */
  readonly connection: Promise<Frames<FromHorse, ToHorse> | undefined>;
  /** Resolves when it has ended. */
  readonly status: Promise<Deno.CommandStatus>;
  /** Kills it, with all processes that it has started. */
  kill(): void;
  /** Calls for each line that it prints. Resolves when it has ended, and all is read. */
  read(onLine: (line: string) => void): Promise<void>;
}

/** Starts processes. */
export interface HorseProcesses {
  /** Checks that one can be started. @throws {SpawnError} */
  check(): Promise<void>;
  /** Starts one, right after {@linkcode check}. @throws {SpawnError} */
  start(): HorseProcess;
}

/** Returns what starts this program as a horse. */
export function horseProcesses(options: { readonly clock: Clock; readonly log: Log }): HorseProcesses {
  const listener = new ChildListener(options);
  return {
    check: checkDescriptors,
    start() {
      const expected = listener.expect();
      try {
        return new SelfProcess(expected, options.clock);
      } catch (error) {
        expected.cancel();
        throw error;
      }
    },
  };
}

class SelfProcess implements HorseProcess {
  readonly connection: HorseProcess["connection"];
  readonly status: Promise<Deno.CommandStatus>;
  readonly #child: Deno.ChildProcess;
  readonly #clock: Clock;

  constructor({ address, token, connection, cancel }: ExpectedChild, clock: Clock) {
    this.#clock = clock;
    this.#child = spawnSelf({
      args: [HORSE_COMMAND],
      env: { [HORSE_VARIABLE]: JSON.stringify([address, token, Deno.pid]) },
      output: "piped",
    });
    this.connection = connection.then((socket) => socket && new FrameConnection(socket));
    this.status = this.#child.status.finally(cancel);
  }

  get pid(): number {
    return this.#child.pid;
  }

  kill(): void {
    killGroup(this.pid, "SIGKILL");
  }

  async read(onLine: (line: string) => void): Promise<void> {
    const { stdout, stderr, status } = this.#child;
    const child = { ended: status, clock: this.#clock };
    await Promise.all([stdout, stderr].map((stream) => eachLine(stream, child, onLine)));
  }
}
