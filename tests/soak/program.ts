/**
 * A program that a soak keeps running: a worker, or a pusher. It is started again whenever it ends.
 *
 * @module
 */
import type { Incidents } from "./incidents.ts";
import { childrenOf, signal } from "./processes.ts";
import { pause, uptime } from "./uptime.ts";

/** How to start a program. */
export interface ProgramOptions {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where its standard error goes. */
  readonly log: string;
  /** It ends when its standard input closes, and not by TERM. */
  readonly readsInput: boolean;
  readonly incidents: Incidents;
}

/** An end that was not asked for, or a stop that failed. */
export interface Ending {
  readonly name: string;
  readonly pid: number;
  readonly t: number;
  /** How long it had run, in milliseconds. */
  readonly ranMs: number;
  /** Its exit code, its signal, or what else it did. */
  readonly how: string;
  /** Whether it was asked to stop. */
  readonly asked: boolean;
}

/** A stop ends within the worker's shutdown timeout, its patience with the store, and a busy machine's delays. */
const STOP_WITHIN_MS = 60_000;

/** Keeps one program running. */
export class Program {
  readonly name: string;
  /** Ends that were not asked for, and stops that failed or did not end. */
  readonly failures: Ending[] = [];
  readonly #options: ProgramOptions;
  #child!: Deno.ChildProcess;
  #isRunning = false;
  #startedAt = 0;
  #startInMs = 0;
  #asked: "kill" | "stop" | undefined;
  #closing = false;
  #ended!: Promise<void>;
  #input: WritableStreamDefaultWriter<Uint8Array> | undefined;

  constructor(options: ProgramOptions) {
    this.name = options.name;
    this.#options = options;
    this.#start();
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** How long it has run, in milliseconds. */
  get ranMs(): number {
    return this.#isRunning ? uptime() - this.#startedAt : 0;
  }

  /** Whether it runs: not between an end and the next start. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Kills it with KILL, and starts it again after a while. */
  async kill(startInMs: number): Promise<void> {
    if (!this.#isRunning) return;
    this.#asked = "kill";
    this.#startInMs = startInMs;
    this.#options.incidents.gone("killed", this.pid);
    signal(this.pid, "SIGKILL");
    await this.#ended;
  }

  /** Stops it with TERM, and starts it again after a while. */
  async stop(startInMs = 0): Promise<void> {
    if (!this.#isRunning) return;
    this.#asked = "stop";
    this.#startInMs = startInMs;
    const { pid } = this;
    await this.#options.incidents.over("stopped", "stopping", pid, async () => {
      signal(pid, "SIGTERM");
      const late = new AbortController();
      void pause(STOP_WITHIN_MS, late.signal).then(() => {
        if (late.signal.aborted) return;
        this.#fail(`still ran ${STOP_WITHIN_MS / 1_000} s after TERM`);
        signal(pid, "SIGKILL");
      });
      await this.#ended;
      late.abort();
    });
  }

  /** Ends it for good: with TERM, or, where it reads its input, by closing that. */
  async close(): Promise<void> {
    this.#closing = true;
    if (!this.#isRunning) return;
    if (!this.#input) return await this.stop();
    this.#asked = "stop";
    await this.#input.close().catch(() => {});
    await this.#ended;
  }

  /** Kills it, and whatever it has started, for good. */
  abandon(): void {
    this.#closing = true;
    if (!this.#isRunning) return;
    this.#asked = "kill";
    for (const child of childrenOf(this.pid)) signal(child, "SIGKILL");
    signal(this.pid, "SIGKILL");
  }

  #start(): void {
    const { command, env, log, readsInput } = this.#options;
    this.#child = new Deno.Command("sh", {
      args: ["-c", 'exec "$@" 2>>"$0"', log, ...command],
      env,
      stdin: readsInput ? "piped" : "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    this.#input = readsInput ? this.#child.stdin.getWriter() : undefined;
    this.#startedAt = uptime();
    this.#isRunning = true;
    this.#ended = this.#child.status.then((status) => this.#end(status));
  }

  #end(status: Deno.CommandStatus): void {
    const asked = this.#asked;
    this.#isRunning = false;
    const isFine = asked === "kill" || asked === "stop" && status.success;
    if (!isFine) this.#fail(status.signal ?? `code ${status.code}`);
    if (asked === undefined) this.#options.incidents.gone("ended by itself", this.pid);
    this.#asked = undefined;
    void this.#input?.close().catch(() => {});
    void pause(this.#startInMs || 300).then(() => this.#closing || this.#start());
    this.#startInMs = 0;
  }

  #fail(how: string): void {
    const now = uptime();
    const asked = this.#asked !== undefined;
    this.failures.push({ name: this.name, pid: this.pid, t: now, ranMs: now - this.#startedAt, how, asked });
  }
}
