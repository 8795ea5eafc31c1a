/**
 * Flows: jobs that run after each other. Pushes them, reads them and waits for them.
 *
 * @module
 */
import { NODE_FIELD, nodeJid } from "../job/flow.ts";
import { InvalidPayload } from "../job/errors.ts";
import { parseLossless } from "../job/json.ts";
import { setFields } from "../job/raw.ts";
import { type NewNode, type NodePage, SPREAD_LIMIT } from "../store/port/flows.ts";
import { BatchError, batchRefusal } from "./batch_errors.ts";
import type { BatchOptions } from "./batch_options.ts";
import type { BatchPage } from "../store/port/batches.ts";
import { checkListRequest, type ListRequest } from "./list_request.ts";
import type { BatchServices } from "./batch.ts";
import { objectIn } from "./json_object.ts";
import { type Batches, type BatchStatus, checkId } from "./batches.ts";
import { nodeParts } from "./flow_parts.ts";
import { checkGraph, type FlowNodes, type GraphNode } from "./flow_graph.ts";
import type { ClientStore } from "./options.ts";

/** Options of a flow: its callbacks are those of a batch. */
export type FlowOptions = Omit<BatchOptions, "name" | "closeWithin" | "abandoned">;

/** A flow that was pushed. */
export interface PushedFlow {
  /** Its ID. */
  readonly id: string;
  /** The jids of its nodes, by name. */
  readonly jids: Readonly<Record<string, string>>;
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
    checkFlowOptions(options);
    const graph = checkGraph(nodes);
    const id = this.#batches.newId();
    const built: NewNode[] = [];
    for (const [position, node] of graph.entries()) built.push(await this.#build(id, node, position));
    await this.#batches.openFlow(id, { ...options, name, closeWithin: STORE_WITHIN });
    for (const part of nodeParts(built)) {
      const refusal = await store.add(id, part);
      if (refusal !== undefined) throw batchRefusal(id, refusal, "store the nodes of");
    }
    await this.#batches.close(id);
    while (await store.spread(SPREAD_LIMIT));
    return { id, jids: Object.fromEntries(built.map(({ name, jid }) => [name, jid])) };
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
    const texts = await this.#flowStore().results(id, names);
    for (const [i, text] of texts.entries()) {
      // An isolated process receives null for undefined.
      if (text) results[names[i]!] = parseLossless(text);
    }
    return results;
  }

  /** @internal Returns the names of the nodes directly before a node. */
  async before(id: string, name: string): Promise<readonly string[]> {
    return (await this.#flowStore().node(id, name))?.after ?? [];
  }

  /**
   * Cancels a flow: the nodes that wait, and the jobs of the others. Looks through all jobs of the store.
   *
   * @returns how many nodes are cancelled
   * @throws {BatchError} if it doesn't exist, or has ended
   */
  async cancel(id: string): Promise<number> {
    return await this.#batches.cancelFlow(checkId(id, "flow"));
  }

  /**
   * Enqueues the dead nodes of a flow again. Looks through all dead jobs.
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

/** @throws {InvalidPayload} if an option is one of batches only */
function checkFlowOptions(options: FlowOptions): void {
  objectIn("options", options, "an object with the options of a flow");
  for (const name of ["name", "closeWithin", "abandoned"] as const) {
    const { [name]: value } = options as BatchOptions;
    if (value !== undefined) throw new InvalidPayload(name, value, "no such option on a flow");
  }
}
