/**
 * How many connections a client has: few where a user or a database may have few.
 *
 * @module
 */

/** The connections of one client. */
export interface Budget {
  /** For statements by themselves. 0: they use those of transactions. */
  readonly statements: number;
  /** For transactions. */
  readonly transactions: number;
  /** One more receives notifications. Otherwise waits poll. */
  readonly listens: boolean;
}

const MAX_EACH = 4;
/** A worker has two clients: its heartbeats have another thread. */
const CLIENTS = 2;
const MIN_TO_LISTEN = 3;

/** The connections of a client that nothing bounds. */
export const DEFAULT_BUDGET: Budget = { statements: MAX_EACH, transactions: MAX_EACH, listens: true };

/** Returns the connections of one of the clients of a process that may have `limit` together. */
export function budgetWithin(limit: number): Budget {
  const own = Math.max(1, Math.floor(limit / CLIENTS));
  const listens = own >= MIN_TO_LISTEN;
  const rest = listens ? own - 1 : own;
  const statements = Math.min(MAX_EACH, Math.floor(rest / 2));
  return { statements, transactions: Math.min(MAX_EACH, rest - statements), listens };
}
