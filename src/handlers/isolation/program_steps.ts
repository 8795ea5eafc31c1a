/**
 * Durable steps of jobs that programs perform, the results of their flows, their reports and pushes. The worker runs the step on behalf of the
 * program, with the same runner as for a handler in JavaScript.
 *
 *  1. The environment of a program has the path of a socket and a token, which names its attempt. A program that outlives
 *     its attempt can use neither the steps of that attempt nor those of the next.
 *  2. The socket exists while a program runs. All programs of a worker share it.
 *  3. A sleep, a wait and a failed step end the attempt, and so the program: its job runs again from the top. A script that
 *     ignores exit codes must not continue after a failed step.
 *
 * @module
 */
import { parseLossless, stringifyLossless } from "../../job/json.ts";
import { ChildFailed, StepFailed } from "../../steps/errors.ts";
import type { JobContext } from "../context.ts";
import { performStep, type StepRequest } from "../step_request.ts";
import { FrameConnection } from "./ipc.ts";
import { openPrivateSocket, type PrivateSocket, type PrivateSocketOptions } from "./private_socket.ts";
import { isOther, replyTo } from "./program_requests.ts";
import type { FromProgram, ProgramRequest, StepFrame, ToProgram } from "./step_frames.ts";

/** The failure of a step's part in a program. */
class PartFailed extends Error {
  /** `ProgramFailed`: to the user, a part of the program has failed. */
  override readonly name = "ProgramFailed";
}

/** The access of one program to the steps of its job. */
export interface ProgramSession extends Disposable {
  /** For the environment of the program; empty if no socket can be opened. */
  readonly variables: Readonly<Record<string, string>>;
}

interface Session {
  readonly job: JobContext;
  /** Ends the program with an error. */
  readonly end: (error: unknown) => void;
  /** Steps whose parts the program is running. */
  readonly parts: Set<Part>;
}

/** The result of a program's part of a step. */
type Part = PromiseWithResolvers<unknown>;

export class ProgramSteps {
  readonly #options: PrivateSocketOptions;
  readonly #sessions = new Map<string, Session>();
  #socket: PrivateSocket | undefined;

  constructor(options: PrivateSocketOptions) {
    this.#options = options;
  }

  /** Gives a program access to the steps of its job, until the session is disposed. */
  open(job: JobContext, end: (error: unknown) => void): ProgramSession {
    if (this.#socket?.isGone) this.#close();
    try {
      this.#socket ??= openPrivateSocket((socket) => void this.#serve(socket), this.#options);
    } catch {
      // A program without steps needs no socket. `jobs step` reports that there is none.
      return { variables: {}, [Symbol.dispose]: () => {} };
    }
    const token = crypto.randomUUID();
    const parts = new Set<Part>();
    this.#sessions.set(token, { job, end, parts });
    return {
      variables: { JOBS_SOCKET: this.#socket.address, JOBS_TOKEN: token },
      [Symbol.dispose]: () => {
        this.#sessions.delete(token);
        // A process that has left the program's group may hold the connection open.
        for (const part of parts) endWithoutResult(part);
        if (this.#sessions.size === 0) this.#close();
      },
    };
  }

  /** Open connections stay. */
  #close(): void {
    this.#socket?.close();
    this.#socket = undefined;
  }

  /** Performs the request of one connection. */
  async #serve(socket: Deno.Conn): Promise<void> {
    using connection = new FrameConnection<FromProgram, ToProgram>(socket);
    const part = Promise.withResolvers<unknown>();
    part.promise.catch(() => {}); // the step may have ended without it
    let performing: Promise<unknown> | undefined;
    try {
      await connection.read((frame) => {
        if (frame.kind === "result") endPart(part, frame);
        else performing ??= this.#perform(connection, frame, part);
      });
    } catch {
      // A frame that isn't JSON: the connection ends.
    }
    endWithoutResult(part);
    // A program that has sent its last frame may have closed its side only.
    await performing;
  }

  /** Performs a request. Resolves when the reply is written, or the program is ended instead. Never rejects. */
  async #perform(
    connection: FrameConnection<FromProgram, ToProgram>,
    request: ProgramRequest,
    part: Part,
  ): Promise<unknown> {
    const session = this.#sessions.get(request.token);
    if (session === undefined) return await connection.deliver({ kind: "ended" });
    session.parts.add(part);
    try {
      if (isOther(request)) return await connection.deliver(await replyTo(session.job, request));
      const value = await performStep(session.job, parsedRequest(request), ({ attempt, idempotencyKey, signal }) => {
        signal.addEventListener("abort", () => connection.send({ kind: "abort" }), { once: true });
        connection.send({ kind: "run", attempt, idempotencyKey });
        return part.promise;
      });
      const text = value === undefined ? undefined : stringifyLossless(value);
      return await connection.deliver({ kind: "value", ...(text !== undefined && { value: text }) });
    } catch (error) {
      if (error instanceof StepFailed || error instanceof ChildFailed) {
        return await connection.deliver({ kind: "failed", message: error.message });
      }
      session.end(error);
    } finally {
      session.parts.delete(part);
    }
  }
}

function endWithoutResult({ reject }: Part): void {
  reject(new PartFailed("The program ended the step without a result"));
}

function endPart(
  { resolve, reject }: Part,
  { value, failed }: Extract<FromProgram, { readonly kind: "result" }>,
): void {
  if (failed !== undefined) return reject(new PartFailed(failed));
  try {
    resolve(value === undefined ? undefined : parseLossless(value));
  } catch {
    reject(new PartFailed("The program sent a result that isn't JSON"));
  }
}

/** Returns a frame with its values parsed. */
function parsedRequest(frame: StepFrame): StepRequest {
  const { name } = frame;
  switch (frame.kind) {
    case "step": {
      const { token: _token, name: _name, kind, ...options } = frame;
      return { kind, name, options };
    }
    case "wait": {
      const { kind, key, timeout, example } = frame;
      return {
        kind,
        name,
        options: { key, timeout, ...(example !== undefined && { example: parseLossless(example) }) },
      };
    }
    case "cursor":
      return { kind: "cursor", name, ...(frame.cursor !== undefined && { cursor: parseLossless(frame.cursor) }) };
    case "child": {
      const { kind, class: className, args, queue, giveUpAfter } = frame;
      const options = { ...(queue !== undefined && { queue }), ...(giveUpAfter !== undefined && { giveUpAfter }) };
      return { kind, name, class: className, args: parseLossless(args) as unknown[], options };
    }
    default:
      return frame;
  }
}
