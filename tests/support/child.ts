/**
 * Deno programs of the tests, each in a separate process, read line by line.
 *
 * @module
 */
import { TextLineStream } from "@std/streams/text-line-stream";
import { denoCommand } from "../../scripts/deno_command.ts";

/** A running program. */
export class Child implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #lines: ReadableStreamDefaultReader<string>;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;

  /**
   * @param program its file, in this folder
   * @param before a command that starts it, for example one that sets limits
   */
  constructor(program: string, args: readonly string[], before: readonly string[] = []) {
    const path = new URL(program, import.meta.url).pathname;
    const [command, ...rest] = [...before, ...denoCommand("run", "-A", path, ...args)];
    this.#process = new Deno.Command(command!, { args: rest, stdin: "piped", stdout: "piped" }).spawn();
    this.#lines = this.#process.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())
      .getReader();
    this.#input = this.#process.stdin.getWriter();
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** Returns the next line of its output; undefined after its end. */
  async line(): Promise<string | undefined> {
    return (await this.#lines.read()).value;
  }

  /** Writes a line to its standard input. */
  async tell(line: string): Promise<void> {
    await this.#input.write(new TextEncoder().encode(`${line}\n`));
  }

  /** Kills the program. Returns the lines that were not read. */
  async kill(): Promise<string[]> {
    this.#process.kill("SIGKILL");
    const rest: string[] = [];
    for (let line = await this.line(); line !== undefined; line = await this.line()) rest.push(line);
    return rest;
  }

  /** Waits for its end. Returns whether it succeeded. */
  async ended(): Promise<boolean> {
    await this.#input.close();
    while (await this.line() !== undefined);
    return (await this.#process.status).success;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#process.kill("SIGKILL");
    } catch {
      // The process has ended.
    }
    await this.#lines.cancel();
    await this.#input.close().catch(() => {});
    await this.#process.status;
  }
}
