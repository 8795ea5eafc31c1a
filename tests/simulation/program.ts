/**
 * A program that performs jobs over HTTP, in another runtime: it does what docs/reference/worker-protocol.md requires, and has
 * nothing of the product in it.
 *
 * @module
 */
import type { JobContext } from "../../src/handlers/context.ts";
import { Shutdown } from "../../src/job/errors.ts";
import { handlersOn } from "./jobs.ts";
import type { Model } from "./model.ts";
import type { Machine } from "./world.ts";

/** Queues that have jobs of its classes alone. */
const QUEUES = ["high", "narrow", "grouped"];
const TAKE_WAIT_S = 10;
/** After a stop, running jobs have this long. */
const STOP_MS = 3_000;

/** Sends a request, once. Its answer may come `waitMs` later than usual. The signal closes it. */
export type Send = (path: string, body: object, more?: SendOptions) => Promise<Answer>;

export interface SendOptions {
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

// deno-lint-ignore no-explicit-any -- JSON of another program
export type Answer = Record<string, any>;

/** The server doesn't know the worker. */
export class UnknownWorker extends Error {}

interface Description {
  readonly nonce: string;
  readonly concurrency: number;
}

interface Job {
  readonly given: {
    readonly token: string;
    readonly payload: string;
    readonly queue: string;
    readonly receipt: string;
  };
  readonly abort: AbortController;
}

export class Program {
  readonly #machine: Machine;
  readonly #model: Model;
  readonly #send: Send;
  readonly #description: Description;
  readonly #running = new Map<string, Job>();
  /** The ends whose answer hasn't come. */
  #ended: { readonly job: Job; readonly outcome: object }[] = [];
  #worker = "";
  #take = 0;
  #taken = 0;
  #registration = 0;
  #heartbeatMs = 1_000;
  #registering: Promise<void> | undefined;
  #isQuiet = false;
  readonly #stop = new AbortController();
  /** Aborts when there is something to do for one of the loops. */
  #news = new AbortController();

  constructor(machine: Machine, model: Model, send: Send, description: Description) {
    this.#machine = machine;
    this.#model = model;
    this.#send = send;
    this.#description = description;
  }

  /** Performs jobs until it is stopped. */
  async run(): Promise<void> {
    await this.#register();
    await Promise.all([this.#takeAll(), this.#settleAll(), this.#beatAll()]);
    await this.#request("deregister", {});
  }

  stop(): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#wake();
    void this.#machine.clock.sleep(STOP_MS).then(() => {
      for (const job of this.#running.values()) {
        job.abort.abort(new Shutdown("stopped"));
        this.#end(job, { end: "release" });
      }
    });
  }

  get #isDone(): boolean {
    return this.#stop.signal.aborted && this.#running.size + this.#ended.length === 0;
  }

  async #register(): Promise<void> {
    const given = [...this.#running.values(), ...this.#ended.map(({ job }) => job)].map(({ given }) => given);
    const numbers = { registration: ++this.#registration, taken: this.#taken };
    const answer = await this.#repeat(() =>
      this.#send("register", {
        ...{
          protocol: 1,
          runtime: "simulated",
          client: "simulated",
          hostname: "program",
          pid: 1,
          ...this.#description,
        },
        ...{ classes: { Work: {} }, queues: QUEUES, running: given, ...numbers },
      })
    );
    this.#worker = answer["worker"];
    this.#heartbeatMs = answer["heartbeatMs"];
    const kept = new Set(answer["running"]);
    for (const token of this.#running.keys()) if (!kept.has(token)) this.#lose(token);
  }

  async #takeAll(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const limit = this.#description.concurrency - this.#running.size;
      if (this.#isQuiet || limit <= 0) {
        await this.#pause(this.#heartbeatMs);
        continue;
      }
      const take = ++this.#take;
      const body = { take, limit, wait: TAKE_WAIT_S };
      const more = { waitMs: TAKE_WAIT_S * 1_000, signal: this.#stop.signal };
      const { jobs = [] } = await this.#request("take", body, more);
      for (const { attempt, suspect, ...given } of jobs) {
        if (suspect && !await this.#confirm(given.token)) continue;
        void this.#perform({ given, abort: new AbortController() }, attempt);
      }
      this.#taken = take;
    }
  }

  /** Tells the server that a suspect begins. Returns whether it is still this program's. */
  async #confirm(token: string): Promise<boolean> {
    const tokens = [...this.#running.keys(), ...this.#ended.map(({ job }) => job.given.token), token];
    const { lost, aborted } = await this.#request("heartbeat", { running: tokens.map((token) => ({ token })) });
    return ![...lost, ...aborted.map(({ token }: Answer) => token)].includes(token);
  }

  async #settleAll(): Promise<void> {
    while (!this.#isDone) {
      if (this.#ended.length === 0) {
        await this.#pause(this.#heartbeatMs);
        continue;
      }
      const ended = [...this.#ended];
      await this.#request("settle", { outcomes: ended.map(({ outcome }) => outcome) });
      this.#ended = this.#ended.filter((one) => !ended.includes(one));
    }
  }

  async #beatAll(): Promise<void> {
    while (!this.#isDone) {
      const tokens = [...this.#running.keys(), ...this.#ended.map(({ job }) => job.given.token)];
      const waitMs = tokens.length > 0 ? this.#heartbeatMs / 2 : 0;
      const running = tokens.map((token) => ({ token }));
      const body = { running, taken: this.#taken, ...(waitMs && { wait: waitMs / 1_000 }) };
      const { aborted, lost, quiet, stopping } = await this.#request("heartbeat", body, { waitMs });
      for (const { token, reason } of aborted) this.#running.get(token)?.abort.abort(errorOf(reason));
      for (const token of lost) this.#lose(token);
      this.#isQuiet = quiet;
      if (stopping) this.stop();
      await this.#pause(this.#heartbeatMs / 4);
    }
  }

  async #perform(job: Job, attempt: number): Promise<void> {
    const { token, queue, payload: text } = job.given;
    if (this.#running.has(token)) return;
    this.#running.set(token, job);
    const payload = JSON.parse(text);
    const { signal } = job.abort;
    let from = 0;
    const context = {
      jid: payload.jid,
      attempt,
      queue,
      payload,
      signal,
      throwIfAborted: () => signal.throwIfAborted(),
      stream: (chunk: unknown) => this.#stream(job, from++, chunk),
    };
    const { perform } = handlersOn(this.#machine, this.#model).get("Work")!;
    try {
      this.#end(job, { end: "succeeded", result: await perform(context as unknown as JobContext, ...payload.args) });
    } catch (error) {
      this.#end(job, outcomeOf(error as Error));
    }
  }

  async #stream({ given: { token }, abort: { signal } }: Job, from: number, chunk: unknown): Promise<void> {
    if (!this.#running.has(token)) return;
    const { lost } = await this.#request("stream", { token, from, chunks: [chunk] }, { signal });
    if (lost) this.#lose(token);
  }

  #end(job: Job, outcome: object): void {
    const { token } = job.given;
    if (this.#running.get(token) !== job) return;
    this.#running.delete(token);
    this.#ended.push({ job, outcome: { token, ...outcome } });
    this.#wake();
  }

  #lose(token: string): void {
    this.#running.get(token)?.abort.abort(errorOf("LeaseLost"));
    this.#running.delete(token);
    this.#wake();
  }

  #wake(): void {
    this.#news.abort();
    this.#news = new AbortController();
  }

  #pause(ms: number): Promise<void> {
    return this.#machine.clock.sleep(ms, this.#news.signal);
  }

  /** Sends a request until it is answered. */
  #request(path: string, body: object, more: SendOptions = {}): Promise<Answer> {
    return this.#repeat(() => this.#send(path, { worker: this.#worker, ...body }, more), more.signal);
  }

  async #repeat(send: () => Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
    for (;;) {
      if (signal?.aborted) return {};
      try {
        return await send();
      } catch (error) {
        if (!(error instanceof UnknownWorker)) await this.#machine.clock.sleep(500);
        else await (this.#registering ??= this.#register().finally(() => this.#registering = undefined));
      }
    }
  }
}

function errorOf(name: string): Error {
  return name === "Shutdown" ? new Shutdown("stopped") : Object.assign(new Error(name), { name });
}

function outcomeOf({ name, message }: Error): object {
  if (name === "Snooze") return { end: "snooze", in: "2s" };
  const ends: Record<string, string> = { Discard: "discard", Kill: "kill" };
  return { end: ends[name] ?? "failed", error: { class: name, message } };
}
