/**
 * What a process knows that a supervisor has started: which one it is, and where to say that it is ready.
 *
 * The connection on which it says so stays open: when it breaks, the supervisor is gone, however that happened, and the
 * process stops in order.
 *
 * @module
 */

/** The variable that tells it. */
export const MEMBER_VARIABLE = "JOBS_MEMBER";

/** What a supervisor tells each process it starts. */
export interface MemberTold {
  /** From 1. */
  readonly index: number;
  /** The socket on which the supervisor waits to hear that it is ready. */
  readonly address: string;
  /** Proves who says so. */
  readonly token: string;
  /** The last part of its identity, so that the supervisor knows all of it. */
  readonly nonce?: string;
  /** The identity of the one whose place it takes: it has ended, which its parent knows for certain. */
  readonly predecessor?: string | undefined;
  /** Proves the same on the connection to the exchange (`peers.ts`); absent where the supervisor has none. */
  readonly exchange?: string;
}

/** What a supervisor told this process; undefined when none has started it. */
export function readMembership(): MemberTold | undefined {
  const told = Deno.env.get(MEMBER_VARIABLE);
  if (told === undefined) return undefined;
  // What jobs start is no member.
  Deno.env.delete(MEMBER_VARIABLE);
  return JSON.parse(told) as MemberTold;
}

/**
 * Tells the supervisor that this process takes jobs, and hears when the supervisor ends.
 *
 * @param onGone called once when it has ended
 */
export async function sayReady({ address, token }: MemberTold, onGone: () => void): Promise<void> {
  try {
    const connection = await Deno.connect({ transport: "unix", path: address });
    await connection.write(new TextEncoder().encode(token));
    void connection.read(new Uint8Array(1)).catch(() => null).then(() => {
      connection.close();
      onGone();
    });
  } catch {
    onGone();
  }
}
