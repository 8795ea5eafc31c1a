/**
 * The flow of a running job, as the job's handler uses it (`ctx.flow`).
 *
 * @module
 */
import type { BatchStatus } from "./batches.ts";
import type { Flows } from "./flows.ts";

/** The flow of a running node. */
export class MemberFlow {
  /** The ID of the flow. */
  readonly id: string;
  /** The name of this node. */
  readonly node: string;
  readonly #flows: Flows;

  /** @internal */
  constructor(id: string, node: string, flows: Flows) {
    this.id = id;
    this.node = node;
    this.#flows = flows;
  }

  /**
   * Returns the values that the handlers of nodes returned, by name. A node that returned nothing is missing, and so is one
   * that has not succeeded.
   *
   * @param names default: the nodes directly before this one
   */
  async results(names?: readonly string[]): Promise<Record<string, unknown>> {
    return await this.#flows.results(this.id, names ?? await this.before());
  }

  /** @internal Returns the names of the nodes directly before this one. */
  async before(): Promise<readonly string[]> {
    return await this.#flows.before(this.id, this.node);
  }

  /** Returns the flow with its counters. */
  get(): Promise<BatchStatus | undefined> {
    return this.#flows.get(this.id);
  }
}
