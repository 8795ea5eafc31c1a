/**
 * A job as a program, in any language: the configuration says which command performs which class.
 *
 * The payload is its stdin, as JSON; `JOBS_JID`, `JOBS_CLASS`, `JOBS_QUEUE` and `JOBS_ATTEMPT` are in its environment, and
 * `TRACEPARENT` where traces are on.
 * What it prints is the result, stderr goes to the job's log, and its exit code says how the job went. Never a shell, and
 * never a command that came from a store: whoever can push jobs must not be able to run commands.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { formatBytes } from "../../job/bytes.ts";
import { Discard, Kill } from "../../job/errors.ts";
import { parseLossless } from "../../job/json.ts";
import type { JobContext } from "../context.ts";
import type { HandlerFunction } from "../handler.ts";
import { eachLine, howItEnded, killGroup } from "./process_group.ts";
import { ProcessLost } from "./remote_error.ts";

/** What programs are run with. */
export interface ProgramServices {
  readonly clock: Clock;
  /** From TERM to KILL, when a job is aborted. */
  readonly killAfterMs: number;
  /** A program that prints more is killed. */
  readonly maxResultBytes: number;
}

/** The exit codes with a meaning of their own; any other failure is tried again as the class says. */
const DISCARD = 100;
const KILL = 101;
const TRY_AGAIN = 75;
/** Lines of a job's stderr that go to the log; the rest is dropped, and that is said. */
const MAX_LINES = 1_000;

/** The failure of a job whose program failed. */
export class ProgramFailed extends Error {
  /** Told apart by name. */
  override readonly name = "ProgramFailed";
}

/** The program could not do it now, and says that it may work later (exit code 75). */
export class TryAgain extends Error {
  /** Told apart by name. */
  override readonly name = "TryAgain";
}

/**
 * A handler that performs its jobs with a command.
 *
 * @param command the program and its arguments; a path with a slash is relative to the working directory
 */
export function programHandler(command: readonly string[], services: ProgramServices): HandlerFunction {
  return (job) => new ProgramRun(command, services).perform(job);
}

class ProgramRun {
  readonly #command: readonly string[];
  readonly #services: ProgramServices;
  /** Why we ended it, if we did. */
  #reason: unknown;
  #lastLine: string | undefined;

  constructor(command: readonly string[], services: ProgramServices) {
    this.#command = command;
    this.#services = services;
  }

  async perform(job: JobContext): Promise<unknown> {
    job.signal.throwIfAborted();
    const child = this.#spawn(job);
    const ended = new AbortController();
    const onAbort = () => void this.#terminate(child.pid, job.signal.reason, ended.signal);
    job.signal.addEventListener("abort", onAbort, { once: true });
    const feeding = feed(child.stdin, job.raw);
    const logging = this.#logLines(child.stderr, job);
    const reading = this.#readResult(child);
    const status = await child.status;
    ended.abort();
    job.signal.removeEventListener("abort", onAbort);
    // What it left behind goes with it: it would hold the pipes open, and nobody would ever end it.
    killGroup(child.pid, "SIGKILL");
    const [output] = await Promise.all([reading, logging, feeding]);
    return this.#conclude(status, output);
  }

  #spawn(job: JobContext): Deno.ChildProcess {
    const [program, ...args] = this.#command;
    try {
      return new Deno.Command(program!, {
        args,
        env: {
          JOBS_JID: job.jid,
          JOBS_CLASS: job.class,
          JOBS_QUEUE: job.queue,
          JOBS_ATTEMPT: String(job.attempt),
          ...traceVariables(job),
        },
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
        detached: true,
      }).spawn();
    } catch (error) {
      throw new ProgramFailed(`Program "${program}" cannot be started: ${whyNotStarted(error)}`, { cause: error });
    }
  }

  /** Asks it to end, and after the grace period does not ask any more. */
  async #terminate(pid: number, reason: unknown, ended: AbortSignal): Promise<void> {
    this.#reason ??= reason;
    killGroup(pid, "SIGTERM");
    await this.#services.clock.sleep(this.#services.killAfterMs, ended);
    if (!ended.aborted) killGroup(pid, "SIGKILL");
  }

  async #logLines(stderr: ReadableStream<Uint8Array>, job: JobContext): Promise<void> {
    let lines = 0;
    await eachLine(stderr, (line) => {
      this.#lastLine = line;
      if (++lines <= MAX_LINES) job.log.info(line);
      else if (lines === MAX_LINES + 1) job.log.warn("The program says too much; the rest is not logged");
    });
  }

  /** What it prints, up to the limit; undefined when there is more, and then it is killed. */
  async #readResult(child: Deno.ChildProcess): Promise<Uint8Array | undefined> {
    const { maxResultBytes } = this.#services;
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of child.stdout) {
      size += chunk.length;
      if (size > maxResultBytes) {
        this.#reason ??= new ProgramFailed(
          `Program "${this.#command[0]}" printed more than ${
            formatBytes(maxResultBytes)
          }; wanted: its result alone on stdout, anything else on stderr`,
        );
        killGroup(child.pid, "SIGKILL");
        return undefined;
      }
      chunks.push(chunk);
    }
    return new Uint8Array(await new Blob(chunks as Uint8Array<ArrayBuffer>[]).arrayBuffer());
  }

  #conclude(status: Deno.CommandStatus, output: Uint8Array | undefined): unknown {
    if (this.#reason !== undefined) throw this.#reason;
    if (status.success && output !== undefined) return this.#parse(output);
    const what = `Program "${this.#command[0]}" ${howItEnded(status)}${this.#lastLine ? `: ${this.#lastLine}` : ""}`;
    if (status.signal !== null) throw new ProcessLost(`Killed:${status.signal}`, what);
    if (status.code === DISCARD) throw new Discard(what);
    if (status.code === KILL) throw new Kill(what);
    throw status.code === TRY_AGAIN ? new TryAgain(what) : new ProgramFailed(what);
  }

  /** JSON where it is JSON, else the text. */
  #parse(output: Uint8Array): unknown {
    let text: string;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(output).trim();
    } catch {
      throw new ProgramFailed(`Program "${this.#command[0]}" printed what is not UTF-8; wanted: JSON, or text`);
    }
    if (text === "") return undefined;
    try {
      return parseLossless(text);
    } catch {
      return text;
    }
  }
}

/** `TRACEPARENT` and the like, by which the program can make its spans part of the job's. */
function traceVariables({ trace }: JobContext): Record<string, string> {
  return Object.fromEntries(Object.entries(trace?.carrier ?? {}).map(([name, value]) => [name.toUpperCase(), value]));
}

/** Gives it the payload. A program need not read it. */
async function feed(stdin: WritableStream<Uint8Array>, text: string): Promise<void> {
  const writer = stdin.getWriter();
  try {
    await writer.write(new TextEncoder().encode(`${text}\n`));
    await writer.close();
  } catch {
    // It has ended, or closed its stdin.
  }
}

function whyNotStarted(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "there is no such program";
  if (error instanceof Deno.errors.PermissionDenied) return "it is not executable (chmod +x)";
  return (error as Error).message;
}
