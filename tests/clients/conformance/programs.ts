/**
 * The programs of the conformance table: each is a process with a worker of the client. Most cases start their worker in the program that
 * all share, because a process costs more than their work.
 *
 * @module
 */
import { until } from "../../support/eventually.ts";
import { JobsProcess } from "../../support/process.ts";
import type { Lab } from "./scene.ts";

/** How a worker is started. */
export interface WorkerOptions {
  readonly url: string;
  readonly queue: string;
  readonly token?: string;
  readonly classes?: string;
  /** The options of each of its classes. */
  readonly options?: Readonly<Record<string, unknown>>;
  readonly concurrency?: number;
  readonly shutdownTimeout?: number;
}

/** A worker in a program. */
export interface StartedWorker {
  readonly pid: number;
  /** The text that its program has written to stderr. */
  readonly text: string;
  /** How it has ended; undefined while it runs. */
  readonly end: { readonly error?: string } | undefined;
}

/** Starts a worker in a separate process, and doesn't wait. */
export class Program extends JobsProcess implements StartedWorker {
  #status: Deno.CommandStatus | undefined;

  constructor(lab: Lab, options: WorkerOptions, reads = false) {
    super({ store: lab.bench.url, command: lab.command, env: variables(lab, options), reads });
    void super.status().then((status) => this.#status = status);
  }

  get end(): { readonly error?: string } | undefined {
    if (this.#status === undefined) return undefined;
    return this.#status.success ? {} : { error: this.text };
  }

  get text(): string {
    return this.lines.map(({ msg, ...more }) => `${msg} ${JSON.stringify(more)}`).join("\n");
  }
}

/** The program in which cases start workers. */
export class SharedProgram implements AsyncDisposable {
  readonly #lab: Lab;
  readonly #program: Program;
  #count = 0;

  /** Starts it, with a first worker. */
  constructor(lab: Lab, options: WorkerOptions) {
    this.#lab = lab;
    this.#program = new Program(lab, options, true);
  }

  /** Starts a worker in it, and doesn't wait. */
  async launch(options: WorkerOptions): Promise<StartedWorker> {
    const program = this.#program;
    const name = `worker-${++this.#count}`;
    await program.write(JSON.stringify({ ...variables(this.#lab, options), WORK_NAME: name }));
    return {
      pid: program.pid,
      get text() {
        return program.text;
      },
      get end() {
        return program.lines.find(({ ended }) => ended === name) as { readonly error?: string } | undefined;
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program[Symbol.asyncDispose]();
  }
}

/** Waits until a worker has ended. Returns whether it has succeeded. */
export async function ending(worker: StartedWorker): Promise<boolean> {
  await until(() => worker.end !== undefined, () => `it ends: ${worker.text}`);
  return worker.end!.error === undefined;
}

/** The worker's variables, of docs/reference/worker-protocol.md. */
function variables(
  lab: Lab,
  { url, queue, token, classes = "Try", options, concurrency = 3, shutdownTimeout = 20 }: WorkerOptions,
): Record<string, string> {
  return {
    WORK_URL: url,
    WORK_TOKEN: token ?? lab.token.token,
    WORK_QUEUE: queue,
    WORK_CLASSES: classes,
    WORK_OPTIONS: JSON.stringify(options ?? {}),
    WORK_CONCURRENCY: `${concurrency}`,
    WORK_SHUTDOWN_TIMEOUT: `${shutdownTimeout}`,
  };
}
