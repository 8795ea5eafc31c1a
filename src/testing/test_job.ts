/**
 * Runs one job in memory, for tests of handlers with durable steps: without a store or a worker, and on a clock that the
 * test moves.
 *
 * ```ts ignore
 * const test = testJob(Order, [42]);
 * await test.run(); // charges, and sleeps for two days
 * assertEquals(test.ran, ["charge"]);
 * await test.advance("2d");
 * await test.signal("order:42", { approved: true });
 * assertEquals(test.state, "succeeded");
 * ```
 *
 * @module
 */
import { Client } from "../client/client.ts";
import { sendSignal } from "../client/signal.ts";
import { parseDuration } from "../job/duration.ts";
import { describeError } from "../job/describe_error.ts";
import { LeaseLost, Shutdown } from "../job/errors.ts";
import { verdictOf } from "../job/verdict.ts";
import { JidMaker } from "../job/jid.ts";
import { parsePayload } from "../job/job.ts";
import { stringifyLossless } from "../job/json.ts";
import type { JobOptions } from "../job/payload.ts";
import type { Step } from "../job/step.ts";
import type { JobContext } from "../handlers/context.ts";
import { RunningJob } from "../handlers/running_job.ts";
import { StopNotice } from "../handlers/stop_notice.ts";
import type { Log } from "../log/log.ts";
import { isReleased } from "../steps/errors.ts";
import { StepRunner } from "../steps/runner.ts";
import type { NewJob } from "../store/port/jobs.ts";
import { leaseOf } from "./fake_client.ts";
import { MemoryJobs } from "./memory_jobs.ts";
import { MemorySteps } from "./memory_steps.ts";
import { TestClock } from "./test_clock.ts";

/** A handler under test. */
// deno-lint-ignore no-explicit-any -- as a handler's arguments are
export type TestedHandler<Args extends readonly any[]> = (ctx: JobContext, ...args: Args) => unknown;

/**
 * - `asleep`: it sleeps, waits for a signal or a child, or was snoozed.
 * - `failed`: its last attempt threw; {@linkcode TestJob.retry} runs the next.
 * - `released`: its worker stopped; {@linkcode TestJob.run} continues it on another worker.
 */
export type TestState = "new" | "asleep" | "succeeded" | "failed" | "released";

/** Options of {@linkcode testJob}. */
export interface TestJobOptions {
  /** The class of the job. Default: the `class` of the handler, or else its name. */
  readonly class?: string;
  /** More fields of the payload. */
  readonly job?: JobOptions;
  /** Makes it a member of a batch: `ctx.batch`. */
  readonly batch?: boolean;
  /** Makes it a node of a flow, after nodes with these results, by name: `ctx.flow.results()`. */
  readonly results?: Readonly<Record<string, unknown>>;
  /** The initial time of the clock. Default: 2026-01-01T00:00:00Z. */
  readonly now?: Date;
}

/** A job that runs in memory. */
export class TestJob {
  /** The state after the last attempt. */
  state: TestState = "new";
  /** The value that the handler returned. */
  result: unknown;
  /** The error of the last attempt, if it failed. */
  error: unknown;
  /** The names of the steps whose function has run, in order. A repeated step is listed twice. */
  readonly ran: string[] = [];
  /** The jobs that the handler pushed with `ctx.client`. */
  readonly pushed: NewJob[] = [];
  /** The messages that the handler logged. */
  readonly logged: string[] = [];
  /** The ID of the job. */
  readonly jid: string;
  readonly #handler: TestedHandler<never>;
  readonly #payload: Record<string, unknown>;
  readonly #clock: TestClock;
  readonly #steps: MemorySteps;
  readonly #client: Client;
  #stopNotice = new StopNotice();
  #dueAt = 0;
  #failures = 0;

  /** See {@linkcode testJob}. */
  constructor(handler: TestedHandler<never>, args: readonly unknown[], options: TestJobOptions = {}) {
    this.#handler = handler;
    this.#clock = new TestClock((options.now ?? new Date("2026-01-01T00:00:00Z")).getTime());
    this.jid = new JidMaker().next(this.#clock.now());
    this.#steps = new MemorySteps(this.jid, () => this.#clock.now());
    const className = options.class ?? (handler as { class?: string }).class ?? (handler.name || "Test");
    const { batches } = new MemoryJobs(this.#clock);
    const member = batches.enroll(this.jid, options);
    this.#payload = { ...options.job, ...member, class: className, args, jid: this.jid, queue: "default" };
    const enqueue = (jobs: readonly NewJob[]) => {
      this.pushed.push(...jobs);
      return Promise.resolve(jobs.map(() => ({ kind: "stored" as const })));
    };
    this.#client = new Client({
      store: { jobs: { enqueue }, steps: this.#steps, batches, flows: batches },
      clock: this.#clock,
      onUnregistered: () => {},
    });
  }

  /** The steps of the job, in the order in which they began. */
  get steps(): Step[] {
    return this.#steps.list();
  }

  /** The time of the clock. */
  get now(): Date {
    return new Date(this.#clock.now());
  }

  /** Runs an attempt until the job sleeps, succeeds or fails. Does nothing while the job sleeps. */
  async run(): Promise<TestState> {
    if (this.state === "succeeded") throw new Error("The job has already succeeded");
    if (this.state === "asleep" && this.#dueAt > this.#clock.now()) return this.state;
    return await this.#attempt();
  }

  /** Runs the next attempt of a failed job, with its stored steps. */
  async retry(): Promise<TestState> {
    if (this.state !== "failed") throw new Error(`Only a failed job is retried; this one is ${this.state}`);
    return await this.#attempt();
  }

  /**
   * Runs the job again, as after a crash of its worker in the last attempt. Steps that are not stored run again.
   *
   * @param name also removes this step, as if its result had not been stored
   */
  async crash(name?: string): Promise<TestState> {
    if (name !== undefined) this.#steps.clear(name);
    return await this.#attempt();
  }

  /** Advances the clock by seconds or a duration, and runs the job whenever it is due. */
  async advance(duration: number | string): Promise<TestState> {
    const end = this.#clock.now() + parseDuration(String(duration));
    while (this.state === "asleep" && this.#dueAt <= end) {
      this.#clock.pass(Math.max(0, this.#dueAt - this.#clock.now()));
      await this.#attempt();
    }
    this.#clock.pass(end - this.#clock.now());
    return this.state;
  }

  /** Sends a signal, and runs the job if it waits for that signal. */
  async signal(key: string, data: unknown = true): Promise<TestState> {
    const { reached } = await sendSignal(this.#steps, key, data, {});
    return reached === undefined ? this.state : await this.#attempt();
  }

  /** Ends the child of a step with a result, and runs the job. */
  finishChild(step: string, result: unknown): Promise<TestState> {
    const text = result === undefined ? "" : `"value":${stringifyLossless(result)}`;
    return this.#endChild(step, text, "succeeded");
  }

  /** Ends the child of a step with an error, and runs the job. */
  failChild(step: string, error: unknown): Promise<TestState> {
    const { class: name, message } = describeError(error);
    return this.#endChild(step, `"error":${JSON.stringify({ class: name, message })},"final":true`, "failed");
  }

  /** Notifies the running job that its worker stops. Call it from a step. */
  stopWorker(): void {
    this.#stopNotice.give();
  }

  async #endChild(step: string, outcome: string, state: "succeeded" | "failed"): Promise<TestState> {
    if (!this.#steps.answer(step, outcome, state)) throw new Error(`Step "${step}" doesn't wait for a child`);
    return await this.#attempt();
  }

  async #attempt(): Promise<TestState> {
    const retried = this.#failures === 0 ? {} : { retry_count: this.#failures - 1 };
    const raw = stringifyLossless({ ...this.#payload, ...retried, has_steps: true })!;
    this.#stopNotice = new StopNotice();
    const running = new RunningJob(parsePayload(raw)!, "default", {
      log: new MessageLog(this.logged),
      client: this.#client,
      stopNotice: this.#stopNotice,
      stepRunner: (job) =>
        new StepRunner(job, {
          steps: this.#steps,
          clock: this.#clock,
          build: (request) => this.#client.build(request),
          onRun: (name) => this.ran.push(name),
        }),
    }, leaseOf(this.jid));
    this.error = undefined;
    try {
      const perform = this.#handler as unknown as TestedHandler<readonly unknown[]>;
      this.result = await perform(running.context, ...running.job.args);
      await running.finishSteps();
      running.steps?.throwIfEnding();
      await running.steps?.store();
      return this.state = "succeeded";
    } catch (error) {
      await running.finishSteps();
      await running.steps?.store();
      return this.#ended(running.steps?.ending ?? error);
    }
  }

  #ended(error: unknown): TestState {
    if (isReleased(error) || error instanceof Shutdown || error instanceof LeaseLost) return this.state = "released";
    const verdict = verdictOf(error);
    if (verdict?.kind === "snooze") {
      this.#dueAt = this.#clock.now() + verdict.delayMs;
      return this.state = "asleep";
    }
    this.#failures++;
    this.error = error;
    return this.state = "failed";
  }
}

/**
 * Prepares a job that runs in memory.
 *
 * @param handler the handler, or a definition from `defineJob`
 * @param args its arguments
 */
// deno-lint-ignore no-explicit-any -- as a handler's arguments are
export function testJob<Args extends readonly any[]>(
  handler: TestedHandler<Args>,
  args: Args,
  options: TestJobOptions = {},
): TestJob {
  return new TestJob(handler as unknown as TestedHandler<never>, args, options);
}

/** A log that collects messages. */
class MessageLog implements Log {
  readonly #messages: string[];

  constructor(messages: string[]) {
    this.#messages = messages;
  }

  debug(message: string): void {
    this.#messages.push(message);
  }

  info(message: string): void {
    this.#messages.push(message);
  }

  warn(message: string): void {
    this.#messages.push(message);
  }

  error(message: string): void {
    this.#messages.push(message);
  }

  enabled(): boolean {
    return true;
  }

  with(): Log {
    return this;
  }
}
