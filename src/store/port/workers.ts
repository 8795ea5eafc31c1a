/**
 * The workers part of the store port: heartbeats, commands to workers and their replies, and unique worker names.
 *
 * @module
 */
import type { OpenCircuit } from "../../job/endpoint.ts";
import type { RunningSuspects } from "../../job/suspicion.ts";

/** One running job, as shown to others. */
export interface RunningJobRecord {
  /** Label of the processor, e.g. `processor-3`. */
  readonly task: string;
  /** The queue it was taken from. */
  readonly queue: string;
  /** The payload as stored; one of more than 4,000 characters without its large fields. */
  readonly payload: string;
  /** When it started. */
  readonly since: number;
  /** Its last progress report. */
  readonly progress?: string;
  /** The last line it logged. */
  readonly lastLine?: string;
  /** The last lines it logged, including `lastLine`. */
  readonly log?: readonly string[];
  /** The reason if its signal has aborted: `Cancelled`, `Timeout`, `Shutdown` or `LeaseLost`. */
  readonly abortReason?: string;
  /** When its signal has aborted, in epoch milliseconds. */
  readonly abortedAt?: number;
}

/** A worker's event loop that is blocked: a handler doesn't yield. */
export interface BlockedLoop {
  /** Since when, in epoch milliseconds. */
  readonly since: number;
  /** The processor whose job blocks it. Absent, as are `class` and `jid`, if several jobs run and one of them does. */
  readonly task?: string;
  /** The class of the job. */
  readonly class?: string;
  /** Its jid. */
  readonly jid?: string;
}

/** A worker's description of itself, sent with each heartbeat. */
export interface WorkerRecord {
  /** `hostname:pid:nonce`. */
  readonly id: string;
  /** The machine. */
  readonly hostname: string;
  /** Its process ID there. */
  readonly pid: number;
  /** Names this process on its machine (`processes.ts`), so that its end is seen there at once. Absent where that isn't known. */
  readonly processKey?: string;
  /**
   * The user that has registered it, for a worker of another program: no other one takes its place, at any server. Absent without users,
   * and in the records of earlier versions.
   */
  readonly owner?: string;
  /** Set for a worker of another program: a gateway registers it again, for its program. It registers no other worker's ID. */
  readonly program?: true;
  /** Free text shown with the worker; may be empty. */
  readonly tag: string;
  /** Further words shown with it. */
  readonly labels: readonly string[];
  /** The queues it takes from, each once. */
  readonly queues: readonly string[];
  /** Queue → weight; all 0 when strict. */
  readonly weights: Readonly<Record<string, number>>;
  /** Its number of processors. */
  readonly concurrency: number;
  /** The version of this program. */
  readonly version: string;
  /** When it started. */
  readonly startedAt: number;
  /** Its clock when it described itself, in epoch milliseconds: its machine's. Absent in the records of earlier versions. */
  readonly clockAt?: number;
  /** The interval between its heartbeats. Absent for a Sidekiq process, which sends one every 10 s. */
  readonly heartbeatMs?: number;
  /** Whether it takes no more jobs. */
  readonly quiet: boolean;
  /** Since when, while it is quiet, in epoch milliseconds. Absent for a Sidekiq process. */
  readonly quietSince?: number;
  /** Set once it stops: it is quiet, and doesn't resume. Absent for a Sidekiq process. */
  readonly stopping?: boolean;
  /** Set while its event loop is blocked. */
  readonly blocked?: BlockedLoop;
  /** The hosts of HTTP endpoints that fail. Absent if there are none. */
  readonly circuits?: readonly OpenCircuit[];
  /** The outbox from which it pushes. Absent if it has none. */
  readonly outbox?: OutboxRecord;
  /** Jobs running now. */
  readonly busy: number;
  /** Resident memory in bytes. */
  readonly rss: number;
  /** Its running jobs. */
  readonly work: readonly RunningJobRecord[];
  /** The classes that it has handlers for. Absent for a Sidekiq process, and if there are thousands. */
  readonly classes?: readonly string[];
  /** Its totals by class. Absent for a Sidekiq process. */
  readonly totals?: Readonly<Record<string, ClassTotals>>;
}

/** The outbox of an application, as a worker sees it. */
export interface OutboxRecord {
  /** Rows that wait, up to 10,000. */
  readonly waiting: number;
  /** The age of the oldest row that waits, in milliseconds. */
  readonly oldestMs?: number;
  /** Refused rows, up to 10,000. */
  readonly refused: number;
  /** Jobs that this worker has pushed from it. */
  readonly pushed: number;
  /** Why its database fails. */
  readonly error?: string;
  /** Since when, in epoch milliseconds. */
  readonly since?: number;
}

/** A worker's totals of one class. */
export interface ClassTotals {
  /** Jobs that succeeded. */
  readonly succeeded: number;
  /** Failed attempts. */
  readonly failed: number;
  /** Cancelled jobs. */
  readonly cancelled: number;
  /** Jobs dropped because they had not started in time. */
  readonly expired: number;
  /** Total run time in milliseconds. */
  readonly workedMs: number;
}

/** A report about a running job, by code outside of its worker. */
export interface JobReport {
  /** Its progress. */
  readonly progress?: { readonly done: number; readonly note?: string };
  /** Lines for its log. */
  readonly log?: readonly {
    readonly level: "debug" | "info" | "warn" | "error";
    readonly message: string;
    readonly fields?: Readonly<Record<string, unknown>>;
  }[];
}

/** A command to a worker. */
export interface Command {
  /** Names the command, for its reply. Absent for one that came as a Sidekiq signal. */
  readonly id?: string;
  /** The action. `beat`: to send a heartbeat at once. */
  readonly verb: "quiet" | "resume" | "stop" | "dump" | "cancel" | "report" | "beat";
  /** For `cancel`: the jid. */
  readonly jid?: string;
  /** For `report`: the token of the job's lease. */
  readonly lease?: string;
  /** For `report`: the report. */
  readonly report?: JobReport;
  /** For `cancel`: the ref of the running job's entry, which marks its lease as `send` describes. The worker doesn't receive it. */
  readonly ref?: string;
}

/**
 * The worker ID that has the leases of cancelled jobs that no worker runs any more, until a rescue ends them. No worker has it,
 * so that it is always offline.
 */
export const CANCELLED_WORKER = "cancelled";

/** The messages to a worker, by its ID, or the reply to a command, by its ID. */
export type Mailbox = { readonly commandsTo: string } | { readonly replyTo: string };

/** The result of a heartbeat. */
export interface HeartbeatReply {
  /** Commands that came through Sidekiq's list of signals (Redis; else empty). */
  readonly commands: readonly Command[];
  /**
   * Whether the heartbeat had lapsed before, so that a rescue may have taken leases: `JobStore.stillLeased` returns those that
   * are left. From now until the next lapse no rescue takes more. May be true for the first heartbeat.
   */
  readonly lapsed: boolean;
}

/** The worker that holds a name. */
export interface NameHolder {
  /** The worker's ID. */
  readonly worker: string;
  /** When its last heartbeat expires, by the store's clock; 0 before the first. Another value means another heartbeat. */
  readonly heartbeatUntil: number;
}

/** A registered worker, with the store's data about it. */
export interface WorkerInfo extends WorkerRecord {
  /** When its last heartbeat arrived. */
  readonly heartbeatAt: number;
  /** False if its heartbeat has lapsed and no worker has rescued its leases yet. */
  readonly alive: boolean;
}

/** Registers workers, and passes commands to them. */
export interface WorkerStore {
  /**
   * How many times this process has lost a connection to the store. Since then the store may lack its latest writes: a server that lost
   * them has started again, or a replica that lagged has taken its place. 0 for a file.
   */
  readonly losses: number;

  /**
   * Stores a worker's heartbeat and its running jobs. The first heartbeat registers it. Without another one within `ttlMs`, the
   * heartbeat lapses, and other workers may rescue its leases.
   */
  heartbeat(record: WorkerRecord, ttlMs: number): Promise<HeartbeatReply>;

  /** Ends a worker's registration. Leases that it still has return to the front of their queues, except those of cancelled jobs. */
  deregister(worker: string): Promise<void>;

  /** Returns the registered workers. Two round trips. */
  list(): Promise<WorkerInfo[]>;

  /**
   * Notes what a rescue needs if `worker` dies: the suspects that it runs from now on, or how it ended.
   *
   * @param what.running called before one of them starts, and before another job starts while they run: a rescue decides by it
   * which job to blame
   * @param what.ended for the errors of the jobs that it ran. Does nothing if the worker is no longer registered
   */
  note(worker: string, what: { readonly running?: RunningSuspects; readonly ended?: string }): Promise<void>;

  /**
   * Claims a name for a worker, or takes it over from one that is offline, by the rule of `JobStore.rescue`, or whose `ttlMs`
   * has passed. The holder renews its claim. With `ttlMs` 0 it releases the name.
   *
   * @returns the holder afterwards: `worker`, or the other registered worker that keeps the name; undefined if none has it
   */
  claim(name: string, worker: string, ttlMs: number): Promise<NameHolder | undefined>;

  /**
   * Sends a command to a worker. Returns false if no such worker is alive.
   *
   * With a `ref` it depends on the lease instead: false if the worker no longer has it, true also if the worker is offline. In the
   * same step the lease is marked as cancelled. While it lasts, the job can't return to its queue: a worker that releases the job
   * or deregisters passes it to {@linkcode CANCELLED_WORKER}, and `rescue` returns it as doomed.
   *
   * @param message a command; or a text, the reply to the command that has the ID `to`, which is kept for one minute
   */
  send(to: string, message: Command | string): Promise<boolean>;

  /**
   * Takes the messages out of a mailbox, oldest first: commands as JSON, without their `ref`, or a reply. `ops/await.ts` waits for
   * them. Two round trips at most.
   */
  collect(box: Mailbox): Promise<string[]>;
}
