/**
 * The surroundings of a case of the conformance table: a gateway, a separate queue, and programs that it starts.
 *
 * @module
 */
import { assert } from "@std/assert";
import type { JobRequest } from "../../../src/client/client.ts";
import type { EndedJob } from "../../../src/job/result.ts";
import { cancelJob } from "../../../src/store/ops/cancel.ts";
import type { WorkerInfo } from "../../../src/store/port/workers.ts";
import { newToken } from "../../../src/web/auth/accounts.ts";
import { Bench, isStopped } from "../../support/bench.ts";
import { jobsCommand } from "../../support/command.ts";
import { until } from "../../support/eventually.ts";
import { HttpLine } from "../../support/http_line.ts";
import { JobsProcess, MORTAL } from "../../support/process.ts";
import { freePort } from "../../support/redis.ts";
import { Program, SharedProgram, type StartedWorker, type WorkerOptions } from "./programs.ts";

/** How a case starts a worker; default: at the gateway of the lab, with the queue of the case. */
export type CaseWorker = Partial<WorkerOptions>;

/** A gateway on a port that it keeps when it is started again. */
export class GatewayProcess implements AsyncDisposable {
  readonly url: string;
  readonly #bench: Bench;
  readonly #port = freePort();
  readonly #env: Readonly<Record<string, string>>;
  #process!: JobsProcess;
  #runs = false;

  private constructor(bench: Bench, env: Readonly<Record<string, string>>) {
    this.#bench = bench;
    this.#env = env;
    this.url = `http://127.0.0.1:${this.#port}`;
  }

  static async start(bench: Bench, env: Readonly<Record<string, string>>): Promise<GatewayProcess> {
    const gateway = new GatewayProcess(bench, env);
    await gateway.#start();
    return gateway;
  }

  /** Ends it. */
  async end(signal: Deno.Signal): Promise<void> {
    this.#process.kill(signal);
    await this.#process.status();
    this.#runs = false;
  }

  /** Starts it again if it has ended. */
  async restart(): Promise<void> {
    if (!this.#runs) await this.#start();
  }

  async #start(): Promise<void> {
    const command = [...jobsCommand(), "web", `127.0.0.1:${this.#port}`, "--store", this.#bench.url];
    this.#runs = true;
    this.#process = new JobsProcess({ store: this.#bench.url, command, env: this.#env });
    await this.#bench.until(async () => {
      try {
        const response = await fetch(`${this.url}/healthz`);
        await response.body?.cancel();
        return response.ok;
      } catch {
        return false;
      }
    }, "the gateway listens");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
  }
}

/** The gateways: one takes no worker offline, two do after 3 and 10 s without a heartbeat, and one may be ended. */
const GATEWAYS = {
  patient: { JOBS_HEARTBEAT: "5s" },
  mortal: { ...MORTAL, JOBS_HEARTBEAT: "1s" },
  steady: { JOBS_HEARTBEAT_TIMEOUT: "10s", JOBS_HEARTBEAT: "1s" },
  // A program waits a fourth of it for a reply.
  replaceable: { JOBS_HEARTBEAT_TIMEOUT: "30s", JOBS_HEARTBEAT: "1s" },
};

/** Everything that the cases of one client on one store share. */
export class Lab implements AsyncDisposable {
  /** Starts a worker that obeys the command language of docs/reference/worker-protocol.md. */
  readonly command: readonly string[];
  readonly bench: Bench;
  readonly token = newToken();
  readonly #stack = new AsyncDisposableStack();
  readonly #gateways = new Map<string, Promise<GatewayProcess>>();
  #shared: SharedProgram | undefined;
  /** Settles when the last case that may end the gateway has ended. */
  #replaceable: Promise<void> = Promise.resolve();

  private constructor(command: readonly string[], bench: Bench) {
    this.command = command;
    this.bench = this.#stack.use(bench);
  }

  static async open(command: readonly string[], url?: string): Promise<Lab> {
    return new Lab(command, await Bench.open(url));
  }

  /** The program in which cases start workers. */
  get shared(): SharedProgram {
    return this.#shared!;
  }

  /** Starts the shared program, with a worker for the cases that start none. */
  async startShared(): Promise<void> {
    const { url } = await this.gateway();
    this.#shared = this.#stack.use(new SharedProgram(this, { url, queue: "shared", concurrency: 20 }));
  }

  /** Returns a gateway that cases share. */
  gateway(kind: keyof typeof GATEWAYS = "patient"): Promise<GatewayProcess> {
    const known = this.#gateways.get(kind);
    if (known) return known;
    const users = `w:work(class=Try|Other|Third):${this.token.secret}`;
    const env = { JOBS_WEB_USERS: users, JOBS_KILL_AFTER: "300ms", ...GATEWAYS[kind] };
    const starting = GatewayProcess.start(this.bench, env).then((gateway) => this.#stack.use(gateway));
    this.#gateways.set(kind, starting);
    return starting;
  }

  /** Lets a case end a gateway, which no other one uses meanwhile. */
  async withReplaceable(use: (gateway: GatewayProcess) => Promise<void>): Promise<void> {
    const before = this.#replaceable;
    const mine = Promise.withResolvers<void>();
    this.#replaceable = mine.promise;
    await before;
    try {
      const gateway = await this.gateway("replaceable");
      await gateway.restart();
      await use(gateway);
    } finally {
      mine.resolve();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#gateways.values());
    await this.#stack.disposeAsync();
  }
}

/** One case: its queue and what it has started. */
export class Scene implements AsyncDisposable {
  readonly lab: Lab;
  readonly queue: string;
  /** A file that handlers append to. */
  readonly notes: string;
  readonly #stack = new AsyncDisposableStack();

  constructor(lab: Lab, queue: string) {
    this.lab = lab;
    this.queue = queue;
    this.notes = `${lab.bench.folder}/${queue}`;
  }

  get bench(): Bench {
    return this.lab.bench;
  }

  /** Starts a worker in the program that cases share, and doesn't wait. */
  async launch(options: CaseWorker = {}): Promise<StartedWorker> {
    return await this.lab.shared.launch(await this.#complete(options));
  }

  /** Starts a worker in a separate process, and doesn't wait. */
  async launchApart(options: CaseWorker = {}): Promise<Program> {
    return this.#stack.use(new Program(this.lab, await this.#complete(options)));
  }

  /** Starts a worker in the program that cases share, and waits until it has registered. */
  start(options: CaseWorker = {}): Promise<StartedWorker> {
    return this.#registered(() => this.launch(options));
  }

  /** Starts a worker in a separate process, and waits until it has registered. */
  startApart(options: CaseWorker = {}): Promise<Program> {
    return this.#registered(() => this.launchApart(options));
  }

  async #complete(options: CaseWorker): Promise<WorkerOptions> {
    return { queue: this.queue, ...options, url: options.url ?? (await this.lab.gateway()).url };
  }

  async #registered<W extends StartedWorker>(launch: () => Promise<W>): Promise<W> {
    const before = (await this.workers()).map(({ id }) => id);
    const worker = await launch();
    await until(async () => {
      assert(worker.end === undefined, `the worker has ended: ${worker.text}`);
      return (await this.workers()).some(({ id }) => !before.includes(id));
    }, () => `the worker registers: ${worker.text}`);
    return worker;
  }

  /** Starts a proxy in front of the shared gateway. */
  async line(): Promise<HttpLine> {
    const { url } = await this.lab.gateway();
    return this.#stack.use(await HttpLine.start(() => url));
  }

  /** Keeps something until the end of the case. */
  use<T extends AsyncDisposable>(thing: T): T {
    return this.#stack.use(thing);
  }

  /** The workers of this case. */
  async workers(): Promise<WorkerInfo[]> {
    return (await this.bench.store.workers.list()).filter(({ queues }) => queues.includes(this.queue));
  }

  /** Pushes a job. */
  push(args: readonly unknown[], { class: name = "Try", ...more }: Partial<JobRequest> = {}): Promise<string> {
    return this.bench.push(String(name), [...args], {
      queue: this.queue,
      result_ttl: "1h",
      failure_ttl: "1h",
      retry: 0,
      ...more,
    });
  }

  /** Returns the record of a job when it has ended. */
  async ended(jid: string): Promise<EndedJob> {
    const ended = await this.bench.client.result(jid, { signal: AbortSignal.timeout(40_000) });
    assert(ended, `job ${jid} ends; ${JSON.stringify(await this.workers())}`);
    return ended;
  }

  /** Pushes a job, and returns its record when it has ended. */
  async run(...args: readonly unknown[]): Promise<EndedJob> {
    return await this.ended(await this.push(args));
  }

  /** Waits until a job runs. */
  async runs(jid: string): Promise<void> {
    const is = async () => (await this.workers()).some(({ work }) => work.some(({ payload }) => payload.includes(jid)));
    await this.bench.until(is, `job ${jid} runs`);
  }

  /** Cancels a job. */
  async cancel(jid: string): Promise<void> {
    await cancelJob(this.bench.store, jid, Date.now());
  }

  /** Sends a command to the first worker of the case. */
  async command(verb: "quiet" | "resume" | "stop"): Promise<void> {
    const [worker] = await this.workers();
    await this.bench.store.workers.send(worker!.id, { id: verb, verb });
  }

  /** Waits until this many jobs of the case run. */
  async running(count = 1): Promise<void> {
    const is = async () => (await this.workers()).reduce((sum, { work }) => sum + work.length, 0) === count;
    await this.bench.until(is, `${count} jobs run`);
  }

  /** The number of jobs that wait in the queue of the case. */
  async queued(): Promise<number> {
    const { queues } = await this.bench.store.admin.stats();
    return queues.find(({ name }) => name === this.queue)?.size ?? 0;
  }

  /** The lines that handlers have noted. */
  async noted(): Promise<string[]> {
    const text = await Deno.readTextFile(this.notes).catch(() => "");
    return text.split("\n").filter((line) => line !== "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** Freezes a program. One of its threads may run for a moment after the signal, and begin a job. */
export async function freeze(program: Program): Promise<void> {
  program.kill("SIGSTOP");
  await until(() => isStopped(program.pid), "it is frozen");
}

/** One case of the table. */
export interface Case {
  /** The behaviour of a client, as a sentence without its subject. */
  readonly does: string;
  /** Uses the worker that cases share, and starts none. */
  readonly shared?: boolean;
  run(scene: Scene): Promise<void>;
}
