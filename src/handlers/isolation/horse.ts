/**
 * The parent's side of a horse: a child process that performs one job at a time. `horse_main.ts` is the child's side.
 *
 *  1. A horse is a process of this program (`horse_process.ts`). It loads the handlers once, and reports when it is ready.
 *  2. When a job's signal aborts, the horse receives the reason. If the job hasn't ended after the grace period, the horse
 *     is killed, and the job fails with that reason.
 *  3. When a horse ends unexpectedly, only its job fails. The name of the error is the kind of end.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { describeError } from "../../job/describe_error.ts";
import { parseLossless } from "../../job/json.ts";
import type { Log } from "../../log/log.ts";
import type { JobContext } from "../context.ts";
import type { HorseProcess } from "./horse_process.ts";
import type { Callable, Frames, FromHorse, ParentStore, StoreCall, ToHorse } from "./ipc.ts";
import { howItEnded } from "./process_group.ts";
import { errorFrame, ProcessLost, RemoteError } from "./remote_error.ts";
import { HandlerError } from "../registry.ts";
import { leaseOf, setProcess, stepRelay, streamRelay } from "../running_context.ts";

/** A retiring horse has this long to export its spans. */
const RETIRE_TIMEOUT_MS = 1_000;
/** The connection of a horse that has ended ends within this time. */
const READ_TIMEOUT_MS = 250;
/** Explains a SIGTRAP. V8 prints the details on stderr, which goes to the job's log. */
const BY_V8 = ", as V8 ends a process, most often one whose heap is full";

export interface HorseOptions {
  readonly process: HorseProcess;
  readonly modules: readonly string[];
  /** The store for the clients of its handlers. */
  readonly store: ParentStore;
  /** An aborted job has this long to end. */
  readonly killAfterMs: number;
  /** Aborts a job that this worker has lost while it waited for the process. */
  readonly recheck?: ((signal: AbortSignal) => Promise<void>) | undefined;
  readonly clock: Clock;
  /** The log for the output of the horse while it has no job. */
  readonly log: Log;
}

/** A horse ended before it received its job. */
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
  readonly #process: HorseProcess;
  readonly #ready = Promise.withResolvers<void>();
  #connection: Frames<FromHorse, ToHorse> | undefined;
  /** Resolves when the connection has ended, with whether the horse had read all frames. */
  #hasReadAll: Promise<boolean> = Promise.resolve(true);
  /** How many frames were sent. */
  #sent = 0;
  #work: Work | undefined;
  #dead = false;
  /** Whether it may have spans to export. */
  #traced = false;
  #performed = 0;
  /** The reason why the parent killed it; undefined if it didn't. */
  #reason: unknown;
  /** Resolves when the process has ended and all its output is read. */
  readonly gone: Promise<void>;

  constructor(options: HorseOptions) {
    this.#options = options;
    const process = this.#process = options.process;
    void process.connection.then((connection) => connection && this.#connected(connection));
    this.#ready.promise.catch(() => {}); // perform() handles it
    const printed = process.read((line) => (this.#work?.job.log ?? options.log).info(line));
    this.gone = process.status.then(async (status) => {
      this.#end(status);
      // Processes that it has started would hold the pipes open.
      process.kill();
      await printed;
    });
  }

  get pid(): number {
    return this.#process.pid;
  }

  get alive(): boolean {
    return !this.#dead;
  }

  get busy(): boolean {
    return this.#work !== undefined;
  }

  get performed(): number {
    return this.#performed;
  }

  /**
   * Performs a job. Resolves with its result.
   *
   * @throws the error of the handler, {@linkcode ProcessLost}, or {@linkcode NeverStarted}
   */
  async perform(job: JobContext): Promise<unknown> {
    const ended = new AbortController();
    const onAbort = () => void this.#abort(job.signal.reason, ended.signal);
    // Registered before the horse is ready, so that one that never becomes ready is killed, too.
    if (job.signal.aborted) onAbort();
    else job.signal.addEventListener("abort", onAbort, { once: true });
    try {
      await this.#ready.promise;
      await this.#options.recheck?.(job.signal);
      job.signal.throwIfAborted();
    } catch (error) {
      ended.abort();
      throw error;
    }
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#work = { job, resolve, reject, ended };
    setProcess(job, this.pid);
    if (this.#dead) this.#end(await this.#process.status);
    const lease = leaseOf(job);
    const sent = ++this.#sent;
    const delivered = this.#connection!.deliver({
      kind: "perform",
      queue: job.queue,
      payload: job.raw,
      ...(lease && { lease }),
      ...(job.trace && { trace: job.trace.carrier }),
    });
    this.#traced ||= job.trace !== undefined;
    const onStopping = () => void (ended.signal.aborted || this.#send({ kind: "stopping" }));
    if (job.stopping.aborted) onStopping();
    else job.stopping.addEventListener("abort", onStopping, { once: true, signal: ended.signal });
    try {
      return await promise;
    } catch (error) {
      if (!(error instanceof ProcessLost) || error === this.#reason) throw error;
      // If it has left unread frames, and the job was the last one, it hasn't read the job.
      const hasStarted = await delivered && (this.#sent > sent || await this.#readAll());
      throw hasStarted ? error : new NeverStarted(error);
    }
  }

  /**
   * Kills the horse at once, with all processes that it has started.
   *
   * @param reason the error of its job
   */
  kill(reason: unknown): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#reason = reason;
    this.#process.kill();
  }

  /**
   * Ends the horse when it has exported its spans, at the latest after {@linkcode RETIRE_TIMEOUT_MS}. It takes no more
   * jobs.
   *
   * @param reason the error of a running job. With a running job, the horse is killed at once
   */
  async retire(reason: unknown): Promise<void> {
    if (this.#dead || !this.#traced || this.busy) return this.kill(reason);
    this.#dead = true;
    this.#reason = reason;
    this.#send({ kind: "retire" });
    const ended = new AbortController();
    void this.#process.status.then(() => ended.abort());
    await this.#options.clock.sleep(RETIRE_TIMEOUT_MS, ended.signal);
    if (!ended.signal.aborted) this.#process.kill();
  }

  /** Lets the horse load its handlers. */
  #connected(connection: Frames<FromHorse, ToHorse>): void {
    this.#connection = connection;
    const { modules, log } = this.#options;
    connection.send({ kind: "start", modules, debug: log.enabled("debug") });
    const ended = connection.read((frame) => this.#receive(frame)).catch((error) =>
      // The code of a handler shares the process that writes the frames.
      this.kill(
        new ProcessLost(
          "InvalidFrame",
          `The process that performed it sent an invalid frame: ${describeError(error).message}`,
        ),
      )
    );
    this.#hasReadAll = ended.then((hasReadAll) => hasReadAll ?? true);
    void ended.finally(() => connection[Symbol.dispose]());
  }

  #send(frame: ToHorse): void {
    this.#sent++;
    this.#connection?.send(frame);
  }

  /** Returns whether a horse that has ended had read all frames. A process that it has left behind may hold the connection open. */
  async #readAll(): Promise<boolean> {
    const over = new AbortController();
    const late = this.#options.clock.sleep(READ_TIMEOUT_MS, over.signal).then(() => true);
    const hasReadAll = await Promise.race([this.#hasReadAll, late]);
    over.abort();
    return hasReadAll;
  }

  async #abort(reason: unknown, ended: AbortSignal): Promise<void> {
    if (ended.aborted) return;
    this.#send({ kind: "abort", error: errorFrame(reason) });
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
        (frame.isLate ? this.#options.log : work?.job.log ?? this.#options.log)[frame.level](
          frame.message,
          frame.fields,
        );
        break;
      case "progress":
        work?.job.progress(frame.done, frame.note);
        break;
      case "call":
        void this.#reply(frame);
        break;
      case "ready":
        if (frame.refused === undefined) this.#ready.resolve();
        else {
          const error = new HandlerError(frame.refused);
          this.#ready.reject(error);
          this.kill(error);
        }
        break;
    }
  }

  async #reply(call: StoreCall): Promise<void> {
    const { id } = call;
    try {
      const value = await this.#call(call);
      this.#send({ kind: "answer", id, value });
    } catch (error) {
      this.#send({ kind: "answer", id, error: errorFrame(error) });
    }
  }

  #call({ part, verb, args }: StoreCall): Promise<unknown> {
    const methods = this.#callable(part) as unknown as Record<
      string,
      (...args: readonly unknown[]) => Promise<unknown>
    >;
    return methods[verb]!(...args);
  }

  #callable(part: keyof Callable): Callable[typeof part] {
    if (part !== "lease" && part !== "stream") return this.#options.store[part];
    // After the job has ended, its steps must not be written.
    if (this.#work === undefined) throw new TypeError("The job has ended");
    return part === "stream" ? streamRelay(this.#work.job) : stepRelay(this.#work.job);
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
