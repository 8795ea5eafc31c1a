/**
 * The leases that this process holds on a server, and the argument that none of them is lost and none is settled twice.
 *
 * A reply can be lost on its way: the process then can't tell whether the verb ran. A server can lose its latest writes:
 * it crashes between two fsyncs, or a replica that lagged takes its place. The book covers both.
 *
 *  1. **A lost reply of `take` strands no lease.** Each take has a name, which its tokens contain. The book keeps the name
 *     until the reply is here. The next take passes the names of unanswered takes, and `take` returns their leases
 *     again. A worker that takes no more jobs passes them with a limit of 0: the leases return to their queues. The network may
 *     deliver an unanswered take even later, on the connection that was given up: then it leases nothing (`jobs:given-up`, `given_up`).
 *  2. **A lost reply of `settle` doesn't make an outcome count as lost.** The book keeps the tokens that may be settled. When
 *     the settlement is repeated and such a token is missing, this process ended it itself.
 *  3. **A server that lost its latest writes strands no lease.** It may again have leases that this process has settled. After
 *     each loss of the connection, the next take returns those leases of this process to their queues that are neither
 *     held nor of an unanswered or a later take. Their jobs run again: at least once.
 *  4. **A worker settles nothing that it no longer owns.** On Redis, a rescue that takes leases from a worker leaves a mark
 *     (`jobs:rescued`). Without that mark no held token is missing, except on a server that lost its latest writes, so
 *     `settle` deletes held tokens together. With the mark it checks each.
 *
 *  5. **The book doesn't grow.** Another connection may settle leases of the same worker, as the heartbeat's thread does while
 *     the event loop is blocked. Once the held tokens have doubled, a take asks which of them are left.
 *
 * The book is memory. If the process dies, its leases are rescued when its heartbeat has lapsed, and the book isn't needed.
 *
 * @module
 */
import { randomBytes } from "node:crypto";

/** Held tokens that aren't compared with the store: a worker holds as many by itself. */
const MIN_CHECKED_TOKENS = 2_000;

/** The leases of one worker of this process. */
interface WorkerLeases {
  /** Tokens that were taken and aren't settled. */
  readonly held: Set<string>;
  /** Names of takes whose reply isn't here: it is still expected, or it was lost. */
  readonly unanswered: Set<string>;
  /** How many times the connection had been lost at the last reconciliation; undefined before the first. */
  reconciledLosses?: number;
  /** The number of held tokens from which they are compared with the store. */
  checkAt: number;
}

/** A take's name, and the names of earlier takes with a lost reply: this take collects their leases. */
export interface TakeNames {
  readonly name: string;
  readonly lost: readonly string[];
}

/** The leases that a worker knows. A reconciliation that the store performs late must spare those of later takes. */
export interface KnownLeases {
  /** Names of takes whose reply isn't here. */
  readonly unanswered: readonly string[];
  readonly held: ReadonlySet<string>;
  /** The name of the last take. */
  readonly last: string;
}

/** The leases of this process, by worker ID. */
export class LeaseBook {
  /** The first 8 of the 16 hex digits of all take names of this process. */
  readonly prefix = randomBytes(4).toString("hex");
  #takes = 0;
  readonly #workers = new Map<string, WorkerLeases>();
  /** Names of takes that a pending call sends or collects. */
  readonly #inFlight = new Set<string>();
  /** Tokens whose settlement may have succeeded: its reply was lost. */
  readonly #maybeSettled = new Set<string>();

  /** Returns the tokens that a worker holds. */
  held(worker: string): ReadonlySet<string> {
    return this.#of(worker).held;
  }

  /** Returns whether the reply of a take of this worker was lost. */
  hasLostTakes(worker: string): boolean {
    return this.#lostTakes(worker).length > 0;
  }

  /** Names a take that collects the lost ones, and notes that its reply is pending. */
  beginTake(worker: string): TakeNames {
    const lost = this.#lostTakes(worker);
    this.#takes++;
    const name = this.#lastName;
    this.#of(worker).unanswered.add(name);
    // Two takes at once must not collect the same leases.
    for (const one of [name, ...lost]) this.#inFlight.add(one);
    return { name, lost };
  }

  /** Notes the reply of a take: the worker holds these leases. */
  endTake(worker: string, { name, lost }: TakeNames, leases: Iterable<{ readonly token: string }>): void {
    const { held, unanswered } = this.#of(worker);
    for (const one of [name, ...lost]) {
      this.#inFlight.delete(one);
      unanswered.delete(one);
    }
    for (const { token } of leases) held.add(token);
  }

  /** Notes that a take failed. `mayHaveRun`: its reply was lost. */
  failTake(worker: string, { name, lost }: TakeNames, mayHaveRun: boolean): void {
    for (const one of [name, ...lost]) this.#inFlight.delete(one);
    if (!mayHaveRun) this.#of(worker).unanswered.delete(name);
  }

  /**
   * Notes the reply of a settlement.
   *
   * @param missing the tokens that the store didn't have
   * @returns those of them that another worker has: without those that this process settled itself
   */
  endSettlement(worker: string, outcomes: Iterable<{ readonly token: string }>, missing: readonly string[]): string[] {
    const { held } = this.#of(worker);
    const lost = missing.filter((token) => !this.#maybeSettled.has(token));
    for (const { token } of outcomes) {
      held.delete(token);
      this.#maybeSettled.delete(token);
    }
    return lost;
  }

  /** Notes that the reply of a settlement was lost. */
  failSettlement(outcomes: Iterable<{ readonly token: string }>): void {
    for (const { token } of outcomes) this.#maybeSettled.add(token);
  }

  /** Notes that a worker lost these leases. */
  drop(worker: string, tokens: Iterable<string>): void {
    const { held } = this.#of(worker);
    for (const token of tokens) held.delete(token);
  }

  /** Returns the held tokens once they have doubled: some may have been settled elsewhere. {@linkcode drop} then follows. */
  tokensToCheck(worker: string): string[] {
    const leases = this.#of(worker);
    if (leases.held.size < leases.checkAt) return [];
    leases.checkAt = 2 * leases.held.size;
    return [...leases.held];
  }

  /** Notes that a worker has deregistered: it holds nothing. */
  dropAll(worker: string): void {
    this.#of(worker).held.clear();
  }

  /**
   * Calls `reconcile` if the connection was lost since the last reconciliation of this worker. After a failure the next call
   * tries again.
   *
   * @param losses how many times the connection was lost
   */
  async reconcile(
    worker: string,
    losses: number,
    reconcile: (known: KnownLeases) => Promise<unknown>,
  ): Promise<void> {
    const leases = this.#of(worker);
    const before = leases.reconciledLosses;
    leases.reconciledLosses = losses;
    if (before === undefined || before === losses) return;
    try {
      await reconcile({ unanswered: [...leases.unanswered], held: leases.held, last: this.#lastName });
    } catch (error) {
      leases.reconciledLosses = before;
      throw error;
    }
  }

  /** The name of the last take. */
  get #lastName(): string {
    return this.prefix + (this.#takes >>> 0).toString(16).padStart(8, "0");
  }

  /** Returns the names of takes whose reply was lost. */
  #lostTakes(worker: string): string[] {
    return [...this.#of(worker).unanswered].filter((name) => !this.#inFlight.has(name));
  }

  #of(worker: string): WorkerLeases {
    let leases = this.#workers.get(worker);
    if (!leases) {
      leases = { held: new Set(), unanswered: new Set(), checkAt: MIN_CHECKED_TOKENS };
      this.#workers.set(worker, leases);
    }
    return leases;
  }
}
