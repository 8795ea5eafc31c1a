/**
 * The stand-in: what the heartbeat's thread does in place of the main thread while a handler blocks the event loop. It describes
 * the worker to the store, prints the dump, and ends the process at the deadline of a stop.
 *
 * It reads the tasks from shared memory (`control/task_board.ts`).
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { formatDuration } from "../../job/duration.ts";
import { signalDescendants } from "../../handlers/isolation/process_group.ts";
import type { LogLevel, LogLine } from "../../log/format.ts";
import { plain } from "../../log/format.ts";
import { type LogOptions, UnblockedLines } from "../../log/lines.ts";
import type { BlockedLoop, RunningJobRecord, WorkerRecord } from "../../store/port/workers.ts";
import { type DumpTask, formatMemory, formatTasks } from "../control/dump.ts";
import { blockingTask, type BoardReader, type BoardTask } from "../control/task_board.ts";
import { exitNow } from "../host/exit_now.ts";
import type { Moment } from "../work/lease_guard.ts";
import { BLOCKED_MS, type LoopWatch } from "./loop_watch.ts";

/** How long the end of the process waits for the store. */
const STORE_TIMEOUT_MS = 1_500;
/** How long it waits for the store and the log together: a pipe may not be read. */
const END_TIMEOUT_MS = 1_750;

export interface StandInOptions {
  readonly clock: Clock;
  readonly board: BoardReader;
  readonly watch: Pick<LoopWatch, "silentMs">;
  readonly worker: string;
  /** The current time of the main thread, whose monotonic clock is another one. */
  readonly mainTime: () => Moment;
  /** Where the process logs; absent in a program that embeds the worker. */
  readonly log: LogOptions | undefined;
}

export class StandIn {
  readonly #options: StandInOptions;
  /** This thread must not wait for a log that isn't read: without its heartbeats the worker would be offline. */
  readonly #lines: UnblockedLines | undefined;

  constructor(options: StandInOptions) {
    this.#options = options;
    this.#lines = options.log && new UnblockedLines(options.log);
  }

  /** Describes how the event loop is blocked; undefined if it has not been silent for this long. */
  blocked(forMs = 0): BlockedLoop | undefined {
    const { watch, clock, board } = this.#options;
    const { silentMs } = watch;
    if (silentMs === undefined || silentMs < forMs) return undefined;
    const by = blockingTask(board.read());
    return {
      since: clock.now() - Math.round(silentMs),
      ...(by?.job && { task: by.label, class: by.job.class, jid: by.job.jid }),
    };
  }

  /** Returns the last description of the worker, with what has changed since the event loop was blocked. */
  describe(known: WorkerRecord): WorkerRecord {
    const blocked = this.blocked(BLOCKED_MS);
    if (blocked === undefined) return known;
    const running = this.#options.board.read().filter(({ job }) => job !== undefined);
    const work = running.map((task) => known.work.find((job) => isSame(job, task)) ?? this.#recordOf(task));
    return { ...known, blocked, busy: work.length, work };
  }

  /** Describes what every task is doing, as lines of text. */
  dump(): string[] {
    const { board, worker } = this.#options;
    const now = this.#options.mainTime().monotonic;
    const tasks = board.read();
    const shown = tasks.map(({ id, label, state, since, job }): DumpTask => ({
      ...{ task: id, label, state },
      forMs: Math.max(0, Math.round(now - since)),
      ...(job && { job }),
    }));
    const busy = tasks.filter(({ job }) => job !== undefined).length;
    return [...formatTasks(shown), `busy ${busy}, ${formatMemory()}, ${plain(this.#explain(busy))}, worker ${worker}`];
  }

  /** Logs a warning, if the process logs. */
  warn(message: string, fields: LogLine["fields"] = {}): void {
    this.#log("warn", message, fields);
  }

  /**
   * Ends the process: returns the jobs to their queues, and kills the processes that they have started.
   *
   * @param deregister returns the jobs; resolves when the store has them
   */
  async end(deregister: () => Promise<unknown>): Promise<void> {
    const { board, clock, worker } = this.#options;
    const timeout = clock.sleep(END_TIMEOUT_MS);
    const running = board.read().filter(({ job }) => job !== undefined);
    const blocked = this.blocked();
    this.warn("Event loop is blocked at the shutdown deadline, exiting without it", {
      class: blocked?.class,
      jid: blocked?.jid,
      ...(blocked && { blockedMs: clock.now() - blocked.since }),
    });
    // They must do nothing once their jobs may run elsewhere. Killed now, one that the event loop waits for would fail its job.
    await signalDescendants(Deno.pid, "SIGSTOP");
    const over = new AbortController();
    const late = clock.sleep(STORE_TIMEOUT_MS, over.signal).then(() => false);
    const isReturned = await Promise.race([deregister().then(() => true, () => false), late]);
    for (const { label, job } of running) {
      const fields = { ...job, processor: label };
      if (isReturned) this.warn("Returned an unfinished job", fields);
      else this.warn("Unfinished job not returned: it runs again when this worker is offline", fields);
    }
    this.#log("info", "Stopped", { worker });
    await signalDescendants(Deno.pid, "SIGKILL");
    await Promise.race([this.#lines?.written, timeout]);
    exitNow(isReturned ? 0 : 1);
  }

  /** Returns a description of a job that has started since the last one by the main thread. Its arguments aren't known here. */
  #recordOf({ label, since, job }: BoardTask): RunningJobRecord {
    const { now, monotonic } = this.#options.mainTime();
    const { class: name, jid, queue } = job!;
    return {
      task: label,
      queue,
      payload: JSON.stringify({ class: name, jid, queue }),
      since: now - (monotonic - since),
    };
  }

  #log(level: LogLevel, message: string, fields: LogLine["fields"]): void {
    this.#lines?.write({ time: this.#options.clock.now(), level, name: "control", message, fields });
  }

  #explain(busy: number): string {
    const blocked = this.blocked();
    const ms = blocked && this.#options.clock.now() - blocked.since;
    const time = ms === undefined ? "" : ` for ${formatDuration(ms)}`;
    if (blocked?.jid !== undefined) {
      return `event loop blocked${time} by ${blocked.class} ${blocked.jid} (${blocked.task})`;
    }
    return busy > 1 ? `event loop blocked${time} by one of ${busy} running jobs` : `event loop blocked${time}`;
  }
}

function isSame({ task, payload }: RunningJobRecord, { label, job }: BoardTask): boolean {
  return task === label && payload.includes(`"${job!.jid}"`);
}
