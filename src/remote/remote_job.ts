/**
 * A job whose handler runs in another program. Its processor waits here until the program has sent the end.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { JobContext } from "../handlers/context.ts";
import { continueStream, finishStream } from "../handlers/running_context.ts";
import { type PartEnd, RemoteStep, type UseAnswer, type UseRequest } from "./remote_step.ts";

/** The answers of this many uses are kept, for requests that are repeated. */
const MAX_USES = 1_000;

/** A push into the job's batch. */
type MemberRequest = Extract<UseRequest, { readonly kind: "member" }>;

/** Returns a push with an ID that follows from its number in the attempt: the next process doesn't store it again if its answer was lost. */
function withId(request: MemberRequest, token: string, call: number): MemberRequest {
  const { options = {} } = request;
  if (["id", "within", "jid"].some((name) => options[name] !== undefined)) return request;
  const id = createHash("sha256").update(JSON.stringify([token, call])).digest("base64url");
  return { ...request, options: { ...options, id } };
}

/** Why a program must end a job: the name of the reason with which its signal aborts. */
export type AbortName = "Cancelled" | "Timeout" | "Shutdown" | "LeaseLost";

export class RemoteJob {
  readonly job: JobContext;
  /** Names this attempt: the token of the lease. */
  readonly token: string;
  /** Settles as the program's handler does. */
  readonly ended: Promise<unknown>;
  readonly #end = Promise.withResolvers<unknown>();
  #isOver = false;
  #isLeft = false;
  /** How many chunks of its stream have arrived, here or at another process; undefined before the first request. */
  #streamed: number | undefined;
  /** Resolves when they have been added. */
  #streaming: Promise<unknown> = Promise.resolve();
  readonly #uses = new Map<number, RemoteStep>();
  /** When it was given to the program, in epoch milliseconds. */
  readonly since: number;
  /** The number of the program's request that it was given with. */
  take = Infinity;

  constructor(job: JobContext, token: string, since: number) {
    this.job = job;
    this.token = token;
    this.since = since;
    this.ended = this.#end.promise;
    this.ended.catch(() => {});
  }

  /** Whether its end counts no more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The reason why the program must end it; undefined if it may continue. */
  get abortedBy(): AbortName | undefined {
    const { signal } = this.job;
    return signal.aborted ? (signal.reason as Error).name as AbortName : undefined;
  }

  /** Performs a use of its context; `call` numbers it, so that a repeated request has no further effect. */
  use(call: number, request: UseRequest, result?: PartEnd): Promise<UseAnswer> {
    let use = this.#uses.get(call);
    if (use === undefined) {
      const named = request.kind === "member" ? withId(request, this.token, call) : request;
      this.#uses.set(call, use = new RemoteStep(this.job, named, (error) => this.fail(error)));
      this.#uses.delete(call - MAX_USES);
    }
    return use.answer(result);
  }

  /**
   * Adds chunks to its stream, after those of the requests before. Resolves when there is room for more.
   *
   * @param from how many chunks precede these: those of a repeated request that are known are skipped
   * @returns false if the job has ended, or continues elsewhere, and not all of them were added
   */
  stream(from: number, chunks: readonly unknown[]): Promise<boolean> {
    if (this.#streamed === undefined) continueStream(this.job, from);
    const before = this.#streaming;
    const fresh = chunks.slice(Math.max(0, (this.#streamed ?? from) - from));
    this.#streamed = Math.max(this.#streamed ?? 0, from + chunks.length);
    const add = async () => {
      await before;
      for (const chunk of fresh) {
        if (this.#isOver || this.#isLeft) return false;
        await this.job.stream(chunk);
      }
      return true;
    };
    const added = add();
    this.#streaming = added.catch(() => {});
    return added;
  }

  /** Writes the rest of its stream: its program continues with it at another process. */
  async leave(): Promise<void> {
    this.#isLeft = true;
    await finishStream(this.job);
  }

  /** Ends it with a result. */
  succeed(value: unknown): void {
    this.#close();
    this.#end.resolve(value);
  }

  /** Ends it with an error. */
  fail(error: unknown): void {
    this.#close();
    this.#end.reject(error);
  }

  #close(): void {
    this.#isOver = true;
    for (const use of this.#uses.values()) use.abandon();
  }
}
