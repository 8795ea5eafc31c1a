/** Options of one job; see docs/reference/job-options.md. */
export interface JobOptions {
  queue?: string;
  /** The group in its queue: a name, or a path into the arguments such as `args[0]`. */
  group?: string | number | false;
  priority?: "high" | "normal" | "low";
  /** Seconds, or `90s`, `5m`, `2h`, `1d`. */
  in?: number | string;
  at?: Date | string | number;
  retry?: boolean | number;
  retry_for?: number | string;
  retry_queue?: string;
  backoff?: {
    type: "exponential" | "linear" | "fixed";
    base: number | string;
    max?: number | string;
    jitter?: number;
  };
  dead?: boolean;
  timeout?: number | string;
  expires_in?: number | string;
  /** Refuses the push while a job of the same class, queue and arguments exists, for at most this long. */
  unique_for?: number | string | false;
  /** `unique_for` compares this instead of all arguments: a text, or a path such as `args[0]`. */
  unique_key?: string | number;
  /** `start`: the lock ends when a worker fetches the job. Default `end`. */
  unique_until?: "start" | "end";
  /** `replace`: the job replaces the waiting one that has the lock, if both are pushed with it. Default `keep`. */
  on_duplicate?: "keep" | "replace";
  /** Runs the job this time after the last push with the same key, with the arguments of that push. */
  debounce?: number | string | false;
  debounce_key?: string | number;
  /** A debounced job runs at the latest this time after the first push. */
  debounce_max?: number | string | false;
  /** Refuses a push if this many with the same key were accepted within this time: `1/1m`. */
  throttle?: string | false;
  throttle_key?: string | number;
  result_ttl?: number | string;
  failure_ttl?: number | string;
  backtrace?: boolean | number;
  log_level?: "debug" | "info" | "warn" | "error";
  tags?: readonly string[];
  /** The webhooks that receive the end of the job. */
  notify?: readonly string[];
  display_class?: string;
  wrapped?: string;
  /** The ID of the batch that counts the job. */
  batch?: string;
  jid?: string;
  /** Makes the push idempotent: a later push with the same `id` returns the jid of the first. */
  id?: string;
  /** An `id` is remembered for this long. Default: a day. */
  within?: number | string;
  /** When the job was first pushed, in epoch seconds or milliseconds: for copies of jobs. */
  created_at?: number;
  /** Additional fields, which the payload keeps. */
  fields?: Readonly<Record<string, unknown>>;
}

/** A job to push. */
export interface Job extends JobOptions {
  class: string;
  args?: readonly unknown[];
}

/** A job that was pushed. */
export interface PushedJob {
  jid: string;
  /** An earlier push with the same `id` or `jid` stored the job. */
  existed: boolean;
  /** The job replaced one that waited for the same `debounce` or unique key, and has its jid. */
  replaced: boolean;
}

/** The result of one job of many. */
export type PushResult =
  | { jid: string; existed?: true; replaced?: true; refused?: undefined }
  | {
    jid?: undefined;
    existed?: undefined;
    replaced?: undefined;
    refused: string;
    /** The job that holds the unique lock. */
    duplicateOf?: string;
    /** The job whose place of the `throttle` is free next. */
    throttledBy?: string;
    /** Milliseconds until the `throttle` accepts the next push. */
    retryInMs?: number;
  };

/** The record of a job that has ended. */
export interface Finished {
  jid: string;
  class: string;
  queue: string;
  state: "succeeded" | "failed" | "dead" | "cancelled" | "expired";
  result?: unknown;
  /** Why the result wasn't kept. */
  resultDropped?: string;
  error?: {
    class: string;
    message: string;
    causes?: string[];
    stack?: string[];
  };
  attempt?: number;
  /** Times are ISO 8601. */
  startedAt?: string;
  endedAt: string;
  elapsedMs?: number;
  worker?: string;
  progress?: string;
  lastLine?: string;
  log?: string[];
  payload?: Record<string, unknown>;
}

/** Options of a batch. Each callback is a job that is pushed at most once. */
export interface BatchOptions {
  name?: string;
  tags?: readonly string[];
  /** The webhooks that receive the end of the batch. */
  notify?: string | readonly string[];
  /** Pushed when every job has succeeded. */
  success?: Job;
  /** Pushed when every job has ended or is dead. */
  complete?: Job;
  /** Pushed when the first job has failed for good. */
  death?: Job;
  /** Pushed when the batch wasn't filled, or not in time. */
  abandoned?: Job;
  /** An open batch is abandoned without new jobs for this long. Default 1d. */
  closeWithin?: number | string;
  /** How long it is kept after its end. Default 7d. */
  keepFor?: number | string;
  /** The ID of a batch that counts this one as a member. */
  parent?: string;
}

/** A batch that is being filled, or was. */
export interface FilledBatch {
  readonly id: string;
  /** The number of jobs that are stored. */
  readonly added: number;
  /** The number of jobs that aren't, because another one has their unique lock or the place of their throttle. */
  readonly duplicates: number;
}

/** An event of the log: its fields are those of `jobs events --json`. */
export interface JobsEvent {
  /** Its position: the `after` of a later call. */
  id: number;
  type:
    | "succeeded"
    | "dead"
    | "failed"
    | "cancelled"
    | "expired"
    | "batch.complete"
    | "flow.ended"
    | "cron.missed"
    | "worker.offline"
    | "gap";
  /** ISO 8601. */
  at: string;
  jid?: string;
  class?: string;
  queue?: string;
  batch?: string;
  error?: { class: string; message: string };
  [field: string]: unknown;
}

/** Where events begin, and which ones. */
export interface EventOptions {
  /** The `id` of the last event that the program has used; 0: the oldest that is kept. Default: from now on. */
  after?: number;
  type?: JobsEvent["type"] | readonly JobsEvent["type"][];
  /** A class, or a pattern such as `Import*`. */
  class?: string | readonly string[];
  queue?: string | readonly string[];
  batch?: string | readonly string[];
  tag?: string | readonly string[];
  /** Ends the loop with its reason. */
  signal?: AbortSignal;
}

/** The API refused a request, could not be reached, or something else answered in its place. */
export class JobsError extends Error {
  /** `invalid`, `conflict`, `unauthenticated`, `forbidden`, `rate_limited`, `unavailable`, `unreachable`, `redirected`, `invalid_reply`, … */
  readonly code: string;
  readonly status: number | undefined;
  readonly field: string | undefined;
}

/** Pushes jobs over HTTP. */
export class JobsClient {
  constructor(options: {
    /** The dashboard's address, such as `https://jobs.example.com`. Of a list, one by chance is used, and the next ones when it fails. */
    url: string | readonly string[];
    /** A token of the role push, work or operator. */
    token?: string;
    /** How long one request may take, from connecting to the end of its reply. Default 10 s. */
    timeoutMs?: number;
    /** How many times a request is sent again. Default 4. */
    retries?: number;
    fetch?: typeof fetch;
  });
  push(
    className: string,
    args?: readonly unknown[],
    options?: JobOptions,
  ): Promise<PushedJob>;
  pushMany(
    jobs: Iterable<Job> | AsyncIterable<Job>,
  ): AsyncGenerator<PushResult>;
  result(
    jid: string,
    options?: { timeoutMs?: number; signal?: AbortSignal },
  ): Promise<Finished | undefined>;
  /**
   * Opens a batch, lets a function fill it, and closes it: its callbacks follow when its jobs have ended. If the function throws, the batch
   * is abandoned. Needs a token of the role push, work or operator without limits.
   */
  batch(
    options: BatchOptions,
    fill: (
      add: (
        className: string,
        args?: readonly unknown[],
        options?: JobOptions,
      ) => Promise<void>,
      batch: FilledBatch,
    ) => unknown,
  ): Promise<FilledBatch>;
  /**
   * Cancels a job: removes a waiting one, and has a running one aborted. Needs a token of the role operator. Returns false if it has ended
   * otherwise, is dead, or there is none.
   */
  cancel(jid: string): Promise<boolean>;
  /**
   * Sends a signal to the job that has waited longest for its key; without one, it is kept for the first that does. Needs a token of the role
   * signal or operator. `reached` is the jid of the job. Isn't repeated after a lost reply, since it might arrive twice.
   */
  signal(
    key: string,
    data?: unknown,
    options?: { keep?: boolean; keepFor?: number | string },
  ): Promise<{ reached: string | undefined }>;
  /** Yields the events of the log, without limit. Needs a token of the role reader or operator. */
  events(options?: EventOptions): AsyncGenerator<JobsEvent, never>;
}

/** The argument of a step's function. */
export interface StepRun {
  /** The same in each attempt: for the `Idempotency-Key` header of a request. */
  readonly idempotencyKey: string;
  /** The number of the attempt of the step, from 1. */
  readonly attempt: number;
  /** Aborts when the step times out or the job must end. */
  readonly signal: AbortSignal;
}

export interface StepOptions {
  /** Distinguishes the steps of a loop. */
  each?: string | number;
  /** Retries of the step alone, with a growing pause. Default: those of the job. */
  retry?: number;
  backoff?: number | string;
  timeout?: number | string;
}

type Log = Readonly<
  Record<"debug" | "info" | "warn" | "error", (message: unknown, fields?: Readonly<Record<string, unknown>>) => void>
>;

/** The first argument of a handler. */
export interface JobContext {
  readonly jid: string;
  readonly class: string;
  readonly queue: string;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  // deno-lint-ignore no-explicit-any
  readonly payload: Readonly<Record<string, any>>;
  /** The text of the payload, with numbers that JavaScript can't hold. */
  readonly raw: string;
  /** Aborts when the job must end, with an {@linkcode Aborted}. */
  readonly signal: AbortSignal;
  readonly log: Log;
  /** Pushes further jobs. */
  readonly client: JobsClient;
  /** The batch that counts the job; `add` pushes into it. */
  readonly batch: {
    readonly id: string;
    add(
      className: string,
      args?: readonly unknown[],
      options?: JobOptions,
    ): Promise<string | undefined>;
  } | undefined;
  /** The flow that the job is a node of; `results` has those of the nodes before it. */
  readonly flow: {
    readonly id: string;
    readonly node: string;
    results(nodes?: readonly string[]): Promise<Record<string, unknown>>;
  } | undefined;
  progress(done: number, note?: string): void;
  /**
   * Adds a chunk to the stream of the job: a text, or another value that is JSON. Resolves when there is room for the next one. `jobs
   * stream` and `GET /api/v1/jobs/JID/stream` read it while the job runs.
   */
  stream(chunk: unknown): Promise<void>;
  /** Runs a part of the job once. Every later attempt returns the stored result. */
  step<Value>(
    name: string,
    run: (step: StepRun) => Value,
    options?: StepOptions,
  ): Promise<Awaited<Value>>;
  /** Continues the job after a time. Ends the attempt, with an {@linkcode AttemptEnded}. */
  sleep(name: string, duration: number | string): Promise<void>;
  /** Continues the job with the data of a signal, or with undefined after the timeout. */
  // deno-lint-ignore no-explicit-any
  waitFor<Data = any>(
    name: string,
    options: { key: string; timeout: number | string; example?: unknown },
  ): Promise<Data | undefined>;
  /** Runs another job, and continues with its result. */
  // deno-lint-ignore no-explicit-any
  run<Result = any>(
    name: string,
    className: string,
    args?: readonly unknown[],
    options?: JobOptions & { giveUpAfter?: number | string },
  ): Promise<Result>;
  /** Calls a function for each item; a later attempt continues after the last one. Returns the number of items of this attempt. */
  each<Item>(
    name: string,
    source: (
      // deno-lint-ignore no-explicit-any
      cursor: any,
    ) => Iterable<Item> | AsyncIterable<Item> | Promise<Iterable<Item>>,
    run: (item: Item) => unknown,
    options?: { cursor?: (item: Item) => unknown },
  ): Promise<number>;
}

/** Performs the jobs of a class; `options` are those of its jobs. */
// deno-lint-ignore no-explicit-any
export type Handler = ((ctx: JobContext, ...args: any[]) => unknown) & {
  /** `schema`: a JSON Schema or a Standard Schema of the list of arguments, or a list with one of each argument. */
  options?: JobOptions & { schema?: object };
};

export interface WorkOptions {
  /** The dashboard's address, or those of several gateways on one store: when one fails, the worker continues at the next. */
  url: string | readonly string[];
  /** A token of the role work or operator. */
  token?: string;
  /** Functions by class. */
  handlers: Readonly<Record<string, Handler>>;
  /** How many jobs run at once. Default 10. */
  concurrency?: number;
  /** Default: those of the handlers. */
  queues?: readonly string[];
  labels?: readonly string[];
  shutdownTimeoutMs?: number;
  log?: (
    level: string,
    message: string,
    fields?: Readonly<Record<string, unknown>>,
  ) => void;
  /**
   * The least level of what is logged; default `info`. Failures are warnings, with their stack; what a handler logs has the level of the
   * line. The option `log_level` of a class or a job drops more.
   */
  logLevel?: "debug" | "info" | "warn" | "error" | "off";
  fetch?: typeof fetch;
  /** Stops the worker. */
  signal?: AbortSignal;
  /** Whether TERM, INT and TTIN are handled. Default true. */
  signals?: boolean;
}

/**
 * Performs jobs in this process until it is stopped.
 *
 * @throws {JobsError} if the server refuses the worker, or doesn't store the ends of jobs before the stop must end
 */
export function work(options: WorkOptions): Promise<void>;

/** Ends a job for good, without a failure. */
export class Discard extends Error {}
/** Ends a job for good: it is dead at once. */
export class Kill extends Error {}
/** Ends an attempt: the job runs again later, without counting as failed. */
export class Snooze extends Error {
  constructor(delay: number | string);
}
/** Why a job must end; its name is the reason. */
export class Aborted extends Error {}
/** A step of a job, or its child, has failed for good. */
export class StepFailed extends Error {}
/** A step is used wrongly: a name twice, an unknown option, a value that isn't JSON. */
export class StepError extends Error {
  /** The class of the server's error. */
  readonly kind: string;
}
/** Ends an attempt whose job sleeps, waits, or continues elsewhere. */
export class AttemptEnded extends Error {}
