/**
 * What a supervisor tells each process it starts: which one it is, and where to connect.
 *
 * @module
 */

/** The environment variable that carries it. */
export const MEMBER_VARIABLE = "JOBS_MEMBER";

/** What a supervisor tells each process it starts. */
export interface MemberInfo {
  /** From 1. */
  readonly index: number;
  /** The supervisor's process number. */
  readonly parent: number;
  /** The socket on which the supervisor waits for its connection (`member_link.ts`). */
  readonly address: string;
  /** Tells the supervisor which process connects. */
  readonly token: string;
  /** The last part of its identity, so that the supervisor knows all of it. */
  readonly nonce?: string;
  /** The identity of the process whose place it takes: that one has ended, which its parent knows for certain. */
  readonly predecessor?: string | undefined;
  /** How that one ended; absent when it was replaced on purpose. */
  readonly predecessorEnded?: string | undefined;
}

/** What a supervisor told this process; undefined when none has started it. */
export function readMemberInfo(): MemberInfo | undefined {
  const told = Deno.env.get(MEMBER_VARIABLE);
  if (told === undefined) return undefined;
  // What jobs start is no member.
  Deno.env.delete(MEMBER_VARIABLE);
  return JSON.parse(told) as MemberInfo;
}
