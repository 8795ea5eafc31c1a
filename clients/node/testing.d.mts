import type { BatchOptions, Handler, Job, JobOptions, JobsClient } from "./jobs_client.d.mts";

/** How a performed job has ended. */
export interface PerformedJob {
  readonly jid: string;
  /** `discarded`, `dead` and `snoozed`: it threw Discard, Kill or Snooze. */
  readonly state: "succeeded" | "failed" | "discarded" | "dead" | "snoozed";
  // deno-lint-ignore no-explicit-any
  readonly result?: any;
  readonly error?: {
    readonly class: string;
    readonly message: string;
    readonly stack?: readonly string[];
    readonly causes?: readonly string[];
  };
  /** Of a snooze. */
  readonly delay?: number | string;
  readonly log: readonly string[];
  /** The chunks of its stream. */
  readonly streamed: readonly unknown[];
  readonly progress?: { readonly done: number; readonly note?: string };
}

/** A batch that was opened. */
export interface FakeBatch {
  readonly id: string;
  readonly options: BatchOptions;
  readonly state: "open" | "closed" | "ended" | "abandoned";
  readonly total: number;
  readonly pending: number;
  readonly dead: number;
}

/** Handlers under test, without a server. */
export class FakeJobs {
  constructor(handlers?: Readonly<Record<string, Handler>>);
  /** The jobs that were pushed and not performed, oldest first. */
  readonly pushed: (Job & { readonly jid: string })[];
  /** The batches that were opened. `drain` pushes their callbacks. */
  readonly batches: FakeBatch[];
  /** Pushes into `pushed`: for the code under test. */
  readonly client: JobsClient;
  /** Lets a later `ctx.waitFor` with this key return the data. */
  signal(key: string, data?: unknown): void;
  /** Performs one job once; never rejects for an error of the handler. */
  perform(
    className: string,
    args?: readonly unknown[],
    options?: JobOptions & { attempt?: number },
  ): Promise<PerformedJob>;
  /**
   * Performs the pushed jobs, those that they push, and the callbacks of their batches. Throws at the first that fails, or after `max` jobs.
   * With `retries`, a job that fails is performed again by its option `retry`, without a delay, and then is dead.
   */
  drain(options?: { max?: number; retries?: boolean }): Promise<PerformedJob[]>;
}
