/**
 * One process of a supervisor: its state, its end, and whether it answers.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import { MAX_OVERTIME_MS } from "../component.ts";

/** A process that doesn't answer within this time at a dump is reported. */
const ANSWER_TIMEOUT_MS = 1_000;
/** A process is killed if it needs this much longer for its stop than a stop may take. */
const LATE_MS = 2_000;

export interface Member {
  readonly child: Deno.ChildProcess;
  readonly workerId: string;
  /** Resolves with true when it takes jobs, with false if it ends before. */
  readonly ready: Promise<boolean>;
  /** It takes jobs, or did. */
  isReady: boolean;
  /** It is being replaced on purpose. */
  replaced: boolean;
  /** It must reopen its log when it takes jobs: it may have opened the file before that was rotated. */
  isReopenDue: boolean;
  /** How long its stop waits for running jobs. */
  shutdownTimeoutMs: number;
  /** How it ended, if it died. */
  died?: string;
  /** Resolves with its successor; undefined if there is none. */
  readonly successor: PromiseWithResolvers<Member | undefined>;
}

/** Services of the supervisor. */
interface Services {
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Stops a process, and kills it if that takes too long: it is frozen. A process that doesn't take jobs yet has no deadline, unless it is
 * to be replaced.
 *
 * @returns whether it was killed
 */
export async function endMember(
  index: number,
  member: Member,
  signal: Deno.Signal,
  { clock, log }: Services,
): Promise<boolean> {
  const { child, isReady: wasReady, shutdownTimeoutMs } = member;
  send(child, signal);
  if (!wasReady && !member.replaced) return false;
  const ended = new AbortController();
  void child.status.then(() => ended.abort());
  await clock.sleep(shutdownTimeoutMs + MAX_OVERTIME_MS + LATE_MS, ended.signal);
  // It took jobs before it received the signal.
  if (!wasReady && member.isReady) await clock.sleep(member.shutdownTimeoutMs, ended.signal);
  if (ended.signal.aborted) return false;
  log.error("Process doesn't stop, killing it", { process: index, pid: child.pid });
  send(child, "SIGKILL");
  return true;
}

/**
 * Logs that a process doesn't answer a dump. If a handler blocks its event loop, its heartbeat's thread prints the dump.
 *
 * @param answer resolves when it has answered
 */
export async function reportSilent(
  index: number,
  { child, isReady }: Member,
  answer: Promise<void>,
  { clock, log }: Services,
): Promise<void> {
  const fields = { process: index, pid: child.pid };
  if (!isReady) return log.warn("Process has no dump: it is still starting", fields);
  const answered = new AbortController();
  void Promise.race([answer, child.status]).then(() => answered.abort());
  await clock.sleep(ANSWER_TIMEOUT_MS, answered.signal);
  if (!answered.signal.aborted) log.warn("Process doesn't answer: its event loop is blocked, or it is frozen", fields);
}

/** Sends a process a signal, if it is running. */
export function send(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // The process has just ended.
  }
}
