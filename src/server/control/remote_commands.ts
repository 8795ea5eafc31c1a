/**
 * Remote commands: puts what others request of this worker into the same inbox as signals. `command_receiver.ts` receives it.
 *
 * @module
 */
import type { Command, WorkerStore } from "../../store/port/workers.ts";
import type { Task, Tasks } from "./tasks.ts";
import type { Component } from "../component.ts";
import type { Inbox, Verb } from "./signals.ts";
import type { Cancellations } from "./cancellations.ts";

const VERBS: Readonly<Partial<Record<Command["verb"], Verb>>> = {
  quiet: "quiet",
  resume: "resume",
  stop: "stop",
  dump: "dump",
};

export interface RemoteCommandsOptions {
  readonly store: { readonly workers: Pick<WorkerStore, "send"> };
  readonly inbox: Inbox;
  readonly tasks: Tasks;
  readonly cancellations: Pick<Cancellations, "cancel" | "stop">;
}

export class RemoteCommands implements Component {
  readonly name = "remote-commands";
  readonly #options: RemoteCommandsOptions;
  #task: Task | undefined;

  constructor(options: RemoteCommandsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#task = this.#options.tasks.add(this.name);
    this.#task.enter("waiting");
  }

  accept(commands: readonly Command[]): void {
    const { store, inbox, cancellations } = this.#options;
    for (const { verb, id, jid } of commands) {
      // At once, also during a stop: it concerns a job, not the worker.
      if (verb === "cancel" && jid !== undefined) void cancellations.cancel(jid);
      const known = VERBS[verb];
      if (known === undefined) continue;
      inbox.put({
        verb: known,
        by: "command",
        ...(id && { reply: async (text) => void await store.workers.send(id, text) }),
      });
    }
  }

  stop(): void {
    this.#options.cancellations.stop();
    if (this.#task) this.#options.tasks.remove(this.#task);
  }
}
