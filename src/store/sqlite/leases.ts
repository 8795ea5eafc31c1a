/**
 * Leases: how they end.
 *
 * @module
 */
import type { Outcome, SettleResult } from "../store.ts";
import { type Context, PLACE } from "./context.ts";
import { endLive } from "./cron.ts";
import type { Dead } from "./dead.ts";
import type { Locks } from "./locks.ts";
import type { Totals } from "./totals.ts";

/** Ends leases. */
export class Leases {
  readonly #context: Context;
  readonly #locks: Locks;
  readonly #dead: Dead;
  readonly #totals: Totals;

  constructor(context: Context, parts: { locks: Locks; dead: Dead; totals: Totals }) {
    this.#context = context;
    this.#locks = parts.locks;
    this.#dead = parts.dead;
    this.#totals = parts.totals;
  }

  /** See `Store.settle`. */
  settle(owner: string, outcomes: readonly Outcome[]): Promise<SettleResult> {
    return this.#context.commit.run(() => {
      const now = this.#context.clock.now();
      const lost: string[] = [];
      let finished = 0;
      let failed = 0;
      let buried = 0;
      for (const outcome of outcomes) {
        if (!this.#apply(owner, outcome, now)) {
          lost.push(outcome.token);
          continue;
        }
        if (outcome.unlock !== undefined) this.#locks.release(outcome.unlock, outcome.jid);
        if (outcome.occurrence !== undefined && outcome.jid !== undefined) endLive(this.#context, outcome.jid);
        if (outcome.kind !== "snooze" && outcome.kind !== "release") finished++;
        if (outcome.kind === "retry" || outcome.kind === "bury" || outcome.kind === "discard") failed++;
        if (outcome.kind === "bury") buried++;
      }
      this.#totals.add(now, finished, failed);
      return { lost, dropped: buried > 0 ? this.#dead.trim(now) : 0 };
    }, outcomes.length);
  }

  /** Whether the lease was there. */
  #apply(owner: string, outcome: Outcome, now: number): boolean {
    const { sql } = this.#context;
    const [id, take] = outcome.token.split(".").map(Number);
    if (!Number.isSafeInteger(id) || !Number.isSafeInteger(take)) return false;
    const held = "WHERE id = ? AND take = ? AND owner = ? AND place = 1";
    switch (outcome.kind) {
      case "ack":
      case "discard":
        return sql(`DELETE FROM job ${held}`).run(id!, take!, owner).changes === 1;
      case "release":
        return sql(`UPDATE job SET place = 0, owner = NULL, take = NULL, at = NULL ${held}`)
          .run(id!, take!, owner).changes === 1;
      case "retry":
      case "snooze":
        return sql(`UPDATE job SET place = ?, at = ?, payload = ?, owner = NULL, take = NULL ${held}`).run(
          outcome.kind === "retry" ? PLACE.retry : PLACE.scheduled,
          Math.round(now + outcome.delayMs),
          outcome.payload,
          id!,
          take!,
          owner,
        ).changes === 1;
      case "bury":
        return sql(`UPDATE job SET place = 4, at = ?, payload = ?, owner = NULL, take = NULL ${held}`)
          .run(Math.round(now), outcome.payload, id!, take!, owner).changes === 1;
    }
  }
}
