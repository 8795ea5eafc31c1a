/**
 * Flows: jobs that run after each other. Pushes them, reads them and waits for them.
 *
 * @module
 */
import { InvalidPayload } from "../job/errors.ts";
import { NODE_FIELD, nodeJid } from "../job/flow.ts";
import { parseLossless } from "../job/json.ts";
import { JOB_OPTIONS, type JobOption } from "../job/options.ts";
import { argsText } from "../job/payload.ts";
import { idKey } from "../job/push_keys.ts";
import { setFields } from "../job/raw.ts";
import type { BatchPage } from "../store/port/batches.ts";
import type { NewNode, NodePage } from "../store/port/flows.ts";
import type { BatchServices } from "./batch.ts";
import { BatchError, batchRefusal } from "./batch_errors.ts";
import type { BatchOptions } from "./batch_options.ts";
import { type Batches, type BatchStatus, checkId } from "./batches.ts";
import { checkGraph, type FlowNodes, type GraphNode } from "./flow_graph.ts";
import { objectIn } from "./json_object.ts";
import { checkListRequest, type ListRequest } from "./list_request.ts";
import type { ClientStore } from "./options.ts";
import { uniqueKey, UsedId } from "./unique.ts";

/** Options of a flow: its callbacks are those of a batch. */
export interface FlowOptions extends Omit<BatchOptions, "name" | "closeWithin" | "abandoned"> {
  /**
   * Idempotent push: a later one with the same `id` completes or returns the first flow, also after that flow has ended.
   * With another name or other nodes, it is refused. 1 to 200 characters.
   */
  readonly id?: string;
  /** How long `id` is remembered: seconds, or a duration. Default 1d. The record of the flow is kept at least as long. */
  readonly within?: number | string;
}

/** A flow that was pushed. */
export interface PushedFlow {
  /** Its ID. */
  readonly id: string;
  /** The jids of its nodes, by name. */
  readonly jids: Readonly<Record<string, string>>;
  /** An earlier push with the same `id` had stored the flow. */
  readonly existed?: true;
}

type FlowStore = NonNullable<ClientStore["flows"]>;

/** The nodes of a flow are stored within this time, or none of it runs. */
const STORE_WITHIN = "10m";

/** Pushes flows, reads them and waits for them. */
export class Flows {
  readonly #services: BatchServices;
  readonly #store: FlowStore | undefined;
  readonly #batches: Batches;

  /** @internal */
  constructor(services: BatchServices, store: FlowStore | undefined, batches: Batches) {
    this.#services = services;
    this.#store = store;
    this.#batches = batches;
  }

  /**
   * Pushes a flow. Its jobs run when the nodes before them are done.
   *
   * The graph and every job are checked first. The nodes are stored next, in parts, and the flow starts last: if the
   * program dies in between, nothing of the flow ever runs.
   *
   * @throws {InvalidPayload} if the graph, a job or an option is invalid; nothing is stored then
   */
  async push(name: string, nodes: FlowNodes, options: FlowOptions = {}): Promise<PushedFlow> {
    const store = this.#flowStore();
    if (typeof name !== "string" || name === "") throw new InvalidPayload("name", name, "the name of the flow");
    const { id: key, within, ...batchOptions } = checkFlowOptions(options);
    const graph = checkGraph(nodes);
    let id = this.#batches.newId();
    let built = await this.#buildAll(id, graph);
    const named = idKey("flow", key, within);
    const once = named && { ...named, fingerprint: fingerprintOf(name, graph, built) };
    const opened = await this.#batches.openFlow(id, { ...batchOptions, name, closeWithin: STORE_WITHIN }, once);
    if (opened?.differs) throw new UsedId(once!, opened.first);
    if (opened) {
      id = opened.first;
      const flow = await this.#batches.get(id);
      if (flow === undefined || flow.closedAt !== undefined) return { id, jids: jidsOf(id, graph), existed: true };
      // The program that opened it may have died before it stored all nodes.
      built = await this.#buildAll(id, graph);
    }
    for (const part of nodeParts(built)) {
      const refusal = await store.add(id, part) ?? undefined;
      // Another program that pushes the same flow has stored the rest.
      if (refusal === "closed" && once !== undefined) break;
      if (refusal !== undefined) throw batchRefusal(id, refusal, "store the nodes of");
    }
    await this.#batches.startFlow(id);
    return { id, jids: jidsOf(id, graph) };
  }

  /** Returns a flow with its counters; undefined if it doesn't exist, or its retention has expired. */
  async get(id: string): Promise<BatchStatus | undefined> {
    const batch = await this.#batches.get(checkId(id, "flow"));
    return batch?.flow ? batch : undefined;
  }

  /**
   * Returns a page of flows, latest first. Default limit: 25.
   *
   * @throws {InvalidPayload} if the limit or the cursor is invalid
   */
  async list(request: ListRequest = {}): Promise<BatchPage> {
    return await this.#batches.listFlows(request);
  }

  /**
   * Returns a page of the nodes of a flow, in the order of its definition. Default limit: 100.
   *
   * @throws {InvalidPayload} if the limit or the cursor is invalid
   */
  async nodes(id: string, request: ListRequest = {}): Promise<NodePage> {
    return await this.#flowStore().nodes(checkId(id, "flow"), checkListRequest(request));
  }

  /** Returns the results of nodes, by name. A node without a result is missing. */
  async results(id: string, names: readonly string[]): Promise<Record<string, unknown>> {
    checkId(id, "flow");
    if (!Array.isArray(names) || names.some((name) => typeof name !== "string")) {
      throw new InvalidPayload("names", names, "a list of names of nodes");
    }
    const results: Record<string, unknown> = Object.create(null);
    const { nodes } = await this.#flowStore().nodes(id, { names, results: true });
    for (const { name, result } of nodes) {
      if (result) results[name] = parseLossless(result);
    }
    return results;
  }

  /** @internal Returns the names of the nodes directly before a node. */
  async before(id: string, name: string): Promise<readonly string[]> {
    return (await this.#flowStore().nodes(id, { names: [name] })).nodes[0]?.after ?? [];
  }

  /**
   * Cancels a flow: the nodes that wait, and the jobs of the others. On Redis, looks through all jobs of the store.
   *
   * @returns how many nodes are cancelled
   * @throws {BatchError} if it doesn't exist, or has ended
   */
  async cancel(id: string): Promise<number> {
    return await this.#batches.cancelFlow(checkId(id, "flow"));
  }

  /**
   * Enqueues the dead nodes of a flow again. On Redis, looks through all dead jobs.
   *
   * @returns how many
   * @throws {BatchError} if the flow doesn't exist
   */
  async retry(id: string): Promise<number> {
    return await this.#batches.retryFlow(checkId(id, "flow"));
  }

  /**
   * Waits until each node of a flow has ended, or until the flow is stuck: a node is dead, and others wait for it.
   *
   * @returns the flow at that moment; undefined if `signal` aborts first, or the flow doesn't exist
   */
  async wait(id: string, options: { readonly signal?: AbortSignal } = {}): Promise<BatchStatus | undefined> {
    return await this.#batches.wait(id, options);
  }

  #flowStore(): FlowStore {
    if (this.#store === undefined) {
      throw new BatchError("Flows cannot be pushed or read here: the client's store has none");
    }
    return this.#store;
  }

  async #buildAll(flow: string, graph: readonly GraphNode[]): Promise<NewNode[]> {
    const built: NewNode[] = [];
    for (const [position, node] of graph.entries()) built.push(await this.#build(flow, node, position));
    return built;
  }

  async #build(flow: string, { name, job, after, followers, onDead }: GraphNode, position: number): Promise<NewNode> {
    const jid = nodeJid(flow, position + 1);
    // The class may have these: a node is pushed when its time has come, whatever else there is.
    const off = { unique_for: false, debounce: false, throttle: false } as const;
    const built = await this.#services.build({ ...job, jid, batch: flow, ...off })
      .catch((error) => {
        throw error instanceof InvalidPayload ? error.within(`nodes.${name}`) : error;
      });
    if (built === undefined) throw new BatchError(`Cannot push the flow: middleware stopped its node "${name}"`);
    return {
      ...{ name, position, jid, onDead, after, followers },
      class: typeof job.class === "string" ? job.class : job.class.class,
      queue: built.queue,
      ...(built.group !== undefined && { group: built.group }),
      payload: setFields(built.payload, { [NODE_FIELD]: JSON.stringify(name) }),
      ...(built.delayMs !== undefined && { delayMs: built.delayMs }),
      ...(built.at !== undefined && { at: built.at }),
    };
  }
}

/** @throws {InvalidPayload} if an option is one of batches only, or `id` or `within` is invalid */
function checkFlowOptions(options: FlowOptions): FlowOptions {
  objectIn("options", options, "an object with the options of a flow");
  for (const name of ["name", "closeWithin", "abandoned"] as const) {
    const { [name]: value } = options as BatchOptions;
    if (value !== undefined) throw new InvalidPayload(name, value, "no such option on a flow");
  }
  for (const name of ["id", "within"] as const) {
    if (options[name] !== undefined) (JOB_OPTIONS[name] as JobOption).kind.write(name, options[name]);
  }
  return options;
}

function jidsOf(id: string, graph: readonly GraphNode[]): Record<string, string> {
  return Object.fromEntries(graph.map(({ name }, i) => [name, nodeJid(id, i + 1)]));
}

/** Returns a digest of what a flow does. As for jobs, options such as `retry` and `at` don't count. */
function fingerprintOf(name: string, graph: readonly GraphNode[], built: readonly NewNode[]): string {
  const nodes = graph.map(({ name, job: { args = [] }, after, onDead }, i) =>
    `${JSON.stringify([name, after, onDead, built[i]!.class, built[i]!.queue])}${argsText(args)}`
  );
  return uniqueKey(name, "", nodes.join("\n"));
}

/** Nodes of one call to the store: this many, or as many as come to {@linkcode MAX_PART_CHARS}. */
const MAX_PART = 250;
const MAX_PART_CHARS = 1024 * 1024;

/** Splits nodes into parts that a store takes in one step. */
function* nodeParts(nodes: readonly NewNode[]): Generator<readonly NewNode[]> {
  let part: NewNode[] = [];
  let chars = 0;
  for (const node of nodes) {
    const size = node.payload.length + 8 * (node.after.length + node.followers.length);
    if (part.length > 0 && (part.length >= MAX_PART || chars + size > MAX_PART_CHARS)) {
      yield part;
      [part, chars] = [[], 0];
    }
    part.push(node);
    chars += size;
  }
  if (part.length > 0) yield part;
}
