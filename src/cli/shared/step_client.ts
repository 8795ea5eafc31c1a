/**
 * The program's side of a durable step: requests it from the worker, and runs its command if it isn't done. Requests the
 * results of a flow, reports and pushes in the same way.
 *
 * @module
 */
import { FrameConnection } from "../../handlers/isolation/ipc.ts";
import { howItEnded } from "../../handlers/isolation/process_group.ts";
import { Pieces } from "../../handlers/isolation/program_output.ts";
import type { FromProgram, ProgramRequest, ToProgram } from "../../handlers/isolation/step_frames.ts";
import { parseLossless } from "../../job/json.ts";
import { MAX_STEP_CHARACTERS } from "../../job/step.ts";
import { CommandFailed, UsageError } from "../terminal/errors.ts";
import { printError } from "../terminal/output.ts";

/** The reply to a request. */
export interface StepEnd {
  /** JSON text; absent for none. */
  readonly value?: string;
  /** Why it failed for good. */
  readonly failed?: string;
}

/** A request without its token. */
export type RequestBody<Request = ProgramRequest> = Request extends ProgramRequest ? Omit<Request, "token"> : never;
type Connection = FrameConnection<ToProgram, FromProgram>;

/** The variable with the address of the worker's socket. */
const SOCKET = "JOBS_SOCKET";
/** Characters of UTF-8 have at most this many bytes. A longer output is an error before the worker receives it. */
const MAX_OUTPUT_BYTES = 4 * MAX_STEP_CHARACTERS;

/**
 * Sends a request for the job whose program started this process.
 *
 * @param command the program and arguments of `jobs step run`
 * @throws {UsageError} outside of a job's program
 * @throws {CommandFailed} if the worker ended the step without a reply: the attempt has ended
 */
export async function requestStep(request: RequestBody, command: readonly string[] = []): Promise<StepEnd> {
  const [path, token] = [Deno.env.get(SOCKET), Deno.env.get("JOBS_TOKEN")];
  if (path === undefined || token === undefined) {
    throw new UsageError("Not in a job: JOBS_SOCKET is not set; jobs run sets it for the programs in exec");
  }
  using connection: Connection = new FrameConnection(await connect(path));
  const end = Promise.withResolvers<StepEnd>();
  let part: Part | undefined;
  const ended = () => end.reject(new CommandFailed("ended", "The attempt of the job has ended, and so has this step"));
  void connection.read((frame) => {
    switch (frame.kind) {
      case "run":
        part = new Part(command, frame);
        return void part.run().then((result) => connection.send(result));
      case "abort":
        return part?.end("SIGTERM");
      case "value":
        return end.resolve(frame.value === undefined ? {} : { value: frame.value });
      case "failed":
        return end.resolve({ failed: frame.message });
      case "ended":
        return ended();
    }
  }).then(ended);
  connection.send({ ...request, token } as ProgramRequest);
  try {
    return await end.promise;
  } finally {
    // After a timeout it may still run.
    part?.end("SIGKILL");
  }
}

/** Ends the program of the job with all its processes; outside of a job does nothing. */
export function endProgram(error: unknown): void {
  if (Deno.env.get(SOCKET) === undefined) return;
  printError(`jobs: ${(error as Error).message}`);
  // The process group, which the program leads.
  Deno.kill(0, "SIGTERM");
}

async function connect(path: string): Promise<Deno.Conn> {
  try {
    return await Deno.connect({ transport: "unix", path });
  } catch (error) {
    throw new CommandFailed("ended", `No connection to the worker at "${path}": ${(error as Error).message}`);
  }
}

/** The command of a step. */
class Part {
  readonly #command: readonly string[];
  readonly #step: Extract<ToProgram, { readonly kind: "run" }>;
  #child: Deno.ChildProcess | undefined;

  constructor(command: readonly string[], step: Extract<ToProgram, { readonly kind: "run" }>) {
    this.#command = command;
    this.#step = step;
  }

  /** Runs it. Resolves with its output as JSON, as text if it isn't JSON, or with its failure. */
  async run(): Promise<FromProgram> {
    const [program = "", ...args] = this.#command;
    const { attempt, idempotencyKey } = this.#step;
    const failed = (what: string) => ({ kind: "result", failed: `Command "${program}" ${what}` }) as const;
    try {
      this.#child = new Deno.Command(program, {
        args,
        env: { JOBS_STEP_ATTEMPT: String(attempt), JOBS_IDEMPOTENCY_KEY: idempotencyKey },
        stdin: "inherit",
        stdout: "piped",
        stderr: "inherit",
      }).spawn();
    } catch (error) {
      return failed(`cannot be started: ${(error as Error).message}`);
    }
    const output = new Pieces();
    for await (const chunk of this.#child.stdout) {
      output.add(chunk);
      if (output.bytes > MAX_OUTPUT_BYTES) {
        this.end("SIGKILL");
        return failed(`printed more than ${MAX_OUTPUT_BYTES} bytes; keep them elsewhere, and print where`);
      }
    }
    const status = await this.#child.status;
    this.#child = undefined;
    if (!status.success) return failed(howItEnded(status));
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(output.join()).trim();
      return { kind: "result", ...(text !== "" && { value: jsonOf(text) }) };
    } catch {
      return failed("printed invalid UTF-8; expected JSON or text");
    }
  }

  /** Sends it a signal if it runs. */
  end(signal: Deno.Signal): void {
    try {
      this.#child?.kill(signal);
    } catch {
      // It has ended.
    }
  }
}

function jsonOf(text: string): string {
  try {
    parseLossless(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}
