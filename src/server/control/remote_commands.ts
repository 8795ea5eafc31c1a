/**
 * Remote commands: puts what others request of this worker into the same inbox as signals, and cancels its jobs.
 * `command_receiver.ts` receives them.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import { cancelElsewhere, type CancelStore } from "../../store/ops/cancel.ts";
import { StoreError } from "../../store/port/errors.ts";
import type { Command, JobReport, WorkerStore } from "../../store/port/workers.ts";
import type { Task, Tasks } from "./tasks.ts";
import type { Component } from "../component.ts";
import type { Inbox, Verb } from "./signals.ts";

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
  /** Notes a report about a job of this worker, by the token of its lease. */
  readonly report: (lease: string, report: JobReport) => void;
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
    const { store, inbox, cancellations, report } = this.#options;
    for (const { verb, id, jid, ...command } of commands) {
      // At once, also during a stop: it concerns a job, not the worker.
      if (verb === "cancel" && jid !== undefined) void cancellations.cancel(jid);
      if (verb === "report" && command.lease && command.report) report(command.lease, command.report);
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

/** Pause before the next look, doubled after each one. */
const FIRST_PAUSE_MS = 50;
/** The last look comes after some 25 s. */
const MAX_LOOKS = 10;

export interface CancellationsOptions {
  readonly store: CancelStore;
  readonly clock: Clock;
  readonly tasks: Tasks;
  readonly log: Log;
  readonly worker: string;
  /** Cancels a job of this worker; false if it doesn't have the job. */
  readonly cancelHere: (jid: string) => boolean;
}

/**
 * Requests to cancel a job that this worker runs, or ran when the request was sent.
 *
 * The job may have left this worker in the meantime: it was released before it started, retried, or rescued. The sender has
 * already been told that it is cancelled, so this worker cancels it where it is now. If this worker ends before that, the job
 * of a lease that it had ends as cancelled anyway: the lease is marked (`WorkerStore.send`). Only a job that was retried just
 * before, so that it has no lease, runs again.
 */
export class Cancellations {
  readonly #options: CancellationsOptions;
  readonly #stop = new AbortController();

  constructor(options: CancellationsOptions) {
    this.#options = options;
  }

  /** Cancels a job, here or where it is now. Resolves when that is done; never rejects. */
  async cancel(jid: string): Promise<void> {
    const { cancelHere, tasks, log } = this.#options;
    if (cancelHere(jid)) return;
    const task = tasks.add(`cancel ${jid}`);
    try {
      await this.#follow(jid);
    } catch (error) {
      log.warn("Job not cancelled", { jid, error: (error as Error).message });
    } finally {
      tasks.remove(task);
    }
  }

  /** Gives up jobs that were not found yet. */
  stop(): void {
    this.#stop.abort();
  }

  async #follow(jid: string): Promise<void> {
    const { store, clock, worker, cancelHere } = this.#options;
    let pauseMs = FIRST_PAUSE_MS;
    for (let look = 1; !this.#stop.signal.aborted; look++) {
      try {
        // A lease that was taken a moment ago arrives here soon.
        if (await cancelElsewhere(store, jid, worker, clock.now()) || cancelHere(jid) || look === MAX_LOOKS) return;
      } catch (error) {
        if (!(error instanceof StoreError && error.transient) || look === MAX_LOOKS) throw error;
      }
      await clock.sleep(pauseMs, this.#stop.signal);
      pauseMs *= 2;
    }
  }
}
