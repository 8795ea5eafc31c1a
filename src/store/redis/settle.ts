/**
 * Leases → the outcomes of their jobs. `lease_book.ts` explains why a lost reply makes no outcome count as lost.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import { MAX_RECORDS } from "../port/results.ts";
import type { MemberChange } from "../port/batches.ts";
import type { Outcome, SettleResult } from "../port/outcomes.ts";
import { type Context, retryLostReply } from "./context.ts";
import type { LeaseBook } from "./lease_book.ts";
import { leasesKey } from "./keys.ts";
import { isOutcomeUnknown } from "./client/errors.ts";
import { packRecord } from "./results.ts";
import { SCRIPTS } from "./client/scripts.ts";

/** The kinds as the script names them: an outcome that moves the job has the name of the set. */
const KINDS: Readonly<Record<Outcome["kind"], string>> = {
  ack: "ack",
  discard: "discard",
  release: "release",
  retry: "retry",
  snooze: "schedule",
  bury: "dead",
};

/** See `JobStore.settle`. */
export async function settle(
  context: Context,
  book: LeaseBook,
  worker: string,
  outcomes: readonly Outcome[],
): Promise<SettleResult> {
  if (outcomes.length === 0) return { lost: [], dropped: 0 };
  const { client, offset, deadLimits } = context;
  const packed = pack(outcomes, book.held(worker));
  return await retryLostReply(context, async () => {
    const args = [offset(), ...deadLimits, ...packed];
    try {
      const reply = await client.run(SCRIPTS.settle, [leasesKey(worker)], args, { repeatable: false });
      const [dropped, ...missing] = reply as [number, ...string[]];
      return { lost: book.endSettlement(worker, outcomes, missing), dropped };
    } catch (error) {
      if (isOutcomeUnknown(error)) book.failSettlement(outcomes);
      throw error;
    }
  });
}

/** Returns the script's arguments without the first three. */
function pack(outcomes: readonly Outcome[], held: ReadonlySet<string>): string[] {
  const locks: string[] = [];
  for (const { token, unlock, jid, occurrence } of outcomes) {
    if (unlock !== undefined) locks.push(token, unlock, jid ?? "");
    if (occurrence !== undefined) locks.push(token, "", jid ?? "");
  }
  const records = outcomes.flatMap(({ token, record }) => record === undefined ? [] : [token, ...packRecord(record)]);
  const steps = outcomes.flatMap(packSteps);
  const jobs = packEndedJobs(outcomes);
  const runs = packMembers(outcomes);
  const counts = [
    locks.length / 3,
    records.length / 4,
    MAX_RECORDS,
    steps.length / 5,
    jobs.length / 3,
    runs.length / 5,
  ];
  const args = [...counts.map(String), ...locks, ...records, ...steps, ...jobs, ...runs];
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

/** Packs the jobs that end and have steps, which the script deletes, and those that die, which wait for no signal any more. */
function packEndedJobs(outcomes: readonly Outcome[]): string[] {
  const packed: string[] = [];
  for (const { kind, token, steps, jid } of outcomes) {
    if (!steps || jid === undefined) continue;
    if (kind === "ack" || kind === "discard" || kind === "bury") packed.push(token, jid, kind === "bury" ? "1" : "");
  }
  return packed;
}

/** Packs the effects of an outcome on the job's steps if it sleeps, on the step of another job that waits for its end, and on its flow. */
function packSteps({ kind, token, steps, jid, parent, batch }: Outcome): string[] {
  const packed: string[] = [];
  if (steps && jid !== undefined && kind === "snooze") packed.push(token, jid, "", "asleep", "");
  if (parent !== undefined) {
    packed.push(token, parent.jid, parent.step, `${parent.state} ${parent.child ?? ""}`, parent.outcome);
  }
  if (batch?.node !== undefined) packed.push(token, batch.id, batch.from, "node", packEnd(batch));
  return packed;
}

function packEnd({ to, node, result }: MemberChange): string {
  return result === undefined ? `${to} ${node}` : `${to} ${node} ${result}`;
}

/** Packs the changes of batches that aren't flows: consecutive outcomes with the same change together, because most are. */
function packMembers(outcomes: readonly Outcome[]): string[] {
  const packed: string[] = [];
  for (let from = 0; from < outcomes.length;) {
    const { batch } = outcomes[from]!;
    let to = from + 1;
    if (batch !== undefined && batch.node === undefined) {
      while (to < outcomes.length && isSameChange(outcomes[to]!.batch, batch)) to++;
      packed.push(`${from + 1}`, `${to - from}`, batch.id, batch.from, batch.to);
    }
    from = to;
  }
  return packed;
}

function isSameChange(one: MemberChange | undefined, other: MemberChange): boolean {
  return one !== undefined && one.node === undefined && one.id === other.id && one.from === other.from &&
    one.to === other.to;
}

/** Packs consecutive outcomes of one kind. */
function packSame(
  kind: string,
  outcomes: readonly Outcome[],
  { held, args }: { readonly held: ReadonlySet<string>; readonly args: string[] },
): void {
  const canSkipCheck = kind === "ack" || kind === "discard";
  args.push(canSkipCheck && areHeld(outcomes, held) ? `held ${kind}` : kind, `${outcomes.length}`);
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

/** Returns whether the worker holds all these leases, each named once: then Redis needn't check each. */
function areHeld(outcomes: readonly Outcome[], held: ReadonlySet<string>): boolean {
  if (!outcomes.every(({ token }) => held.has(token))) return false;
  return outcomes.length === 1 || new Set(outcomes.map(({ token }) => token)).size === outcomes.length;
}

/** An unreadable payload is buried unchanged by the script: its bytes may not be valid UTF-8, which a string can't carry. */
function isReadable(payload: string): boolean {
  return !payload.includes("\ufffd") || getField(payload, "class") !== undefined;
}
