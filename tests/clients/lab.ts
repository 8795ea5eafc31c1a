/**
 * A gateway and programs that work for it, for tests of the clients.
 *
 * @module
 */
import { assert } from "@std/assert";
import type { EndedJob } from "../../src/job/result.ts";
import { newToken } from "../../src/web/auth/accounts.ts";
import { Bench } from "../support/bench.ts";
import { jobsCommand } from "../support/command.ts";
import { JobsProcess } from "../support/process.ts";
import { freePort } from "../support/redis.ts";
import { requireTool } from "../support/tools.ts";

export interface LabOptions {
  /** The runtime, and the program in this folder. */
  readonly command: readonly string[];
  /** The address of the store; default: a new SQLite file. */
  readonly redis?: string | undefined;
  /** Of the gateway. */
  readonly env?: Readonly<Record<string, string>>;
  /** Of the programs. Default: `work`. */
  readonly role?: string;
}

/** A gateway, and programs that work for it. */
export class Lab implements AsyncDisposable {
  readonly bench: Bench;
  readonly port = freePort();
  readonly #command: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  readonly #stack = new AsyncDisposableStack();
  readonly #token = newToken();
  readonly #role: string;
  gateway!: JobsProcess;

  constructor(bench: Bench, { command, env, role }: Required<Pick<LabOptions, "command" | "env" | "role">>) {
    this.bench = bench;
    this.#command = command;
    this.#env = env;
    this.#role = role;
  }

  static async open({ command, redis, env = {}, role = "work" }: LabOptions): Promise<Lab> {
    requireTool(command[0]!);
    const lab = new Lab(await Bench.open(redis), { command, env, role });
    await lab.startGateway();
    return lab;
  }

  async startGateway(): Promise<void> {
    const { bench, port } = this;
    this.gateway = this.#stack.use(
      new JobsProcess({
        store: bench.url,
        command: [...jobsCommand(), "web", `127.0.0.1:${port}`, "--store", bench.url],
        env: { JOBS_WEB_USERS: `w:${this.#role}:${this.#token.secret}`, ...this.#env },
      }),
    );
    await bench.until(async () => {
      try {
        const response = await fetch(`http://127.0.0.1:${port}/healthz`);
        await response.body?.cancel();
        return response.ok;
      } catch {
        return false;
      }
    }, () => `the gateway listens; it has logged ${JSON.stringify(this.gateway.lines)}`);
  }

  /** Starts a program. */
  program(...args: string[]): JobsProcess {
    const [runtime, file] = this.#command;
    return this.#stack.use(
      new JobsProcess({
        store: this.bench.url,
        command: [runtime!, new URL(file!, import.meta.url).pathname, `http://127.0.0.1:${this.port}`, ...args],
        env: { TOKEN: this.#token.token },
      }),
    );
  }

  /** Returns the record of a job when it has ended. */
  ended(jid: string): Promise<EndedJob | undefined> {
    return this.bench.client.result(jid, { signal: AbortSignal.timeout(30_000) });
  }

  /** Pushes a job, and returns its record when it has ended. */
  async run(name: string, args: unknown[]): Promise<EndedJob> {
    const ended = await this.ended(await this.bench.push(name, args));
    assert(ended, `${name}(${args}) ends; ${JSON.stringify(this.gateway.lines.slice(-20))}`);
    return ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
    await this.bench[Symbol.asyncDispose]();
  }
}
