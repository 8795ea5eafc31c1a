/**
 * The child's side of a horse: connects to its parent, loads the handlers, and performs the jobs that the parent sends, one
 * at a time.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { Client, type ClientOptions } from "../../client/client.ts";
import type { PushMiddleware } from "../../client/middleware.ts";
import { type Clock, systemClock } from "../../clock.ts";
import { readableError } from "../../job/describe_error.ts";
import { HandlerMissing } from "../../job/errors.ts";
import { type Job, parsePayload } from "../../job/job.ts";
import { readReturned } from "../../job/returned.ts";
import type { Log, LogFields, LogLevel } from "../../log/log.ts";
import { asJson, asText, mergeFields } from "../../log/value.ts";
import { StepRunner } from "../../steps/runner.ts";
import type { AroundStep, StepServices } from "../../steps/services.ts";
import type { JobContext } from "../context.ts";
import { loadHandlers } from "../load.ts";
import { Registry } from "../registry.ts";
import { RunningJob } from "../running_job.ts";
import { StopNotice } from "../stop_notice.ts";
import { StreamWriter } from "../stream_writer.ts";
import { HORSE_VARIABLE } from "./horse_process.ts";
import {
  type Callable,
  CALLS,
  FrameConnection,
  type Frames,
  type FromHorse,
  type StoreCall,
  type ToHorse,
} from "./ipc.ts";
import { errorFrame, RemoteError } from "./remote_error.ts";

/** Tracing in a horse. Disposing of it exports the spans. */
export interface HorseTracing extends AsyncDisposable {
  /** Middleware for the client of its handlers. */
  readonly client: Pick<ClientOptions, "middleware" | "batchMiddleware">;
  /** Runs the function of a step within a span. */
  readonly step: AroundStep;
  /** Runs a function as part of a span of the parent. */
  within<Result>(carrier: Readonly<Record<string, string>>, run: () => Result): Result;
}

/** Sets up tracing; undefined if it is off. */
export type OpenTracing = () => Promise<HorseTracing | undefined>;

/**
 * Performs jobs until the parent has closed the connection.
 *
 * @returns false if no parent started this process
 */
export async function runHorse(openTracing: OpenTracing): Promise<boolean> {
  const variable = Deno.env.get(HORSE_VARIABLE);
  if (variable === undefined) return false;
  // Processes that a handler starts are not horses.
  Deno.env.delete(HORSE_VARIABLE);
  const [address, token, pid] = JSON.parse(variable) as [string, string, number];
  if (!dieWithParent(pid)) return true;
  const socket = await Deno.connect({ transport: "unix", path: address });
  await socket.write(new TextEncoder().encode(token));
  const parent = new FrameConnection<ToHorse, FromHorse>(socket);
  await using horse = new HorseMain({ parent, openTracing, load: loadHandlers, clock: systemClock });
  await horse.run();
  return true;
}

type Answer = Extract<ToHorse, { kind: "answer" }>;

/** The surroundings of a horse. */
export interface HorseSurroundings {
  readonly parent: Frames<ToHorse, FromHorse>;
  readonly openTracing: OpenTracing;
  /** Loads the handlers of modules. */
  readonly load: (modules: readonly string[], registry: Registry) => Promise<{
    readonly pushMiddleware: readonly PushMiddleware[];
  }>;
  readonly clock: Clock;
}

export class HorseMain implements AsyncDisposable {
  readonly #in: HorseSurroundings;
  readonly #parent: Frames<ToHorse, FromHorse>;
  readonly #registry = new Registry();
  #client: Client;
  /** Forwards calls to the parent. */
  readonly #callable = Object.fromEntries(
    Object.entries(CALLS).map(([part, verbs]) => [part, this.#forward(part as keyof Callable, Object.keys(verbs))]),
  ) as unknown as Callable;
  readonly #calls = new Map<number, (answer: Answer) => void>();
  #lastCall = 0;
  #tracing: HorseTracing | undefined;
  /** The stop notice for the current job, as the parent sends it. */
  readonly #stopNotice = new StopNotice();
  #job: RunningJob | undefined;
  /** The job that the running code belongs to, also after its end. */
  readonly #jobOfCode = new AsyncLocalStorage<RunningJob>();
  #log: Log = new FrameLog((frame) => this.#parent.send(frame), false, {});

  constructor(surroundings: HorseSurroundings) {
    this.#in = surroundings;
    this.#parent = surroundings.parent;
    this.#client = this.#newClient([]);
  }

  async run(): Promise<void> {
    // A promise that a handler doesn't await must not end the horse, and with it a later job.
    const catchLate = (event: PromiseRejectionEvent | ErrorEvent) => {
      event.preventDefault();
      const error = errorFrame("reason" in event ? event.reason : event.error);
      // An error in the callback of a timer is reported outside of its job.
      const job = this.#jobOfCode.getStore() ?? this.#job;
      (job?.log ?? this.#log).error("Unhandled error", {
        error: `${error.class}: ${error.message}`,
        stack: error.stack.join("\n"),
      });
    };
    globalThis.addEventListener("unhandledrejection", catchLate);
    globalThis.addEventListener("error", catchLate);
    await this.#parent.read((frame) => this.#receive(frame));
  }

  #receive(frame: ToHorse): void {
    switch (frame.kind) {
      case "perform":
        void this.#perform(frame);
        break;
      case "retire":
        // This ends reading, and then the process.
        this.#parent[Symbol.dispose]();
        break;
      case "stopping":
        this.#stopNotice.give();
        break;
      case "abort":
        this.#job?.abort(new RemoteError(frame.error));
        break;
      case "answer":
        this.#calls.get(frame.id)?.(frame);
        this.#calls.delete(frame.id);
        break;
      case "start":
        void this.#start(frame);
        break;
    }
  }

  async #start({ modules, debug }: Extract<ToHorse, { kind: "start" }>): Promise<void> {
    this.#log = new FrameLog((frame) => this.#parent.send(frame), debug, {});
    try {
      const { pushMiddleware } = await this.#in.load(modules, this.#registry);
      // After loading: handlers may install a tracer provider.
      this.#tracing = await this.#in.openTracing();
      this.#client = this.#newClient(pushMiddleware);
      this.#parent.send({ kind: "ready" });
    } catch (error) {
      this.#parent.send({ kind: "ready", refused: errorFrame(error).message });
    }
  }

  async #perform({ queue, payload, lease, trace }: Extract<ToHorse, { kind: "perform" }>): Promise<void> {
    try {
      const job = parsePayload(payload)!;
      this.#stopNotice.renew();
      const { context } = this.#job = new RunningJob(job, queue, {
        log: this.#logOf(job, queue),
        client: this.#client,
        registry: this.#registry,
        stopNotice: this.#stopNotice,
        stepRunner: (job) => new StepRunner(job, this.#stepServices),
        streamWriter: (job) => new StreamWriter(job, { clock: this.#in.clock, stream: this.#callable.stream }),
        onProgress: ({ done, note }) => {
          if (this.#job?.job === job) {
            this.#parent.send({ kind: "progress", done, ...(note !== undefined && { note }) });
          }
        },
      }, lease);
      const running = this.#job;
      // A module may export other handlers here than in the parent.
      const handler = this.#registry.get(job.class);
      if (handler === undefined) throw new HandlerMissing(job.class, this.#registry.classes());
      const call = () => this.#jobOfCode.run(running, () => handler.perform(context, ...job.args));
      const value = await (trace && this.#tracing ? this.#tracing.within(trace, call) : call());
      await running.finishSteps();
      await running.finishStream();
      running.steps?.throwIfEnding();
      // The parent reads the steps for the job's record.
      await running.steps?.store().catch(() => {});
      running.steps?.close();
      const result = resultText(value, context);
      this.#parent.send(result === undefined ? { kind: "done" } : { kind: "done", result });
    } catch (thrown) {
      const error = readableError(thrown);
      await this.#job?.finishSteps();
      await this.#job?.finishStream();
      // If the store rejects a step, the parent aborts the job; if it fails, the step runs again.
      await this.#job?.steps?.store().catch(() => {});
      this.#parent.send({ kind: "failed", error: errorFrame(this.#job?.steps?.ending ?? error) });
    } finally {
      this.#job?.end();
      this.#job = undefined;
    }
  }

  /** Returns the log of a job. The parent adds its fields while it runs; code that it has left running logs next to the next job. */
  #logOf(job: Job, queue: string): Log {
    const { class: name, jid, attempt } = job;
    const own = { class: name, jid, queue, attempt };
    const send = (frame: LogFrame) =>
      this.#parent.send(
        this.#job?.job === job ? frame : { ...frame, fields: { ...own, ...frame.fields }, isLate: true },
      );
    return ofJob(new FrameLog(send, this.#log.enabled("debug"), {}));
  }

  get #stepServices(): StepServices {
    const around = this.#tracing?.step;
    return {
      clock: this.#in.clock,
      ...(around !== undefined && { around }),
      build: (job) => this.#client.build(job),
      steps: this.#callable.lease,
    };
  }

  #newClient(own: readonly PushMiddleware[]): Client {
    const { middleware = [], ...tracing } = this.#tracing?.client ?? {};
    return new Client({
      store: this.#callable,
      clock: this.#in.clock,
      classOptions: (name) => this.#registry.get(name)?.options,
      ...tracing,
      middleware: [...middleware, ...own],
    });
  }

  /** Exports the spans. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tracing?.[Symbol.asyncDispose]();
  }

  #forward(part: keyof Callable, verbs: readonly string[]): Readonly<Record<string, unknown>> {
    return Object.fromEntries(
      verbs.map((verb) => [verb, (...args: readonly unknown[]) => this.#call({ part, verb, args })]),
    );
  }

  async #call(call: Pick<StoreCall, "part" | "verb" | "args">): Promise<unknown> {
    const id = ++this.#lastCall;
    const answer = await new Promise<Answer>((resolve) => {
      this.#calls.set(id, resolve);
      this.#parent.send({ kind: "call", id, ...call });
    });
    if (answer.error) throw new RemoteError(answer.error);
    return answer.value;
  }
}

/** Returns the result as JSON; undefined if it isn't JSON, with a warning. The job has succeeded anyway. */
function resultText(value: unknown, { log }: JobContext): string | undefined {
  const { text, problem } = readReturned(value);
  if (problem !== undefined) log.warn("The result is not kept", { why: problem });
  return text;
}

type LogFrame = Extract<FromHorse, { kind: "log" }>;

/** Sends log lines to the parent, which adds the fields of the job. */
class FrameLog implements Log {
  readonly #send: (frame: LogFrame) => void;
  readonly #debug: boolean;
  readonly #fields: LogFields;

  constructor(send: (frame: LogFrame) => void, debug: boolean, fields: LogFields) {
    this.#send = send;
    this.#debug = debug;
    this.#fields = fields;
  }

  debug(message: string, fields?: LogFields): void {
    if (this.#debug) this.#log("debug", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#log("info", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#log("warn", message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#log("error", message, fields);
  }

  enabled(level: LogLevel): boolean {
    return level !== "debug" || this.#debug;
  }

  with(fields: LogFields): Log {
    return new FrameLog(this.#send, this.#debug, mergeFields(this.#fields, fields));
  }

  #log(level: LogLevel, message: string, fields?: LogFields): void {
    this.#send({ kind: "log", level, message: asText(message), fields: sendable(mergeFields(this.#fields, fields)) });
  }
}

/** Returns the log of a job, whose fields the parent adds. */
function ofJob(log: Log): Log {
  return {
    debug: (message, fields) => log.debug(message, fields),
    info: (message, fields) => log.info(message, fields),
    warn: (message, fields) => log.warn(message, fields),
    error: (message, fields) => log.error(message, fields),
    enabled: (level) => log.enabled(level),
    with: () => log,
  };
}

/** Returns fields that a frame can carry. A value that JSON would change is sent as the log shows it. */
function sendable(fields: LogFields): LogFields {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => {
      const isPlain = typeof value === "boolean" || typeof value === "string" || Number.isFinite(value);
      return [key, isPlain || value === undefined ? value : parsed(asJson(value))];
    }),
  );
}

function parsed(json: string | undefined): unknown {
  return json === undefined ? undefined : JSON.parse(json);
}

/** `PR_SET_PDEATHSIG` of prctl(2): sets the signal that this process receives when its parent ends. */
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9n;

/**
 * Makes the kernel kill this process when its parent ends, even if the parent is killed with `kill -9` while a handler spins here.
 * Linux only, like `jobs run`.
 *
 * @param parent the process ID of the parent. If this process has another parent now, it ended before this call
 * @returns whether the parent is still running
 */
function dieWithParent(parent: number): boolean {
  const libc = Deno.dlopen("libc.so.6", { prctl: { parameters: ["i32", "u64"], result: "i32" } });
  libc.symbols.prctl(PR_SET_PDEATHSIG, SIGKILL);
  libc.close();
  return Deno.ppid === parent;
}
