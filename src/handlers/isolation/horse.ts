/**
 * One horse, seen from its parent: a child process that performs one job at a time.
 *
 *  1. It is this very program with a hidden subcommand; it loads the handlers once, and reports when it is ready.
 *  2. When a job's signal aborts, the horse is told; if the job has not ended within the grace period, the horse is
 *     killed. The job then failed with what its signal aborted with.
 *  3. When the horse ends by itself, only its job fails, and the error's name says how.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { parseLossless } from "../../job/json.ts";
import type { Log } from "../../log/log.ts";
import type { ExpectedChild } from "./child_listener.ts";
import type { JobContext } from "../context.ts";
import { FrameConnection, type FromHorse, type ParentStore, type StoreCall, type ToHorse } from "./ipc.ts";
import { eachLine, howItEnded, killGroup } from "./process_group.ts";
import { errorFrame, ProcessLost, RemoteError } from "./remote_error.ts";
import { HandlerError } from "../registry.ts";
import type { LeaseSteps } from "../../steps/services.ts";
import { stepRelay } from "../running_job.ts";
import { spawnSelf } from "./spawn_self.ts";

/** The hidden subcommand. */
const HORSE_COMMAND = "__horse";
/** The variable that tells a horse where its parent listens, who that is, and the horse's token. */
export const HORSE_VARIABLE = "JOBS_HORSE";

/** It has so long to export its spans. */
const RETIRE_MS = 1_000;
/** V8 reports itself on standard error, whose lines are the job's log; the failure alone would puzzle. */
const BY_V8 = ", as V8 ends a process, most often one whose heap is full";

/** What a horse is made with. */
export interface HorseOptions {
  /** Its connection to come. */
  readonly expected: ExpectedChild;
  readonly modules: readonly string[];
  /** For what its handlers push. */
  readonly store: ParentStore;
  /** An aborted job has so long to end. */
  readonly killAfterMs: number;
  readonly clock: Clock;
  /** For what it prints while it has no job. */
  readonly log: Log;
}

/** A horse ended by itself before it received its job. */
export class NeverStarted extends Error {
  /** How the horse ended. */
  override readonly cause: ProcessLost;

  constructor(cause: ProcessLost) {
    super(cause.message, { cause });
    this.cause = cause;
  }
}

interface Work {
  readonly job: JobContext;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly ended: AbortController;
}

/** A child process that performs jobs. */
export class Horse {
  readonly #options: HorseOptions;
  readonly #child: Deno.ChildProcess;
  readonly #ready = Promise.withResolvers<void>();
  #connection: FrameConnection<FromHorse, ToHorse> | undefined;
  #work: Work | undefined;
  #dead = false;
  /** Whether it may have spans to export. */
  #traced = false;
  #performed = 0;
  /** Why we killed it, if we did. */
  #reason: unknown;
  /** Resolves when the process has ended and everything it said is read. */
  readonly gone: Promise<void>;

  /**
   * Starts the process, which connects once it is up.
   *
   * @throws {SpawnError} when it can't be started
   */
  constructor(options: HorseOptions) {
    this.#options = options;
    const { address, token, connection, cancel } = options.expected;
    this.#child = spawnSelf({
      args: [HORSE_COMMAND],
      env: { [HORSE_VARIABLE]: JSON.stringify([address, token, Deno.pid]) },
      output: "piped",
    });
    void connection.then((socket) => socket && this.#connected(socket));
    this.#ready.promise.catch(() => {}); // whoever waits for it hears of it
    const say = (line: string) => (this.#work?.job.log ?? options.log).info(line);
    const printed = [this.#child.stdout, this.#child.stderr].map((stream) => eachLine(stream, say));
    this.gone = this.#child.status.then(async (status) => {
      cancel();
      this.#end(status);
      // What it had started goes with it, and lets go of the pipes.
      killGroup(this.pid, "SIGKILL");
      await Promise.all(printed);
    });
  }

  /** Its process number. */
  get pid(): number {
    return this.#child.pid;
  }

  /** Whether it can take a job. */
  get alive(): boolean {
    return !this.#dead;
  }

  /** Whether it performs a job. */
  get busy(): boolean {
    return this.#work !== undefined;
  }

  /** How many jobs it has performed. */
  get performed(): number {
    return this.#performed;
  }

  /**
   * Performs a job; resolves with its result.
   *
   * @throws what the handler threw, {@linkcode ProcessLost}, or {@linkcode NeverStarted}
   */
  async perform(job: JobContext): Promise<unknown> {
    const ended = new AbortController();
    const onAbort = () => void this.#abort(job.signal.reason, ended.signal);
    // From now on: a horse that never gets ready is killed too.
    if (job.signal.aborted) onAbort();
    else job.signal.addEventListener("abort", onAbort, { once: true });
    try {
      await this.#ready.promise;
      job.signal.throwIfAborted();
    } catch (error) {
      ended.abort();
      throw error;
    }
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#work = { job, resolve, reject, ended };
    if (this.#dead) this.#end(await this.#child.status);
    const delivered = this.#connection!.deliver({
      kind: "perform",
      queue: job.queue,
      payload: job.raw,
      ...(job.trace && { trace: job.trace.carrier }),
    });
    this.#traced ||= job.trace !== undefined;
    const onStopping = () => void (ended.signal.aborted || this.#connection!.send({ kind: "stopping" }));
    if (job.stopping.aborted) onStopping();
    else job.stopping.addEventListener("abort", onStopping, { once: true, signal: ended.signal });
    try {
      return await promise;
    } catch (error) {
      const diedBefore = error instanceof ProcessLost && error !== this.#reason && !await delivered;
      throw diedBefore ? new NeverStarted(error) : error;
    }
  }

  /**
   * Ends it at once, with everything it has started.
   *
   * @param reason what its job fails with
   */
  kill(reason: unknown): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#reason = reason;
    killGroup(this.pid, "SIGKILL");
  }

  /**
   * Ends it, once the spans of its jobs are exported or a moment has passed. It takes no job any more.
   *
   * @param reason what the job that it still performs fails with; there is no waiting then
   */
  async retire(reason: unknown): Promise<void> {
    if (this.#dead || !this.#traced || this.busy) return this.kill(reason);
    this.#dead = true;
    this.#reason = reason;
    this.#connection!.send({ kind: "retire" });
    const ended = new AbortController();
    void this.#child.status.then(() => ended.abort());
    await this.#options.clock.sleep(RETIRE_MS, ended.signal);
    if (!ended.signal.aborted) killGroup(this.pid, "SIGKILL");
  }

  /** Lets it load its handlers. */
  #connected(socket: Deno.Conn): void {
    const connection = this.#connection = new FrameConnection<FromHorse, ToHorse>(socket);
    const { modules, log } = this.#options;
    connection.send({ kind: "start", modules, debug: log.enabled("debug") });
    void connection.read((frame) => this.#receive(frame)).finally(() => connection[Symbol.dispose]());
  }

  async #abort(reason: unknown, ended: AbortSignal): Promise<void> {
    if (ended.aborted) return;
    this.#connection?.send({ kind: "abort", error: errorFrame(reason) });
    await this.#options.clock.sleep(this.#options.killAfterMs, ended);
    if (!ended.aborted) this.kill(reason);
  }

  #receive(frame: FromHorse): void {
    const work = this.#work;
    switch (frame.kind) {
      case "done":
        this.#finish()?.resolve(frame.result === undefined ? undefined : parseLossless(frame.result));
        break;
      case "failed":
        this.#finish()?.reject(new RemoteError(frame.error));
        break;
      case "log":
        (work?.job.log ?? this.#options.log)[frame.level](frame.message, frame.fields);
        break;
      case "progress":
        work?.job.progress(frame.done, frame.note);
        break;
      case "call":
        void this.#answer(frame);
        break;
      case "ready":
        if (frame.refused === undefined) this.#ready.resolve();
        else {
          this.#dead = true;
          this.#ready.reject(new HandlerError(frame.refused));
        }
        break;
    }
  }

  async #answer(call: StoreCall): Promise<void> {
    const { id } = call;
    try {
      const value = await this.#call(call);
      this.#connection?.send({ kind: "answer", id, value });
    } catch (error) {
      this.#connection?.send({ kind: "answer", id, error: errorFrame(error) });
    }
  }

  #call(call: StoreCall): Promise<unknown> {
    const { store } = this.#options;
    // Throws after the job has ended: then nothing may be written for it.
    const steps = (): LeaseSteps => {
      if (this.#work === undefined) throw new TypeError("The job has ended");
      return stepRelay(this.#work.job);
    };
    switch (call.verb) {
      case "enqueue":
        return store.jobs.enqueue(...call.args);
      case "readClasses":
        return store.classes.read(...call.args);
      case "signal":
        return store.steps.signal(...call.args);
      case "readSteps":
        return steps().read();
      case "rememberStep":
        return steps().remember(...call.args);
      case "wait":
        return steps().wait(...call.args);
    }
  }

  #finish(): Work | undefined {
    const work = this.#work;
    this.#work = undefined;
    this.#performed++;
    work?.ended.abort();
    return work;
  }

  #end(status: Deno.CommandStatus): void {
    this.#dead = true;
    const error = this.#reason ?? new ProcessLost(
      status.signal === null ? `Exited:${status.code}` : `Killed:${status.signal}`,
      `The process that performed it ${howItEnded(status)}${status.signal === "SIGTRAP" ? BY_V8 : ""}`,
    );
    this.#ready.reject(error);
    this.#finish()?.reject(error);
  }
}
