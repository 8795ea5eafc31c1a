/**
 * The listener: hears what others ask of this process through the store (`jobs quiet`, `stop`, `dump`, Sidekiq's Web
 * UI), and puts it into the same inbox as signals.
 *
 * @module
 */
import type { Command, Store } from "../store/store.ts";
import type { LoopBody } from "./service.ts";
import type { Inbox, Verb } from "./signals.ts";

const VERBS: Readonly<Partial<Record<Command["verb"], Verb>>> = {
  quiet: "quiet",
  resume: "resume",
  stop: "stop",
  dump: "dump",
};

/** Its loop's task is `listener`. */
export class Listener implements LoopBody<void> {
  readonly name = "listener";
  readonly #store: Store;
  readonly #identity: string;
  readonly #inbox: Inbox;
  readonly #onCancel: (jid: string) => void;
  readonly #stop = new AbortController();

  constructor(options: { store: Store; identity: string; inbox: Inbox; onCancel: (jid: string) => void }) {
    this.#store = options.store;
    this.#identity = options.identity;
    this.#inbox = options.inbox;
    this.#onCancel = options.onCancel;
  }

  /** Waits for commands and hands them on. */
  async step(): Promise<void> {
    this.hear(await this.#store.receive(this.#identity, this.#stop.signal));
  }

  /** Hands commands on, however they came. */
  hear(commands: readonly Command[]): void {
    for (const { verb, id, jid } of commands) {
      // At once, and while stopping too: it is about a job, not about the process.
      if (verb === "cancel" && jid !== undefined) this.#onCancel(jid);
      const known = VERBS[verb];
      if (known === undefined) continue;
      this.#inbox.put({ verb: known, by: "command", ...(id && { reply: (text) => this.#store.reply(id, text) }) });
    }
  }

  /** The step is the waiting. */
  rest(): Promise<void> {
    return Promise.resolve();
  }

  /** Ends the step under way. */
  end(): void {
    this.#stop.abort();
  }
}
