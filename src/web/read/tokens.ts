/**
 * Reads the API tokens: names and permissions, never secrets.
 *
 * @module
 */
import type { User } from "../auth/accounts.ts";
import type { Services } from "../services.ts";

/** A token. */
export interface TokenInfo extends User {
  /** When this process last served it, in epoch milliseconds; undefined if it hasn't. */
  readonly lastUsedAt: number | undefined;
}

/** Returns the tokens of the setting `web.users`. */
export function readTokens({ gate, tokens }: Pick<Services, "gate" | "tokens">): TokenInfo[] {
  return gate.tokenUsers.map((user) => ({ ...user, lastUsedAt: tokens.lastUsed(user.name) }));
}
