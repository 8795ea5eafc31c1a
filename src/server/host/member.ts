/**
 * The message of a supervisor to each process that it starts: its index, and where to connect.
 *
 * @module
 */
import { every } from "../../clock.ts";

/** How often a process looks whether its supervisor runs. */
const INTERVAL_MS = 1_000;

/** The environment variable with the message. */
export const MEMBER_VARIABLE = "JOBS_MEMBER";

export interface MemberInfo {
  /** From 1. */
  readonly index: number;
  /** The supervisor's process number. */
  readonly parent: number;
  /** The socket on which the supervisor waits for its connection (`member_link.ts`). */
  readonly address: string;
  /** Identifies the process when it connects. */
  readonly token: string;
  /** The last part of its worker ID, so that the supervisor knows the ID. */
  readonly nonce?: string;
  /** The ID of the worker that it replaces, and that is known to have ended. */
  readonly predecessor?: string | undefined;
  /** How that worker died; absent if it was replaced on purpose. */
  readonly predecessorEnded?: string | undefined;
}

/** Reads the message; undefined if no supervisor has started this process. */
export function readMemberInfo(): MemberInfo | undefined {
  const text = Deno.env.get(MEMBER_VARIABLE);
  if (text === undefined) return undefined;
  // Processes that jobs start must not inherit it.
  Deno.env.delete(MEMBER_VARIABLE);
  return JSON.parse(text) as MemberInfo;
}

/**
 * Calls a function once if the supervisor has ended, until disposed. For the start of a process; after it the connection to the
 * supervisor ends (`member_link.ts`).
 */
export function watchSupervisor({ parent }: MemberInfo, onEnd: () => void): Disposable {
  const end = every(INTERVAL_MS, () => {
    if (Deno.ppid === parent) return;
    end();
    onEnd();
  });
  return { [Symbol.dispose]: end };
}
