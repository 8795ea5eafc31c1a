/**
 * The listener: hears what others ask of this process through the store (`jobs quiet`, `stop`, `dump`, Sidekiq's Web
 * UI), and puts it into the same inbox as signals.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { LoopBody } from "../service.ts";
import type { Inbox, Verb } from "./signals.ts";
import type { Command } from "../../store/port/workers.ts";
import type { ServerStore } from "../../store/port/store.ts";

const VERBS: Readonly<Partial<Record<Command["verb"], Verb>>> = {
  quiet: "quiet",
  resume: "resume",
  stop: "stop",
  dump: "dump",
};

const RETRY_MS = 1_000;

/** Its loop's task is `remote-commands`. */
export class RemoteCommands implements LoopBody<number> {
  readonly name = "remote-commands";
  readonly #store: ServerStore;
  readonly #identity: string;
  readonly #inbox: Inbox;
  readonly #clock: Clock;
  readonly #onCancel: (jid: string) => void;
  readonly #stop = new AbortController();

  constructor(
    options: { store: ServerStore; clock: Clock; identity: string; inbox: Inbox; onCancel: (jid: string) => void },
  ) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#identity = options.identity;
    this.#inbox = options.inbox;
    this.#onCancel = options.onCancel;
  }

  /** Waits for commands and hands them on. Returns how many. */
  async step(): Promise<number> {
    const commands = await this.#store.workers.receive(this.#identity, this.#stop.signal);
    this.hear(commands);
    return commands.length;
  }

  /** Hands commands on, however they came. */
  hear(commands: readonly Command[]): void {
    for (const { verb, id, jid } of commands) {
      // At once, and while stopping too: it is about a job, not about the process.
      if (verb === "cancel" && jid !== undefined) this.#onCancel(jid);
      const known = VERBS[verb];
      if (known === undefined) continue;
      this.#inbox.put({
        verb: known,
        by: "command",
        ...(id && { reply: (text) => this.#store.workers.reply(id, text) }),
      });
    }
  }

  /** The step is the waiting; a store that did not wait, because it is closed, must not be asked again at once. */
  rest(heard: number, signal: AbortSignal): Promise<void> {
    return heard > 0 ? Promise.resolve() : this.#clock.sleep(RETRY_MS, signal);
  }

  /** Ends the step under way. */
  end(): void {
    this.#stop.abort();
  }
}
