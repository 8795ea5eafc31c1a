/**
 * Performs jobs with external programs, in any language. The configuration maps classes to commands.
 *
 * A program receives the payload on stdin, as JSON. `JOBS_JID`, `JOBS_CLASS`, `JOBS_QUEUE` and `JOBS_ATTEMPT` are in its
 * environment, `TRACEPARENT` if tracing is on, and the variables for durable steps (`program_steps.ts`). Its stdout is the result, its stderr goes to the job's log, and its exit
 * code is the outcome. The end of both is kept with a failure. A command is never run by a shell and never comes from a store: a client that can push jobs must not
 * be able to run commands.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { Discard, Kill } from "../../job/errors.ts";
import { parseLossless } from "../../job/json.ts";
import { CutOutput } from "../../job/returned.ts";
import type { JobContext } from "../context.ts";
import type { HandlerFunction } from "../handler.ts";
import type { Program } from "../../job/program.ts";
import { setOutput, setProcess } from "../running_context.ts";
import { endingWithWorker } from "./ending_with_worker.ts";
import { eachLine, howItEnded, killGroup, readOutput } from "./process_group.ts";
import { findUser, isFolder, type ProgramUser } from "./program_user.ts";
import { OutputTail, ProgramOutput } from "./program_output.ts";
import type { ProgramSession, ProgramSteps } from "./program_steps.ts";
import { ProcessLost } from "./remote_error.ts";

export interface ProgramServices {
  readonly clock: Clock;
  /** The time from TERM to KILL when a job is aborted. */
  readonly killAfterMs: number;
  /** Of a longer output, only the beginning and the end are kept. */
  readonly maxResultBytes: number;
  readonly steps: ProgramSteps;
}

/** Exit codes with a special meaning. Any other failure is retried by the options of the class. */
const DISCARD = 100;
const KILL = 101;
const TRY_AGAIN = 75;
/** At most this many lines of stderr are logged. A warning replaces the rest. */
const MAX_LINES = 1_000;
/** Of what a program printed, this much of the end is kept with a failure. */
const MAX_FAILED_OUTPUT_BYTES = 64 * 1024;

/** The failure of a job whose program failed. */
export class ProgramFailed extends Error {
  override readonly name = "ProgramFailed";

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    // The stack of the worker says nothing about the program, and the output may have that of the program.
    this.stack = "";
  }
}

/** The program failed temporarily (exit code 75). */
export class TryAgain extends Error {
  override readonly name = "TryAgain";
}

/** Returns a handler that performs its jobs with a program. */
export function programHandler(program: Program, services: ProgramServices): HandlerFunction {
  const { user: name, env = {} } = program;
  const user = name === undefined ? undefined : findUser(name);
  const start: Start = {
    command: program.exec,
    cwd: program.cwd,
    // As cron sets them.
    env: { ...(user && { HOME: user.home, LOGNAME: user.name, USER: user.name }), ...env },
    user: user?.uid === Deno.uid() ? undefined : user,
  };
  return (job) => new ProgramRun(start, services).perform(job);
}

/** How a program is started. */
interface Start {
  readonly command: readonly string[];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  /** Undefined if it is the user of the worker. */
  readonly user: ProgramUser | undefined;
}

class ProgramRun {
  readonly #start: Start;
  readonly #services: ProgramServices;
  /** The reason why the worker ended the program; undefined if it didn't. */
  #reason: unknown;
  #lastLine: string | undefined;
  /** The end of stdout and stderr, as a terminal would show it. */
  readonly #printed = new OutputTail(MAX_FAILED_OUTPUT_BYTES);

  constructor(start: Start, services: ProgramServices) {
    this.#start = start;
    this.#services = services;
  }

  async perform(job: JobContext): Promise<unknown> {
    job.signal.throwIfAborted();
    const ended = new AbortController();
    const end = (reason: unknown) => {
      // The steps that an ended program has left running fail, and its end counts.
      if (!ended.signal.aborted) void this.#terminate(child.pid, reason, ended.signal);
    };
    using session = this.#services.steps.open(job, end);
    const child = this.#spawn(job, session);
    setProcess(job, child.pid);
    const onAbort = () => end(job.signal.reason);
    job.signal.addEventListener("abort", onAbort, { once: true });
    void feed(child.stdin, job.raw, child.status);
    const running = { ended: child.status, clock: this.#services.clock };
    const logging = this.#logLines(child.stderr, running, job);
    const output = new ProgramOutput(this.#services.maxResultBytes);
    const reading = readOutput(child.stdout, running, (bytes) => {
      output.add(bytes);
      this.#printed.add(bytes);
    });
    const status = await child.status;
    ended.abort();
    job.signal.removeEventListener("abort", onAbort);
    // Processes that it has left running would hold the pipes open, and nothing else would end them.
    killGroup(child.pid, "SIGKILL");
    await Promise.all([reading, logging]);
    const isFailed = this.#reason !== undefined || !status.success;
    if (isFailed && !this.#printed.isEmpty) setOutput(job, this.#printed.lines());
    return this.#conclude(status, output.end());
  }

  #spawn(job: JobContext, session: ProgramSession): Deno.ChildProcess {
    try {
      const { command, cwd, env, user } = this.#start;
      const [program, ...args] = endingWithWorker(command, { cwd, env, user });
      return new Deno.Command(program!, {
        args,
        ...(cwd !== undefined && { cwd }),
        env: {
          ...env,
          JOBS_JID: job.jid,
          JOBS_CLASS: job.class,
          JOBS_QUEUE: job.queue,
          JOBS_ATTEMPT: String(job.attempt),
          ...session.variables,
          ...traceVariables(job),
        },
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
        detached: true,
      }).spawn();
    } catch (error) {
      throw new ProgramFailed(
        `Program "${this.#start.command[0]}" cannot be started: ${startProblem(error, this.#start)}`,
        {
          cause: error,
        },
      );
    }
  }

  /** Sends TERM, and KILL after the grace period. */
  async #terminate(pid: number, reason: unknown, ended: AbortSignal): Promise<void> {
    this.#reason ??= reason;
    killGroup(pid, "SIGTERM");
    await this.#services.clock.sleep(this.#services.killAfterMs, ended);
    if (!ended.aborted) killGroup(pid, "SIGKILL");
  }

  async #logLines(
    stderr: ReadableStream<Uint8Array>,
    running: { readonly ended: Promise<unknown>; readonly clock: Clock },
    job: JobContext,
  ): Promise<void> {
    let lines = 0;
    const onLine = (line: string) => {
      this.#lastLine = line;
      if (++lines <= MAX_LINES) job.log.info(line);
      else if (lines === MAX_LINES + 1) {
        job.log.warn("Program printed too many lines on stderr; the rest is not logged");
      }
    };
    await eachLine(stderr, running, onLine, (bytes) => this.#printed.add(bytes));
  }

  #conclude(status: Deno.CommandStatus, output: Uint8Array | CutOutput): unknown {
    if (this.#reason !== undefined) throw this.#reason;
    if (status.success) return output instanceof CutOutput ? output : this.#parse(output);
    const message = `Program "${this.#start.command[0]}" ${howItEnded(status)}${
      this.#lastLine ? `: ${this.#lastLine}` : ""
    }`;
    const failure = failureOf(status, message);
    // The stack of the worker says nothing about the program, and the output may have that of the program.
    failure.stack = "";
    throw failure;
  }

  /** Returns the output parsed as JSON; as text if it isn't JSON. */
  #parse(output: Uint8Array): unknown {
    let text: string;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(output).trim();
    } catch {
      throw new ProgramFailed(`Program "${this.#start.command[0]}" printed invalid UTF-8; expected JSON or text`);
    }
    if (text === "") return undefined;
    try {
      return parseLossless(text);
    } catch {
      return text;
    }
  }
}

function failureOf({ signal, code }: Deno.CommandStatus, message: string): Error {
  if (signal !== null) return new ProcessLost(`Killed:${signal}`, message);
  if (code === DISCARD) return new Discard(message);
  if (code === KILL) return new Kill(message);
  return code === TRY_AGAIN ? new TryAgain(message) : new ProgramFailed(message);
}

/** Returns `TRACEPARENT` and related variables, with which the program can continue the trace of the job. */
function traceVariables({ trace }: JobContext): Record<string, string> {
  return Object.fromEntries(Object.entries(trace?.carrier ?? {}).map(([name, value]) => [name.toUpperCase(), value]));
}

/** Writes the payload to stdin. A program need not read it. Never rejects. */
async function feed(stdin: WritableStream<Uint8Array>, text: string, ended: Promise<unknown>): Promise<void> {
  const writer = stdin.getWriter();
  // A daemon that the program has left behind may hold the pipe open.
  void ended.then(() => writer.abort()).catch(() => {});
  try {
    await writer.write(new TextEncoder().encode(`${text}\n`));
    await writer.close();
  } catch {
    // The program has ended, or closed its stdin.
  }
}

function startProblem(error: unknown, { cwd }: Start): string {
  // The folder existed when the worker started.
  if (cwd !== undefined && !isFolder(cwd)) return `folder "${cwd}" not found`;
  if (error instanceof Deno.errors.NotFound) return "program not found";
  if (error instanceof Deno.errors.PermissionDenied) return "it is not executable (chmod +x)";
  return (error as Error).message;
}
