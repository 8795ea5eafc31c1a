/**
 * Leases → the outcomes of their jobs. `lease_book.ts` explains why a lost reply makes no outcome count as lost.
 *
 * @module
 */
import { asideClass } from "../../job/aside.ts";
import { getField } from "../../job/raw.ts";
import { MAX_RECORDS } from "../port/results.ts";
import type { MemberChange } from "../port/batches.ts";
import type { Outcome, SettleResult } from "../port/outcomes.ts";
import { type Context, retryLostReply } from "./context.ts";
import type { LeaseBook } from "../ops/lease_book.ts";
import { leasesKey } from "./keys.ts";
import { isOutcomeUnknown } from "./client/errors.ts";
import type { Args } from "./client/script_head.ts";
import { packFollow } from "./move_request.ts";
import { packRecord } from "./results.ts";
import { SCRIPTS } from "./client/scripts.ts";

/** The kinds as the script names them: an outcome that moves the job has the name of the set. */
const KINDS: Readonly<Record<Outcome["kind"], string>> = {
  ack: "ack",
  discard: "discard",
  release: "release",
  retry: "retry",
  snooze: "schedule",
  aside: "aside",
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
  const { client, offset, deadLimits, wire } = context;
  const [maxDead, maxDeadAgeMs] = deadLimits;
  const packed = {
    ...{ leases: leasesKey(worker), maxDead, maxDeadAgeMs, maxRecords: MAX_RECORDS, wire },
    ...pack(outcomes, book.held(worker)),
  };
  return await retryLostReply(context, async () => {
    try {
      const reply = await client.run(SCRIPTS.settle, { ...packed, now: offset() }, { repeatable: false });
      const [dropped, ...missing] = reply as [number, ...string[]];
      return { lost: book.endSettlement(worker, outcomes, missing), dropped };
    } catch (error) {
      if (isOutcomeUnknown(error)) book.failSettlement(outcomes);
      throw error;
    }
  });
}

/** Returns the lists of the script. */
function pack(outcomes: readonly Outcome[], held: ReadonlySet<string>): Args {
  const lists: Record<
    "locks" | "records" | "sleepers" | "waits" | "nodes" | "stepJobs" | "follows" | "events",
    Args[]
  > = {
    locks: [],
    records: [],
    sleepers: [],
    waits: [],
    nodes: [],
    stepJobs: [],
    follows: [],
    events: [],
  };
  for (const { kind, token, unlock, jid, occurrence, record, steps, parent, batch, follow, event } of outcomes) {
    if (unlock !== undefined) lists.locks.push({ token, key: unlock, jid });
    if (occurrence !== undefined) lists.locks.push({ token, key: "", jid });
    if (record !== undefined) {
      const [jid, ttl, body] = packRecord(record);
      lists.records.push({ token, jid, ttl, body });
    }
    if (steps && jid !== undefined) {
      if (kind === "snooze" || kind === "aside") lists.sleepers.push({ token, jid });
      // One that dies waits for no signal any more.
      else if (kind === "ack" || kind === "discard" || kind === "bury") {
        lists.stepJobs.push({ token, jid, dies: kind === "bury" });
      }
    }
    if (parent !== undefined) {
      const { jid, step, state, child, outcome } = parent;
      lists.waits.push({ token, jid, step, state, child, outcome });
    }
    if (follow !== undefined) lists.follows.push({ token, jobs: packFollow(follow) });
    if (event !== undefined) lists.events.push({ token, members: event });
    if (batch?.node !== undefined) {
      const { id, from, to, node, result } = batch;
      lists.nodes.push({ token, batch: id, from, to, name: node, result });
    }
  }
  return { ...lists, runs: packMembers(outcomes), outcomes: packOutcomes(outcomes, held) };
}

/** Packs the changes of batches that aren't flows: consecutive outcomes with the same change together, because most are. */
function packMembers(outcomes: readonly Outcome[]): Args[] {
  const runs: Args[] = [];
  for (let from = 0; from < outcomes.length;) {
    const { batch } = outcomes[from]!;
    let to = from + 1;
    if (batch !== undefined && batch.node === undefined) {
      while (to < outcomes.length && isSameChange(outcomes[to]!.batch, batch)) to++;
      runs.push({ first: from + 1, count: to - from, batch: batch.id, from: batch.from, to: batch.to });
    }
    from = to;
  }
  return runs;
}

function isSameChange(one: MemberChange | undefined, other: MemberChange): boolean {
  return one !== undefined && one.node === undefined && one.id === other.id && one.from === other.from &&
    one.to === other.to;
}

/** Packs consecutive outcomes of one kind together. */
function packOutcomes(outcomes: readonly Outcome[], held: ReadonlySet<string>): Args[] {
  const groups: Args[] = [];
  for (let from = 0; from < outcomes.length;) {
    const kind = kindOf(outcomes[from]!);
    let to = from + 1;
    while (to < outcomes.length && kindOf(outcomes[to]!) === kind) to++;
    const same = outcomes.slice(from, to);
    const doEnd = kind === "ack" || kind === "discard";
    // Jobs that end have no class, delay or payload, and nearly all do.
    const moved = doEnd ? [] : same;
    groups.push({
      kind: doEnd && areHeld(same, held) ? `held ${kind}` : kind,
      tokens: same.map(({ token }) => token),
      classes: moved.flatMap((outcome) => outcome.kind === "aside" ? asideClass(outcome.class) : []),
      delays: moved.flatMap((outcome) => "delayMs" in outcome ? Math.round(outcome.delayMs) : []),
      payloads: moved.flatMap((outcome) => "payload" in outcome ? payloadFor(outcome) : []),
    });
    from = to;
  }
  return groups;
}

function kindOf(outcome: Outcome): string {
  return outcome.kind === "release" && outcome.begun ? "return" : KINDS[outcome.kind];
}

/** Returns whether the worker holds all these leases, each named once: then Redis needn't check each. */
function areHeld(outcomes: readonly Outcome[], held: ReadonlySet<string>): boolean {
  if (!outcomes.every(({ token }) => held.has(token))) return false;
  return outcomes.length === 1 || new Set(outcomes.map(({ token }) => token)).size === outcomes.length;
}

/**
 * Returns the payload to store. An unreadable one is buried unchanged by the script: its bytes may not be valid UTF-8, which a
 * string can't carry.
 */
function payloadFor({ kind, payload }: Outcome & { readonly payload: string }): string {
  return kind !== "bury" || !payload.includes("\ufffd") || getField(payload, "class") !== undefined ? payload : "";
}
