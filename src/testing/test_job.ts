/**
 * Runs one job, attempt by attempt, for tests of handlers with durable steps. Its store is SQLite in memory, its worker performs
 * jobs by the code of a real one, and the test moves the clock.
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
import { JidMaker } from "../job/jid.ts";
import type { JobOptions } from "../job/payload.ts";
import { parsePayload } from "../job/job.ts";
import { readReturned } from "../job/returned.ts";
import { readStep, type Step } from "../job/step.ts";
import type { JobContext } from "../handlers/context.ts";
import { Registry } from "../handlers/registry.ts";
import { StepRunner } from "../steps/runner.ts";
import type { LeaseSteps } from "../steps/services.ts";
import type { Store } from "../store/admin/store.ts";
import { type Ended, outcomeOf } from "../store/ops/outcome.ts";
import type { NewJob } from "../store/port/jobs.ts";
import type { Outcome } from "../store/port/outcomes.ts";
import { memoryStore } from "./memory_store.ts";
import { TestClock } from "./test_clock.ts";
import { type Membership, TestWorker, WORKER } from "./test_worker.ts";

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
  /** The chunks of its stream, from `ctx.stream`. */
  readonly streamed: unknown[] = [];
  /** The ID of the job. */
  readonly jid: string;
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #membership: Membership;
  readonly #clock: TestClock;
  readonly #store: Store;
  readonly #worker: TestWorker;
  /** The records of its steps, as this job has read and written them. */
  readonly #records = new Map<string, string>();
  /** The outcome of the last attempt, until it is stored. */
  #outcome: Outcome | undefined;
  #dueAt = 0;

  /** See {@linkcode testJob}. */
  constructor(handler: TestedHandler<never>, args: readonly unknown[], options: TestJobOptions = {}) {
    const clock = this.#clock = new TestClock((options.now ?? new Date("2026-01-01T00:00:00Z")).getTime());
    this.jid = new JidMaker().next(clock.now());
    const className = options.class ?? (handler as { class?: string }).class ?? (handler.name || "Test");
    this.#fields = { ...options.job, class: className, args, jid: this.jid, queue: "default" };
    this.#membership = { batch: options.batch, results: options.results };
    const store = this.#store = memoryStore(clock, (job) => {
      if (job.jid !== this.jid) this.pushed.push(job);
    });
    const client = new Client({ store, clock, onUnregistered: () => {} });
    const registry = new Registry().add(className, handler as unknown as TestedHandler<readonly unknown[]>);
    this.#worker = new TestWorker({
      ...{ clock, store, client, registry, logged: this.logged, streamed: this.streamed },
      stepRunner: (job, token) =>
        new StepRunner(job, {
          clock,
          steps: this.#stepsOf(token),
          build: (request) => client.build(request),
          onRun: (name) => this.ran.push(name),
        }),
    });
  }

  /** The steps of the job, in the order in which they began. */
  get steps(): Step[] {
    return [...this.#records].map(([name, record]) => readStep(name, record));
  }

  /** The time of the clock. */
  get now(): Date {
    return new Date(this.#clock.now());
  }

  /** Runs an attempt until the job sleeps, succeeds or fails. Does nothing while the job sleeps. */
  async run(): Promise<TestState> {
    if (this.state === "succeeded") throw new Error("The job has already succeeded");
    if (this.state === "asleep" && this.#dueAt > this.#clock.now()) return this.state;
    return await this.#perform();
  }

  /** Runs the next attempt of a failed job, with its stored steps. */
  async retry(): Promise<TestState> {
    if (this.state !== "failed") throw new Error(`Only a failed job is retried; this one is ${this.state}`);
    return await this.#perform();
  }

  /**
   * Runs the job again, as after a crash of its worker in the last attempt. Steps that are not stored run again.
   *
   * @param name also removes this step, as if its result had not been stored
   */
  async crash(name?: string): Promise<TestState> {
    if (name !== undefined) {
      await this.#store.steps.clear(this.jid, [name]);
      this.#records.delete(name);
    }
    await this.#forget();
    return await this.#perform();
  }

  /** Advances the clock by seconds or a duration, and runs the job whenever it is due. */
  async advance(duration: number | string): Promise<TestState> {
    await this.#settle();
    const end = this.#clock.now() + parseDuration(String(duration));
    while (this.state === "asleep" && this.#dueAt <= end) {
      this.#clock.pass(Math.max(0, this.#dueAt - this.#clock.now()));
      await this.#perform();
      await this.#settle();
    }
    this.#clock.pass(end - this.#clock.now());
    return this.state;
  }

  /** Sends a signal, and runs the job if it waits for that signal. */
  async signal(key: string, data: unknown = true): Promise<TestState> {
    await this.#settle();
    const { reached } = await sendSignal(this.#store.steps, key, data, {});
    return reached === undefined ? this.state : await this.#perform();
  }

  /** Ends the child of a step with a result, and runs the job. */
  finishChild(step: string, result: unknown): Promise<TestState> {
    return this.#endChild(step, { returned: readReturned(result) });
  }

  /** Ends the child of a step with an error, and runs the job. */
  failChild(step: string, error: unknown): Promise<TestState> {
    return this.#endChild(step, { error });
  }

  /** Notifies the running job that its worker stops. Call it from a step. */
  stopWorker(): void {
    this.#worker.stopNotice.give();
  }

  async #endChild(step: string, ended: Ended): Promise<TestState> {
    const { child, state } = this.steps.find(({ name }) => name === step) ?? {};
    if (child === undefined || state !== "waiting") throw new Error(`Step "${step}" doesn't wait for a child`);
    await this.#settle();
    const { token, payload } = await this.#worker.take(child);
    await this.#worker.settle(outcomeOf(token, parsePayload(payload)!, { kind: "ack", as: "succeeded" }, ended));
    return await this.#perform();
  }

  async #perform(): Promise<TestState> {
    await this.#settle();
    await this.#forget();
    const lease = this.state === "new"
      ? await this.#worker.enroll(this.#fields, this.#membership)
      : await this.#worker.take(this.jid);
    const { outcome, result, error } = await this.#worker.perform(lease);
    this.#outcome = outcome;
    this.result = result;
    this.error = error;
    if (outcome.kind === "snooze") this.#dueAt = this.#clock.now() + outcome.delayMs;
    return this.state = STATES[outcome.kind];
  }

  /** Stores the outcome of the last attempt, unless it ends the job: a test may still let its worker crash before that. */
  async #settle(): Promise<void> {
    const outcome = this.#outcome;
    if (outcome === undefined || outcome.kind === "ack" || outcome.kind === "discard") return;
    this.#outcome = undefined;
    // The test retries a failed job whenever it likes.
    await this.#worker.settle(outcome.kind === "retry" ? { ...outcome, delayMs: 0 } : outcome);
  }

  /** Loses the outcome of the last attempt. */
  async #forget(): Promise<void> {
    if (this.#outcome === undefined) return;
    const { token } = this.#outcome;
    this.#outcome = undefined;
    await this.#worker.settle({ kind: "release", token });
  }

  /** Returns the steps of the store, and notes their records. */
  #stepsOf(token: string): LeaseSteps {
    const { steps } = this.#store;
    const lease = { worker: WORKER, token, jid: this.jid };
    const note = (name: string, record: string | undefined) => {
      if (record !== undefined) this.#records.set(name, record);
    };
    return {
      read: async () => {
        const stored = await steps.read(this.jid);
        for (const { name, record } of stored) note(name, record);
        return stored;
      },
      remember: async (step) => {
        const record = await steps.remember(lease, step);
        note(step.name, record);
        return record;
      },
      wait: async (wait) => {
        const reply = await steps.wait(lease, wait);
        note(wait.name, reply?.record);
        return reply;
      },
    };
  }
}

const STATES = {
  ack: "succeeded",
  snooze: "asleep",
  release: "released",
  aside: "released",
  retry: "failed",
  bury: "failed",
  discard: "failed",
} as const satisfies Record<Outcome["kind"], TestState>;

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
