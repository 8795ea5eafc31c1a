/**
 * Remote commands: receives through the store what others request of this worker (`jobs quiet`, `stop`, `dump`, `cancel`,
 * Sidekiq's Web UI), and puts it into the same inbox as signals.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { ServerStore } from "../../store/port/store.ts";
import type { Command } from "../../store/port/workers.ts";
import type { LoopBody } from "../component.ts";
import type { Inbox, Verb } from "./signals.ts";
import type { Cancellations } from "./cancellations.ts";

const VERBS: Readonly<Partial<Record<Command["verb"], Verb>>> = {
  quiet: "quiet",
  resume: "resume",
  stop: "stop",
  dump: "dump",
};

/** Pause after a step without commands: a store that is closed returns at once. */
const RETRY_MS = 1_000;

/** Options of {@linkcode RemoteCommands}. */
export interface RemoteCommandsOptions {
  readonly store: ServerStore;
  readonly clock: Clock;
  readonly worker: string;
  readonly inbox: Inbox;
  /** Receives the requests to cancel a job. */
  readonly cancellations: Pick<Cancellations, "cancel" | "stop">;
}

/** Receives commands. Its loop's task is `remote-commands`. */
export class RemoteCommands implements LoopBody<number> {
  readonly name = "remote-commands";
  readonly #options: RemoteCommandsOptions;

  constructor(options: RemoteCommandsOptions) {
    this.#options = options;
  }

  /** Waits for commands and accepts them. Returns their number. */
  async step(signal: AbortSignal): Promise<number> {
    const { store, worker } = this.#options;
    const commands = await store.workers.receive(worker, signal);
    this.accept(commands);
    return commands.length;
  }

  /** Accepts commands, also those that came with a heartbeat. */
  accept(commands: readonly Command[]): void {
    const { store, inbox, cancellations } = this.#options;
    for (const { verb, id, jid } of commands) {
      // At once, also during a stop: it concerns a job, not the worker.
      if (verb === "cancel" && jid !== undefined) void cancellations.cancel(jid);
      const known = VERBS[verb];
      if (known === undefined) continue;
      inbox.put({ verb: known, by: "command", ...(id && { reply: (text) => store.workers.reply(id, text) }) });
    }
  }

  end(): void {
    this.#options.cancellations.stop();
  }

  rest(received: number, signal: AbortSignal): Promise<void> {
    return received > 0 ? Promise.resolve() : this.#options.clock.sleep(RETRY_MS, signal);
  }
}
