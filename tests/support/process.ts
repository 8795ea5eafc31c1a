/**
 * Real `jobs` processes for tests: starts them, waits for their log lines, signals them, and never leaves one behind.
 *
 * @module
 */

import { jobsCommand } from "./command.ts";

/** One line of the JSON log of a process. */
export interface LoggedLine {
  readonly level: string;
  readonly name: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** Options of a process. */
export interface ProcessOptions {
  /** The address of the store. */
  readonly store: string;
  /** Arguments after `jobs run`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The whole command of a program that logs as `jobs run` does. Then neither store nor arguments are added. */
  readonly command?: readonly string[];
  /** Reads lines: {@linkcode JobsProcess.write}. */
  readonly reads?: boolean;
}

/** A test fails if an expected line has not been logged after this time. */
const TIMEOUT_MS = 60_000;

/**
 * For processes that are to count as dead when they are, and for those that find out: soon, but not for a machine that
 * stands still for a while. All others count as alive for as long as any test takes.
 */
export const MORTAL = { JOBS_HEARTBEAT_TIMEOUT: "3s" };

/** Warnings of a worker that had too little processor time. */
const BUSY_MACHINE = /^Event loop was|^Still starting$|is locked by another program, waiting$/;

/** A running `jobs run`. */
export class JobsProcess implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #lines: LoggedLine[] = [];
  readonly #waiters = new Set<() => void>();
  readonly #reading: Promise<void>;
  #ended = false;
  readonly #input: WritableStreamDefaultWriter<Uint8Array> | undefined;

  /** Starts `jobs run` with a JSON log, and does not wait. */
  constructor({ store, args = [], env = {}, cwd, command, reads = false }: ProcessOptions) {
    const [program, ...rest] = command ?? [...jobsCommand(), "run", "--store", store, ...args];
    this.#child = new Deno.Command(program!, {
      args: rest,
      env: { JOBS_LOG_FORMAT: "json", JOBS_HEARTBEAT: "200ms", JOBS_HEARTBEAT_TIMEOUT: "5m", ...env },
      stdin: reads ? "piped" : "null",
      stdout: "null",
      stderr: "piped",
      ...(cwd !== undefined && { cwd }),
    }).spawn();
    this.#input = reads ? this.#child.stdin.getWriter() : undefined;
    this.#reading = this.#read();
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** All lines that the process has logged. */
  get lines(): readonly LoggedLine[] {
    return this.#lines;
  }

  /** The logged warnings and errors, except for those that a busy machine may cause: a blocked event loop, a lock held for long. */
  get complaints(): LoggedLine[] {
    return this.#lines.filter(({ level, msg }) => /^(warn|error)$/.test(level) && !BUSY_MACHINE.test(msg));
  }

  /** Writes a line to its stdin. */
  async write(line: string): Promise<void> {
    await this.#input!.write(new TextEncoder().encode(`${line}\n`));
  }

  /** Sends a signal. */
  kill(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /** Waits for the end of the process, and returns its status. */
  async status(): Promise<Deno.CommandStatus> {
    const status = await this.#child.status;
    await this.#reading;
    return status;
  }

  /**
   * Waits until the process has logged a line with this message and these fields.
   *
   * @throws {Error} if the process ends without that line, or has not logged it after a minute
   */
  logged(msg: string, fields: Readonly<Record<string, unknown>> = {}, count = 1): Promise<LoggedLine> {
    const fits = (line: LoggedLine) =>
      line.msg === msg && Object.entries(fields).every(([name, value]) => line[name] === value);
    return new Promise((resolve, reject) => {
      const fail = (what: string) =>
        reject(new Error(`${what} "${msg}":\n${this.#lines.map((line) => JSON.stringify(line)).join("\n")}`));
      let isLate = false;
      const look = () => {
        const found = this.#lines.filter(fits);
        if (found.length >= count) resolve(found[count - 1]!);
        else if (this.#ended) fail("Ended without logging");
        else if (isLate) fail("Has not logged for a minute");
        else return;
        clearTimeout(patience);
        this.#waiters.delete(look);
      };
      const patience = setTimeout(() => (isLate = true, look()), TIMEOUT_MS);
      this.#waiters.add(look);
      look();
    });
  }

  /** Kills the process if it still runs. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
      this.#child.kill("SIGCONT");
    } catch {
      // The process has ended.
    }
    await this.status();
    await this.#input?.close().catch(() => {});
  }

  async #read(): Promise<void> {
    let rest = "";
    for await (const text of this.#child.stderr.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) if (line !== "") this.#lines.push(parseLine(line));
      for (const look of this.#waiters) look();
    }
    this.#ended = true;
    for (const look of this.#waiters) look();
  }
}

/** The output of one `jobs` command. */
export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs one `jobs` command to its end. */
export async function jobs(
  args: readonly string[],
  options: { env?: Record<string, string>; stdin?: string; cwd?: string } = {},
): Promise<CommandResult> {
  const [program, ...first] = jobsCommand();
  const child = new Deno.Command(program, {
    args: [...first, ...args],
    stdin: options.stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    env: { NO_COLOR: "1", ...options.env },
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  }).spawn();
  if (options.stdin !== undefined) {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(options.stdin));
    await writer.close();
  }
  const output = await child.output();
  const decoder = new TextDecoder();
  return { code: output.code, stdout: decoder.decode(output.stdout), stderr: decoder.decode(output.stderr) };
}

/** A temporary folder, which is deleted on disposal. */
export async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.makeTempDir({ prefix: "jobs-test-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

function parseLine(line: string): LoggedLine {
  try {
    return JSON.parse(line);
  } catch {
    return { level: "text", name: "stderr", msg: line };
  }
}
