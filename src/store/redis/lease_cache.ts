/**
 * The leases that this process holds: the tokens that it took and has not settled. After a loss of the connection they are
 * compared with those in Redis.
 *
 * @module
 */

/** Tokens by owner. */
export class LeaseCache {
  readonly #tokens = new Map<string, Set<string>>();

  /** The tokens that `owner` has. */
  of(owner: string): ReadonlySet<string> {
    return this.#tokens.get(owner) ?? new Set();
  }

  /** Notes tokens that were given. */
  add(owner: string, holders: Iterable<{ readonly token: string }>): void {
    let tokens = this.#tokens.get(owner);
    if (!tokens) this.#tokens.set(owner, tokens = new Set());
    for (const { token } of holders) tokens.add(token);
  }

  /** Notes tokens that are settled. */
  remove(owner: string, holders: Iterable<{ readonly token: string }>): void {
    const tokens = this.#tokens.get(owner);
    if (tokens) { for (const { token } of holders) tokens.delete(token); }
  }

  /** Notes that `owner` is no more. */
  forget(owner: string): void {
    this.#tokens.delete(owner);
  }
}
