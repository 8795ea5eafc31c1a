/**
 * Receives the commands that others send to this worker through the store: `jobs quiet`, `stop`, `dump`, `cancel`, Sidekiq's Web UI.
 * Runs in the heartbeat's thread, or in the main thread where there is none.
 *
 * @module
 */
import { receiveCommands } from "../../store/ops/await.ts";
import type { Clock } from "../../clock.ts";
import type { ServerStore } from "../../store/port/store.ts";
import type { Command } from "../../store/port/workers.ts";

/** Pause after a step without commands: a store that is closed returns at once. */
const RETRY_MS = 1_000;

export interface CommandReceiverOptions {
  readonly store: Pick<ServerStore, "watch" | "workers">;
  readonly clock: Clock;
  readonly worker: string;
  readonly accept: (commands: readonly Command[]) => void | Promise<void>;
}

export class CommandReceiver {
  readonly #options: CommandReceiverOptions;

  constructor(options: CommandReceiverOptions) {
    this.#options = options;
  }

  /** Receives commands until the signal aborts. Never rejects: the store logs its failures, or the next heartbeat does. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, clock, worker, accept } = this.#options;
    while (!signal.aborted) {
      const commands = await receiveCommands(store, worker, signal).catch(() => []);
      if (commands.length > 0) await accept(commands);
      else await clock.sleep(RETRY_MS, signal);
    }
  }
}
