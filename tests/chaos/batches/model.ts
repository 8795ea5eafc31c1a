/**
 * The model of the random program: the state of each batch and each node when no job is left to run.
 *
 * Some outcomes depend on a race that the program cannot see, such as a cancel of a running job. Such a member is uncertain: the
 * model leaves its state open, and still requires that it is counted exactly once.
 *
 * @module
 */
import type { BatchEvent } from "../../../src/job/batch.ts";
import { effectOf, type NodeState, type OnDead } from "../../../src/job/flow.ts";
import type { Batch } from "../../../src/store/port/batches.ts";

/** The behaviour of a job: see `tests/support/member_handlers.js`. */
export type How = "ok" | "slow" | "flaky" | "snooze" | "discard" | "dead" | "adder";

/** A state in which a member rests. */
export type Rest = "succeeded" | "failed" | "dead" | "cancelled" | "deleted";

/** A job of a batch, or a node of a flow. */
export interface Member {
  readonly jid: string;
  readonly how: How;
  /** How many members it adds. */
  readonly adds: number;
  /** Its state by the hand of an operator. */
  forced?: Rest;
  /** An operator has deleted, killed or cancelled it, perhaps before it ran. */
  wasEdited?: boolean;
  /** A `dead` job no longer fails. */
  mended?: boolean;
  /** An operator interfered while it may have run. */
  isUncertain?: boolean;
  /** It may not exist: the member that adds it may not have run. */
  mayBeMissing?: boolean;
}

/** A node of a flow. */
export interface Node extends Member {
  readonly name: string;
  readonly after: readonly string[];
  readonly onDead: OnDead;
}

/** A batch or a flow. */
export interface ModelBatch {
  readonly id: string;
  readonly parent?: ModelBatch;
  readonly events: readonly BatchEvent[];
  readonly members: Map<string, Member>;
  readonly children: ModelBatch[];
  /** The nodes by name, if it is a flow. */
  readonly nodes?: ReadonlyMap<string, Node>;
  closedAs?: "closed" | "cancelled" | "abandoned";
  /** The callbacks that were due at a quiet point. A pushed callback stays pushed. */
  readonly due: Set<BatchEvent>;
}

/** Returns the state in which a job rests that runs as it likes. */
export function restOf({ how, forced, mended }: Member): Rest {
  if (forced !== undefined) return forced;
  if (how === "discard") return "failed";
  return how === "dead" && !mended ? "dead" : "succeeded";
}

/** Returns the states of the nodes of a flow that was not cancelled. */
export function nodeStates(nodes: ReadonlyMap<string, Node>): Map<string, Exclude<NodeState, "pending">> {
  const states = new Map<string, Exclude<NodeState, "pending">>();
  // In the order of the definition: a node follows those before it.
  for (const node of nodes.values()) {
    const effects = node.after.map((name) => effectOf(states.get(name)!, nodes.get(name)!.onDead));
    const hasRun = node.forced !== undefined || effects.every((effect) => effect === "run");
    const isCancelled = node.forced === undefined && effects.includes("cancel");
    states.set(node.name, isCancelled ? "cancelled" : hasRun ? restOf(node) : "waiting");
  }
  return states;
}

/** The counters that a batch must have: each between two bounds. */
export interface Bounds {
  readonly least: Readonly<Record<Counter, number>>;
  readonly most: Readonly<Record<Counter, number>>;
}

/** A counter of a batch. */
export type Counter = "total" | "pending" | Rest;

const COUNTERS: readonly Counter[] = ["total", "pending", "succeeded", "failed", "dead", "cancelled", "deleted"];

/**
 * Returns the bounds of a batch's counters at a quiet point.
 *
 * @param stored the batches as stored, which have been checked for the children of this one
 */
export function boundsOf(batch: ModelBatch, stored: ReadonlyMap<string, Batch>): Bounds {
  const least = Object.fromEntries(COUNTERS.map((name) => [name, 0])) as Record<Counter, number>;
  const most = { ...least };
  const count = (counter: Counter) => {
    for (const bound of [least, most]) {
      bound.total++;
      bound[counter]++;
    }
  };
  if (batch.nodes !== undefined && batch.closedAs !== "cancelled") {
    for (const state of nodeStates(batch.nodes).values()) count(state === "waiting" ? "pending" : state as Rest);
    return { least, most };
  }
  const countUncertain = (mayBeMissing = false) => {
    if (!mayBeMissing) least.total++;
    most.total++;
    for (const rest of ["succeeded", "failed", "dead", "cancelled", "deleted"] as const) most[rest]++;
  };
  for (const member of batch.members.values()) {
    if (member.isUncertain || member.mayBeMissing) countUncertain(member.mayBeMissing);
    else count(restOf(member));
  }
  for (const child of batch.children) {
    const row = stored.get(child.id)!;
    count(childState(row));
    // The callbacks of a child are members, too: the program has acknowledged them, or they were cancelled with the batch.
    for (const { pushedAt } of row.callbacks) {
      if (pushedAt === undefined) continue;
      if (batch.closedAs === "cancelled") countUncertain();
      else count("succeeded");
    }
  }
  return { least, most };
}

/** Returns the counter of a parent that counts a batch. */
function childState({ closedAt, pending, dead, state, total, succeeded }: Batch): "pending" | Rest {
  if (closedAt === undefined || pending > 0) return "pending";
  if (dead > 0) return "dead";
  if (state === "cancelled") return "cancelled";
  return state !== "abandoned" && succeeded === total ? "succeeded" : "failed";
}

/** Adds the callbacks that are due, given the checked counters of a batch. */
export function noteDue({ closedAs, due }: ModelBatch, { pending, dead, failed, succeeded, total }: Batch): void {
  if (dead + failed > 0) due.add("death");
  if (closedAs === "abandoned") due.add("abandoned");
  if (closedAs === undefined || pending > 0) return;
  if (closedAs !== "abandoned") due.add("complete");
  if (closedAs === "closed" && succeeded === total) due.add("success");
}
