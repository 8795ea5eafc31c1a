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
  error?: { class: string; message: string; causes?: string[]; stack?: string[] };
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

/** The API refused a request, could not be reached, or something else answered in its place. */
export class JobsError extends Error {
  /** `invalid`, `conflict`, `forbidden`, `rate_limited`, `unavailable`, `unreachable`, `redirected`, `invalid_reply`, … */
  readonly code: string;
  readonly status: number | undefined;
  readonly field: string | undefined;
}

/** Pushes jobs over HTTP. */
export class JobsClient {
  constructor(options: {
    /** The dashboard's address, such as `https://jobs.example.com`. */
    url: string;
    /** A token of the role push or operator. */
    token?: string;
    /** How long one request may take, from connecting to the end of its reply. Default 10 s. */
    timeoutMs?: number;
    /** How many times a request is sent again. Default 4. */
    retries?: number;
    fetch?: typeof fetch;
  });
  push(className: string, args?: readonly unknown[], options?: JobOptions): Promise<PushedJob>;
  pushMany(jobs: Iterable<Job> | AsyncIterable<Job>): AsyncGenerator<PushResult>;
  result(jid: string, options?: { timeoutMs?: number; signal?: AbortSignal }): Promise<Finished | undefined>;
}
