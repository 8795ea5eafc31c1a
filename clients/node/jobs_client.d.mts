/** Options of one job; see docs/reference/job-options.md. */
export interface JobOptions {
  queue?: string;
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
  unique_for?: number | string | false;
  result_ttl?: number | string;
  failure_ttl?: number | string;
  backtrace?: boolean | number;
  log_level?: "debug" | "info" | "warn" | "error";
  tags?: readonly string[];
  jid?: string;
  /** Makes the push idempotent: a later push with the same `id` returns the jid of the first. */
  id?: string;
  /** An `id` is remembered for this long. Default: a day. */
  within?: number | string;
  /** Additional fields, which the payload keeps. */
  fields?: Readonly<Record<string, unknown>>;
}

/** A job to push. */
export interface Job extends JobOptions {
  class: string;
  args?: readonly unknown[];
}

/** The result of one job of many. */
export type PushResult =
  | { jid: string; existed?: true; refused?: undefined }
  | { jid?: undefined; existed?: undefined; refused: string };

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

/** The API refused a request, or could not be reached. */
export class JobsError extends Error {
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
    /** How long one request may take. Default 10 s. */
    timeoutMs?: number;
    /** How many times a request is sent again. Default 4. */
    retries?: number;
    fetch?: typeof fetch;
  });
  push(className: string, args?: readonly unknown[], options?: JobOptions): Promise<{ jid: string; existed: boolean }>;
  pushMany(jobs: Iterable<Job> | AsyncIterable<Job>): AsyncGenerator<PushResult>;
  result(jid: string, options?: { timeoutMs?: number; signal?: AbortSignal }): Promise<Finished | undefined>;
}
