/**
 * Leases → what the jobs came to.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import { MAX_RECORDS } from "../port/results.ts";
import type { Outcome, SettleResult } from "../port/jobs.ts";
import { type Context, insist } from "./context.ts";
import type { LeaseCache } from "./lease_cache.ts";
import { leasesKey } from "./keys.ts";
import { isOutcomeUnknown } from "./client/errors.ts";
import { packRecord } from "./results.ts";
import { SCRIPTS } from "./client/scripts.ts";

/** The kinds as the script calls them: what it does the same way has the same name. */
const KINDS: Readonly<Record<Outcome["kind"], string>> = {
  ack: "ack",
  discard: "drop",
  release: "release",
  retry: "retry",
  snooze: "schedule",
  bury: "dead",
};

/** Ends leases. */
export class Settlement {
  readonly #context: Context;
  readonly #holdings: LeaseCache;
  /** Tokens of outcomes whose answer was lost: if they are gone next time, it was we who ended them. */
  readonly #unsure = new Set<string>();

  constructor(context: Context, holdings: LeaseCache) {
    this.#context = context;
    this.#holdings = holdings;
  }

  /** See `JobStore.settle`. */
  async settle(owner: string, outcomes: readonly Outcome[]): Promise<SettleResult> {
    if (outcomes.length === 0) return { lost: [], dropped: 0 };
    const args = pack(outcomes, this.#holdings.of(owner));
    return await insist(this.#context, () => this.#settle(owner, args, outcomes));
  }

  async #settle(owner: string, args: readonly string[], outcomes: readonly Outcome[]): Promise<SettleResult> {
    const { client, offset, deadLimits } = this.#context;
    const all = [offset(), ...deadLimits, ...args];
    try {
      const reply = await client.run(SCRIPTS.settle, [leasesKey(owner)], all, { repeatable: false });
      const [dropped, ...tokens] = reply as [number, ...string[]];
      this.#holdings.remove(owner, outcomes);
      if (this.#unsure.size === 0) return { lost: tokens, dropped };
      const lost = tokens.filter((token) => !this.#unsure.has(token));
      for (const { token } of outcomes) this.#unsure.delete(token);
      return { lost, dropped };
    } catch (error) {
      if (isOutcomeUnknown(error)) { for (const { token } of outcomes) this.#unsure.add(token); }
      throw error;
    }
  }
}

/** The script's arguments, but for the first. */
function pack(outcomes: readonly Outcome[], held: ReadonlySet<string>): string[] {
  const locks: string[] = [];
  for (const { token, unlock, jid, occurrence } of outcomes) {
    if (unlock !== undefined) locks.push(token, unlock, jid ?? "");
    if (occurrence !== undefined) locks.push(token, "", jid ?? "");
  }
  const records = outcomes.flatMap(({ token, record }) => record === undefined ? [] : [token, ...packRecord(record)]);
  const steps = outcomes.flatMap(packSteps);
  const counts = [`${locks.length / 3}`, `${records.length / 4}`, `${MAX_RECORDS}`, `${steps.length / 5}`];
  const args = [...counts, ...locks, ...records, ...steps];
  let from = 0;
  while (from < outcomes.length) {
    const kind = KINDS[outcomes[from]!.kind];
    let to = from + 1;
    while (to < outcomes.length && KINDS[outcomes[to]!.kind] === kind) to++;
    packSame(kind, outcomes.slice(from, to), { held, args });
    from = to;
  }
  return args;
}

/** What an outcome means for steps (those of the job, and the one that waits for its end), and for its batch. */
function packSteps({ kind, token, steps, jid, parent, batch }: Outcome): string[] {
  const packed: string[] = [];
  if (steps && jid !== undefined && (kind === "ack" || kind === "discard")) packed.push(token, jid, "", "ended", "");
  if (steps && jid !== undefined && kind === "snooze") packed.push(token, jid, "", "asleep", "");
  if (parent !== undefined) packed.push(token, parent.jid, parent.step, parent.state, parent.outcome);
  if (batch !== undefined) packed.push(token, batch.id, batch.from, "member", batch.to);
  return packed;
}

/** Outcomes of one kind that follow each other. */
function packSame(
  kind: string,
  outcomes: readonly Outcome[],
  { held, args }: { readonly held: ReadonlySet<string>; readonly args: string[] },
): void {
  const canBeSure = kind === "ack" || kind === "drop";
  args.push(canBeSure && areHeld(outcomes, held) ? `held ${kind}` : kind, `${outcomes.length}`);
  for (const outcome of outcomes) {
    args.push(outcome.token);
    switch (outcome.kind) {
      case "retry":
      case "snooze":
        args.push(`${Math.round(outcome.delayMs)}`, outcome.payload);
        break;
      case "bury":
        args.push(isReadable(outcome.payload) ? outcome.payload : "");
    }
  }
}

/** Whether we have all these leases, each named once: then Redis need not look at each. */
function areHeld(outcomes: readonly Outcome[], held: ReadonlySet<string>): boolean {
  if (!outcomes.every(({ token }) => held.has(token))) return false;
  return outcomes.length === 1 || new Set(outcomes.map(({ token }) => token)).size === outcomes.length;
}

/** An unreadable payload is buried as it stands in the store: its bytes may be no UTF-8, which a text cannot carry. */
function isReadable(payload: string): boolean {
  return !payload.includes("\ufffd") || getField(payload, "class") !== undefined;
}
