/**
 * Ruby's side: Debian's Sidekiq, as a program that reads and edits through `Sidekiq::API`, and as a process that performs jobs.
 *
 * @module
 */

import { until } from "../support/eventually.ts";
import { requireTool } from "../support/tools.ts";

const WORKERS = new URL("./ruby/workers.rb", import.meta.url).pathname;

/** Runs Ruby code with `Sidekiq::API` and the workers. Returns its value, converted through JSON. */
export async function ruby<T = unknown>(redisUrl: string, code: string, ...args: unknown[]): Promise<T> {
  requireTool("sidekiq");
  const program = `args = JSON.parse(ARGV[0]); result = begin; ${code}; end; STDOUT.puts JSON.generate([result])`;
  const { success, stdout, stderr } = await new Deno.Command("ruby", {
    args: ["-W0", "-r", WORKERS, "-e", program, JSON.stringify(args)],
    env: { REDIS_URL: redisUrl },
    stdin: "null",
  }).output();
  if (!success) throw new Error(`Ruby failed: ${new TextDecoder().decode(stderr)}`);
  return JSON.parse(new TextDecoder().decode(stdout).trim().split("\n").at(-1)!)[0];
}

/** A Sidekiq process. */
export class Sidekiq implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #reading: Promise<void>;
  #log = "";

  private constructor(redisUrl: string, args: readonly string[]) {
    this.#child = new Deno.Command("sidekiq", {
      args: ["-r", WORKERS, "-c", "2", "-t", "2", ...args],
      env: { REDIS_URL: redisUrl, RUBYOPT: "-W0" },
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#reading = this.#read();
  }

  /** Starts a process for these queues. Resolves when it takes jobs. */
  static async start(redisUrl: string, queues: readonly string[]): Promise<Sidekiq> {
    requireTool("sidekiq");
    const sidekiq = new Sidekiq(redisUrl, queues.flatMap((queue) => ["-q", queue]));
    await until(() => sidekiq.#log.includes("Booting Sidekiq"), () => `Sidekiq works: ${sidekiq.#log}`);
    return sidekiq;
  }

  /** Stops the process as an operator does. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#child.status;
    await this.#reading;
  }

  async #read(): Promise<void> {
    for await (const text of this.#child.stdout.pipeThrough(new TextDecoderStream())) this.#log += text;
  }
}
