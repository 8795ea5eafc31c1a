/**
 * The flows part of the store port: jobs that run after each other. A flow is a batch with a graph. Its nodes are members of
 * the batch, which counts them, pushes its callbacks, and is closed, cancelled, kept and removed as every batch is.
 *
 *  1. A node is in one place: in the flow while it waits, then wherever jobs are.
 *  2. A node is pushed once, in the step in which the last node before it is counted as done.
 *  3. The end of a node is one small step, however many nodes come after it. The store remembers the rest beyond
 *     `TEND_LIMIT`, and `BatchStore.tend` completes it.
 *
 * `BatchStore.create` with `flow` opens a flow, `add` stores its nodes, `BatchStore.close` starts it. A flow that was not
 * started in time is abandoned: none of its nodes runs.
 *
 * @module
 */
import type { NodeState, OnDead } from "../../job/flow.ts";
import type { BatchRefusal } from "./batches.ts";

/** A job that waits in a flow. */
export interface NewNode {
  /** Unique within the flow. */
  readonly name: string;
  /** Its place in the definition, from 0. */
  readonly position: number;
  /** The ID of its job: `nodeJid` of `job/flow.ts`. */
  readonly jid: string;
  /** The class of its job. */
  readonly class: string;
  /** The queue of its job. */
  readonly queue: string;
  /** The group of its job in the queue. */
  readonly group?: string;
  /** The payload of its job, without `enqueued_at`. */
  readonly payload: string;
  /** Milliseconds to wait when it could run. */
  readonly delayMs?: number;
  /** When it may run at the earliest, in epoch milliseconds. */
  readonly at?: number;
  /** The effect of its failure on the nodes after it. */
  readonly onDead: OnDead;
  /** The nodes it waits for. */
  readonly after: readonly string[];
  /** The nodes that wait for it. */
  readonly followers: readonly string[];
}

/** A node as stored. */
export interface FlowNode {
  /** Unique within the flow. */
  readonly name: string;
  /** Its place in the definition, from 0. */
  readonly position: number;
  /** The ID of its job. */
  readonly jid: string;
  /** The class of its job. */
  readonly class: string;
  /** The queue of its job. */
  readonly queue: string;
  /** The effect of its failure on the nodes after it. */
  readonly onDead: OnDead;
  /** The nodes it waits for. */
  readonly after: readonly string[];
  /** See {@linkcode NodeState}. */
  readonly state: NodeState;
  /** How many nodes it still waits for. */
  readonly waitsFor: number;
  /** When its state changed last, in epoch milliseconds. */
  readonly changedAt: number;
  /** The payload, while it waits. */
  readonly payload?: string;
  /** Its result as JSON; absent if it has none, or unless it was requested. */
  readonly result?: string;
}

/** Which nodes to read: these, without those that don't exist; or a page, of at most 100 by default. */
export type NodeRequest =
  & ({ readonly names: readonly string[] } | { readonly cursor?: string; readonly limit?: number })
  & {
    /** Also reads their results. Default false. */
    readonly results?: boolean;
  };

/** A page of nodes, in the order of the definition. */
export interface NodePage {
  /** The nodes. */
  readonly nodes: readonly FlowNode[];
  /** Pass it to get the next page; absent on the last. */
  readonly next?: string;
}

/** Keeps the graphs of flows. */
export interface FlowStore {
  /**
   * Stores nodes of an open flow, which counts them. Nodes that are stored already stay unchanged.
   *
   * @returns why the flow doesn't accept them; then nothing is stored
   */
  add(id: string, nodes: readonly NewNode[]): Promise<BatchRefusal | undefined>;

  /** Returns nodes of a flow. Two round trips at most. */
  nodes(id: string, request?: NodeRequest): Promise<NodePage>;
}
