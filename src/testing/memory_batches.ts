/**
 * Batches and flows in memory. Counters are computed from the jobs whenever one ends: a test has few.
 *
 * @module
 */
import { type BatchEvent, COUNTED_FIELD, MEMBER_STATES } from "../job/batch.ts";
import { NODE_FIELD } from "../job/flow.ts";
import { batchOf, type Counter } from "../store/ops/batch_record.ts";
import type {
  Batch,
  BatchMember,
  BatchPage,
  BatchPageRequest,
  BatchRefusal,
  ClosedAs,
  CloseResult,
  FirstBatch,
  NewBatch,
} from "../store/port/batches.ts";
import type { FlowNode, NewNode, NodePage } from "../store/port/flows.ts";
import { MemoryKeys } from "./memory_keys.ts";
import type { TestClock } from "./test_clock.ts";
import {
  countedAs,
  givenNode,
  type MemoryNode,
  newNode,
  nodeView,
  resultText,
  spread,
  stateOfNode,
} from "./memory_flows.ts";
import type { MemoryEntry, MemoryJobs } from "./memory_jobs.ts";

interface MemoryBatch {
  readonly spec: NewBatch;
  readonly created: number;
  /** How each member is counted now. */
  readonly members: (() => Counter)[];
  /** The nodes of a flow, by name. */
  readonly nodes: Map<string, MemoryNode>;
  /** When the conditions of its callbacks were fulfilled. */
  readonly fired: Partial<Record<BatchEvent, number>>;
  closed?: { readonly at: number; readonly as: ClosedAs };
}

/** The membership of a job under test. */
export interface Membership {
  /** The ID of a batch of the client, or `true` for a new one. */
  readonly batch?: boolean | string | undefined;
  /** The results of nodes that have succeeded before it in its flow. */
  readonly results?: Readonly<Record<string, unknown>> | undefined;
}

/** The name of the node whose handler a test calls with `results`. */
const NODE = "test";

/** Batches and flows, in memory. */
export class MemoryBatches {
  /** The jids of the running jobs, which are the tokens of their leases. */
  readonly running = new Set<string>();
  readonly #batches = new Map<string, MemoryBatch>();
  readonly #keys = new MemoryKeys();
  readonly #jobs: MemoryJobs;
  readonly #clock: TestClock;

  constructor(jobs: MemoryJobs, clock: TestClock) {
    this.#jobs = jobs;
    this.#clock = clock;
  }

  create(spec: NewBatch): Promise<BatchRefusal | FirstBatch | undefined> {
    const { id, parent, once } = spec;
    const now = this.#clock.now();
    const first = once && this.#keys.first({ jid: id, once }, now);
    if (first !== undefined) return Promise.resolve(first);
    const refusal = parent && this.refusal(parent);
    if (refusal !== undefined || this.#batches.has(id)) return Promise.resolve(refusal);
    if (once) this.#keys.take({ jid: id, once }, now);
    const batch = this.#open(spec);
    if (parent) this.#batches.get(parent.id)!.members.push(() => asMember(batch));
    return Promise.resolve(undefined);
  }

  read(request: { readonly ids: readonly string[] } | BatchPageRequest = {}): Promise<BatchPage> {
    if ("ids" in request) {
      const found = request.ids.map((id) => this.#batches.get(id)).filter((batch) => batch !== undefined);
      return Promise.resolve({ batches: found.map(viewOf) });
    }
    const { cursor, limit = 25, flows = false } = request;
    const all = [...this.#batches.values()].toReversed().filter(({ spec: { id, flow = false } }) =>
      flow === flows && (cursor === undefined || id < cursor)
    );
    const batches = all.slice(0, limit).map(viewOf);
    return Promise.resolve({ batches, ...(all.length > limit && { next: batches.at(-1)!.id }) });
  }

  close(id: string, as: ClosedAs): Promise<CloseResult> {
    const batch = this.#batches.get(id);
    if (batch === undefined) return Promise.resolve(undefined);
    const closed = batch.closed;
    if (closed !== undefined) return Promise.resolve({ done: false, closedAs: closed.as });
    batch.closed = { at: this.#clock.now(), as };
    this.advance(id);
    return Promise.resolve({ done: true, closedAs: as });
  }

  add(id: string, nodes: readonly NewNode[]): Promise<BatchRefusal | undefined> {
    const refusal = this.refusal({ id });
    if (refusal !== undefined) return Promise.resolve(refusal);
    const flow = this.#batches.get(id)!;
    for (const node of nodes) {
      if (!flow.nodes.has(node.name)) this.#addNode(flow, newNode(node, this.#clock.now()));
    }
    return Promise.resolve(undefined);
  }

  nodes(
    id: string,
    { cursor = "-1", limit = 100 }: { readonly cursor?: string; readonly limit?: number } = {},
  ): Promise<NodePage> {
    const all = [...this.#batches.get(id)?.nodes.values() ?? []];
    const from = Number(cursor) + 1;
    const nodes = all.slice(from, from + limit).map((node) => nodeView(node, this.#batches.get(id)!.nodes));
    return Promise.resolve({ nodes, ...(all.length > from + limit && { next: `${from + limit - 1}` }) });
  }

  node(id: string, name: string): Promise<FlowNode | undefined> {
    const nodes = this.#batches.get(id)?.nodes;
    const node = nodes?.get(name);
    return Promise.resolve(node && nodeView(node, nodes!));
  }

  results(id: string, names: readonly string[]): Promise<(string | undefined)[]> {
    return Promise.resolve(names.map((name) => resultText(this.#batches.get(id)?.nodes.get(name))));
  }

  spread(): Promise<boolean> {
    return Promise.resolve(false);
  }

  /** Returns why a batch doesn't accept a member. */
  refusal({ id, by }: BatchMember): BatchRefusal | undefined {
    const batch = this.#batches.get(id);
    if (batch === undefined) return "missing";
    const as = batch.closed?.as;
    return as === "closed" && by !== undefined && this.running.has(by.token) ? undefined : as;
  }

  /** Adds a stored job to its batch. */
  join(id: string, entry: MemoryEntry): void {
    this.#batches.get(id)!.members.push(() => countedAs(entry));
  }

  /** Makes a job that a test calls directly a running member, and returns the fields of its payload. */
  enroll(jid: string, { batch, results }: Membership): Readonly<Record<string, unknown>> {
    if (results === undefined && (batch === undefined || batch === false)) return {};
    const id = typeof batch === "string" ? batch : `test-${this.#batches.size + 1}`;
    if (typeof batch === "string" && !this.#batches.has(id)) throw new Error(`The client has no batch "${id}"`);
    const found = this.#batches.get(id) ??
      this.#open({ id, callbacks: {}, closeWithinMs: 0, keepMs: 0, ...(results && { flow: true }) });
    this.running.add(jid);
    found.members.push(() => "pending");
    if (results === undefined) return { batch: id, [COUNTED_FIELD]: "pending" };
    const names = Object.keys(results);
    for (const name of [...names, NODE]) {
      const before = name === NODE ? names : [];
      found.nodes.set(name, givenNode(name, before, results[name], this.#clock.now()));
    }
    return { batch: id, [COUNTED_FIELD]: "pending", [NODE_FIELD]: NODE };
  }

  /** Pushes the callbacks and the nodes that follow from the states of a batch's members. */
  advance(id: string): void {
    const batch = this.#batches.get(id);
    if (batch === undefined) return;
    const { nodes, closed, spec: { callbacks, parent } } = batch;
    spread(nodes, closed?.as, (node) => this.#release(node));
    const { pending, dead, failed, succeeded, total } = countsOf(batch);
    const fire = (event: BatchEvent) => {
      if (batch.fired[event] !== undefined) return;
      batch.fired[event] = this.#clock.now();
      const callback = callbacks[event];
      if (callback === undefined || (event === "complete" && closed?.as === "abandoned")) return;
      const entry = this.#jobs.store(callback, this.#clock.now());
      // The parent batch waits for the callbacks of this one.
      if (parent) this.join(parent.id, entry);
    };
    if (dead + failed > 0) fire("death");
    if (closed?.as === "abandoned") fire("abandoned");
    if (closed !== undefined && pending === 0) fire("complete");
    if (closed?.as === "closed" && succeeded === total) fire("success");
    if (parent) this.advance(parent.id);
  }

  #open(spec: NewBatch): MemoryBatch {
    const batch = { spec, created: this.#clock.now(), members: [], nodes: new Map<string, MemoryNode>(), fired: {} };
    this.#batches.set(spec.id, batch);
    return batch;
  }

  #addNode(flow: MemoryBatch, node: MemoryNode): void {
    flow.nodes.set(node.spec.name, node);
    flow.members.push(() => {
      const state = stateOfNode(node);
      return state === "waiting" ? "pending" : state;
    });
  }

  #release(node: MemoryNode): void {
    const { delayMs = 0, at = 0 } = node.spec;
    node.entry = this.#jobs.store(node.spec, Math.max(at, this.#clock.now() + delayMs));
  }
}

/** Returns how its parent counts a batch. */
function asMember(batch: MemoryBatch): Counter {
  const { pending, dead, succeeded, total } = countsOf(batch);
  if (batch.closed === undefined || pending > 0) return "pending";
  if (dead > 0) return "dead";
  if (batch.closed.as === "closed" && succeeded === total) return "succeeded";
  return batch.closed.as === "cancelled" ? "cancelled" : "failed";
}

function countsOf({ members }: MemoryBatch): Record<Counter | "total", number> {
  const counts = { ...Object.fromEntries(MEMBER_STATES.map((state) => [state, 0])), total: members.length };
  for (const member of members) (counts as Record<string, number>)[member()]!++;
  return counts as Record<Counter | "total", number>;
}

function viewOf(batch: MemoryBatch): Batch {
  const { spec: { id, parent, closeWithinMs, keepMs, flow, once: _, ...spec }, created, closed, fired, nodes } = batch;
  const waiting = [...nodes.values()].filter((node) => stateOfNode(node) === "waiting").length;
  return batchOf({
    ...{ id, created, spec: JSON.stringify(spec), parent: parent?.id ?? null, counted: null, version: 0, due: null },
    ...{ close_within: closeWithinMs, keep: keepMs, closed: closed?.at ?? null, closed_as: closed?.as ?? null },
    ...{ success_at: fired.success ?? null, complete_at: fired.complete ?? null },
    ...{ death_at: fired.death ?? null, abandoned_at: fired.abandoned ?? null },
    ...{ flow: flow ? 1 : null, waiting: flow ? waiting : null },
    ...countsOf(batch),
  });
}
