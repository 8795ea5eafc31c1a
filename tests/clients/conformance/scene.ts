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

/** How a program is started. */
export interface ProgramOptions {
  /** Default: the gateway of the lab. */
  readonly url?: string;
  readonly token?: string;
  readonly classes?: string;
  /** The options of each of its classes. */
  readonly options?: Readonly<Record<string, unknown>>;
  readonly concurrency?: number;
  readonly shutdownTimeout?: number;
}

/** A gateway on a port that it keeps when it is started again. */
export class GatewayProcess implements AsyncDisposable {
  readonly url: string;
  readonly #bench: Bench;
  readonly #port = freePort();
  readonly #env: Readonly<Record<string, string>>;
  #process!: JobsProcess;

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

  /** Ends it, and starts it again. */
  async replace(signal: Deno.Signal): Promise<void> {
    this.#process.kill(signal);
    await this.#process.status();
    await this.#start();
  }

  /** Kills it. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status();
  }

  /** Its last log lines, for messages. */
  get lines(): string {
    return this.#process.lines.slice(-20).map((line) => JSON.stringify(line)).join("\n");
  }

  async #start(): Promise<void> {
    const command = [...jobsCommand(), "web", `127.0.0.1:${this.#port}`, "--store", this.#bench.url];
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

/** Everything that the cases of one client on one store share. */
export class Lab implements AsyncDisposable {
  /** Starts a worker that obeys the command language of docs/reference/worker-protocol.md. */
  readonly command: readonly string[];
  readonly bench: Bench;
  readonly token = newToken();
  readonly #stack = new AsyncDisposableStack();
  readonly #gateways = new Map<string, Promise<GatewayProcess>>();

  private constructor(command: readonly string[], bench: Bench) {
    this.command = command;
    this.bench = this.#stack.use(bench);
  }

  static async open(command: readonly string[], url?: string): Promise<Lab> {
    return new Lab(command, await Bench.open(url));
  }

  /** Starts a gateway for one case. */
  newGateway(env: Readonly<Record<string, string>> = {}): Promise<GatewayProcess> {
    const users = `w:work(class=Try|Other|Third):${this.token.secret}`;
    return GatewayProcess.start(this.bench, {
      JOBS_WEB_USERS: users,
      JOBS_KILL_AFTER: "300ms",
      JOBS_HEARTBEAT: "5s",
      ...env,
    });
  }

  /** Returns the gateway that cases share: one that takes no worker offline, or one that does after 3 s without a heartbeat. */
  gateway(kind: "patient" | "mortal" = "patient"): Promise<GatewayProcess> {
    const known = this.#gateways.get(kind);
    if (known) return known;
    const starting = this.newGateway(kind === "mortal" ? { ...MORTAL, JOBS_HEARTBEAT: "1s" } : {});
    this.#gateways.set(kind, starting.then((gateway) => this.#stack.use(gateway)));
    return starting;
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

  /** Starts a program, and doesn't wait. */
  launch(
    { url, token, classes = "Try", options, concurrency = 3, shutdownTimeout = 20 }: ProgramOptions & { url: string },
  ): JobsProcess {
    return this.#stack.use(
      new JobsProcess({
        store: this.bench.url,
        command: this.lab.command,
        env: {
          ...{
            WORK_URL: url,
            WORK_TOKEN: token ?? this.lab.token.token,
            WORK_QUEUE: this.queue,
            WORK_CLASSES: classes,
          },
          ...{ WORK_OPTIONS: JSON.stringify(options ?? {}), WORK_CONCURRENCY: `${concurrency}` },
          WORK_SHUTDOWN_TIMEOUT: `${shutdownTimeout}`,
        },
      }),
    );
  }

  /** Starts a program, and waits until it has registered. */
  async start(options: ProgramOptions = {}): Promise<JobsProcess> {
    const url = options.url ?? (await this.lab.gateway()).url;
    const before = (await this.workers()).map(({ id }) => id);
    const program = this.launch({ ...options, url });
    let hasEnded = false;
    void program.status().then(() => hasEnded = true);
    await until(async () => {
      assert(!hasEnded, `the program has ended: ${textOf(program)}`);
      return (await this.workers()).some(({ id }) => !before.includes(id));
    }, () => `the program registers: ${textOf(program)}`);
    return program;
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

/** Waits until a program has ended. Returns whether it has succeeded. */
export async function ending(program: JobsProcess): Promise<boolean> {
  let status: Deno.CommandStatus | undefined;
  void program.status().then((ended) => status = ended);
  await until(() => status !== undefined, () => `the program ends: ${textOf(program)}`);
  return status!.success;
}

/** Freezes a program. One of its threads may run for a moment after the signal, and begin a job. */
export async function freeze(program: JobsProcess): Promise<void> {
  program.kill("SIGSTOP");
  await until(() => isStopped(program.pid), "it is frozen");
}

/** Returns the text that a program has written to stderr. */
export function textOf(program: JobsProcess): string {
  return program.lines.map(({ msg, ...more }) => `${msg} ${JSON.stringify(more)}`).join("\n");
}

/** One case of the table. */
export interface Case {
  /** The behaviour of a client, as a sentence without its subject. */
  readonly does: string;
  /** Uses the program that cases share, and starts none. */
  readonly shared?: boolean;
  run(scene: Scene): Promise<void>;
}
