/**
 * The dump: one line for each async task, then the counts. TTIN writes it to the log, and `jobs dump` prints it.
 *
 * @module
 */
import { progressText } from "../../job/progress.ts";
import type { Clock } from "../../clock.ts";
import { formatDuration } from "../../job/duration.ts";
import { plain } from "../../log/format.ts";
import type { Tasks } from "./tasks.ts";

/** The counts below the tasks. */
export interface DumpCounts {
  readonly worker: string;
  readonly concurrency: number;
  readonly busy: number;
  /** Jobs taken and not settled: running and waiting ones, and ended ones whose outcomes are not stored. */
  readonly leases: number;
  readonly waiting: number;
  /** Ended jobs whose outcomes are not stored. */
  readonly unsettled: number;
  /** How long the event loop delayed its last answer to the heartbeat. */
  readonly loopDelayMs: number;
  /** Errors that no handler awaited. */
  readonly unhandledErrors: number;
  readonly quiet: "quiet" | "stopping" | undefined;
}

export interface DumpTask {
  readonly task: number;
  readonly label: string;
  readonly state: string;
  /** How long it has been in that state. */
  readonly forMs: number;
  readonly job?: {
    readonly class: string;
    readonly jid: string;
    readonly queue: string;
    readonly attempt: number;
    readonly step?: string;
    /** The process ID of its isolated process or program. */
    readonly pid?: number;
    readonly progress?: string;
    readonly lastLine?: string;
    /** Name of the reason that its signal has aborted with. */
    readonly aborted?: string;
  };
}

export function dumpTasks(tasks: Tasks, clock: Clock): DumpTask[] {
  const now = clock.monotonic();
  return tasks.list().map((task) => {
    const { job } = task;
    const progress = job?.progress;
    return {
      task: task.id,
      label: task.label,
      state: task.state,
      forMs: Math.max(0, Math.round(now - task.since)),
      ...(job && {
        job: {
          class: job.class,
          jid: job.jid,
          queue: job.queue,
          attempt: job.attempt,
          ...(job.step !== undefined && { step: job.step }),
          ...(job.pid !== undefined && { pid: job.pid }),
          ...(progress && { progress: progressText(progress) }),
          ...(job.abortedBy instanceof Error && { aborted: job.abortedBy.name }),
          ...(job.lastLine !== undefined && { lastLine: job.lastLine }),
        },
      }),
    };
  });
}

/** Formats a dump as lines of text. */
export function formatDump(tasks: readonly DumpTask[], counts: DumpCounts): string[] {
  return [
    ...formatTasks(tasks),
    `busy ${counts.busy}/${counts.concurrency}, leases ${counts.leases}, ` +
    `waiting ${counts.waiting}, unsettled ${counts.unsettled}, ${formatMemory()}, ` +
    `event-loop delay ${counts.loopDelayMs} ms, unhandled errors ${counts.unhandledErrors}${
      counts.quiet === undefined ? "" : `, ${counts.quiet}`
    }, worker ${counts.worker}`,
  ];
}

/** Formats the tasks with aligned columns. Control characters in names and texts of jobs are removed. */
export function formatTasks(tasks: readonly DumpTask[]): string[] {
  const width = (pick: (task: DumpTask) => string) => Math.max(...tasks.map((task) => pick(task).length), 1);
  const idWidth = width((task) => String(task.task));
  const labelWidth = width((task) => task.label);
  const stateWidth = width((task) => task.state);
  return tasks.map((task) => {
    const head = `task ${String(task.task).padStart(idWidth)}  ${task.label.padEnd(labelWidth)}  ${
      task.state.padEnd(stateWidth)
    }  ${formatDuration(task.forMs).padStart(8)}`;
    return task.job ? `${head}  ${plain(formatJob(task.job))}` : head;
  });
}

export function formatMemory(): string {
  const { rss, heapUsed } = Deno.memoryUsage();
  return `memory ${megabytes(rss)} MB (heap ${megabytes(heapUsed)} MB)`;
}

function formatJob(job: NonNullable<DumpTask["job"]>): string {
  return `${job.class} ${job.jid} queue ${job.queue} attempt ${job.attempt}` +
    (job.step === undefined ? "" : ` step ${job.step}`) +
    (job.pid === undefined ? "" : ` pid ${job.pid}`) +
    (job.progress === undefined ? "" : ` progress ${job.progress}`) +
    (job.aborted === undefined ? "" : ` aborted ${job.aborted}`) +
    (job.lastLine === undefined ? "" : ` last "${job.lastLine}"`);
}

function megabytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(0);
}
