/**
 * The client of a simulation: pushes jobs, batches and flows, and notes the replies.
 *
 * @module
 */
import { Client } from "../../src/client/client.ts";
import type { FlowNodes } from "../../src/client/flow_graph.ts";
import type { JobPlan, StepPlan } from "./jobs.ts";
import type { Group } from "./group_rules.ts";
import type { Model } from "./model.ts";
import type { Process } from "./places.ts";
import type { NodePlan } from "./plan.ts";
import type { World } from "./world.ts";

/** A batch that its client doesn't close is abandoned after this time. */
const CLOSE_WITHIN = "1m";

export class Producer {
  /** Requests without a reply. */
  pending = 0;
  readonly #client: Client;
  readonly #model: Model;
  readonly #world: World;

  constructor({ machine, store }: Process, model: Model) {
    this.#client = new Client({ store, clock: machine.clock, onUnregistered: () => {} });
    this.#model = model;
    this.#world = machine.world;
  }

  async push(job: JobPlan): Promise<void> {
    this.#model.sent(job);
    const result = await this.#try(this.#client.tryPush(requestOf(job)));
    if (result !== undefined) this.#model.answered(job, result);
  }

  async pushBulk(jobs: readonly JobPlan[]): Promise<void> {
    jobs.forEach((job) => this.#model.sent(job));
    await this.#try((async () => {
      let n = 0;
      for await (const result of this.#client.pushMany(jobs.map(requestOf))) this.#model.answered(jobs[n++]!, result);
    })());
  }

  /** @param inner members of a batch within it */
  async pushBatch(id: string, jobs: readonly JobPlan[], inner: readonly JobPlan[]): Promise<void> {
    const group: Group = {
      id,
      kind: "batch",
      members: [...jobs, ...inner],
      own: jobs.length,
      isClosing: false,
      isClosed: false,
    };
    this.#model.groups.groups.set(id, group);
    const { batches } = this.#client;
    const fill = async (batch: Awaited<ReturnType<typeof batches.open>>, members: readonly JobPlan[]) => {
      for (const job of members) {
        this.#model.sent(job);
        await batch.add("Work", [job.id, job.spec] as unknown[], job.options);
      }
    };
    await this.#try((async () => {
      const batch = await batches.open({ name: id, closeWithin: CLOSE_WITHIN, ...callbacks(id) });
      group.batch = batch.id;
      await fill(batch, jobs);
      if (inner.length > 0) {
        const nested = await batches.open({ parent: batch.id, closeWithin: CLOSE_WITHIN });
        await fill(nested, inner);
        await nested.close();
      }
      group.isClosing = true;
      await batch.close();
      group.isClosed = true;
      this.#world.note(`batch ${id} is closed`);
    })());
  }

  async pushFlow(id: string, nodes: readonly NodePlan[]): Promise<void> {
    const members = nodes.map(({ job }) => job);
    const after = nodes.map(({ after, onDead }) => ({ before: after, onDead }));
    const group: Group = { id, kind: "flow", members, own: members.length, after, isClosing: true, isClosed: false };
    this.#model.groups.groups.set(id, group);
    const graph = Object.fromEntries(nodes.map(({ job, after, onDead }, i): [string, FlowNodes[string]] => {
      const { in: delay, ...options } = job.options;
      return [`n${i}`, {
        job: ["Work", [job.id, job.spec], options],
        after: after.map((n) => `n${n}`),
        onDead,
        ...(typeof delay === "number" && { in: delay }),
      }];
    }));
    const flow = await this.#try(this.#client.flow(id, graph, callbacks(id)));
    if (flow === undefined) return;
    group.batch = flow.id;
    group.isClosed = true;
    this.#world.note(`flow ${id} is stored`);
  }

  /** @param expires it doesn't run if it isn't begun soon */
  async pushSteps(id: string, steps: readonly StepPlan[], expires: boolean): Promise<void> {
    const saga = { steps, expires, isStored: false };
    this.#model.sagas.set(id, saga);
    const options = expires ? { expires_in: 1 } : {};
    saga.isStored = await this.#try(this.#client.push("Saga", [id, steps] as unknown[], options)) !== undefined;
  }

  /** Resolves with undefined if the store has failed, or may have lost the job: then it is unknown whether it has it. */
  async #try<Result>(reply: Promise<Result>): Promise<Result | undefined> {
    const sentAt = this.#world.time;
    this.pending++;
    try {
      const result = await reply;
      return sentAt > this.#model.undoneAt ? result : undefined;
    } catch (error) {
      this.#world.note(`not acknowledged: ${(error as Error).message}`);
      return undefined;
    } finally {
      this.pending--;
    }
  }
}

function requestOf({ id, spec, options }: JobPlan) {
  return { class: "Work", args: [id, spec] as unknown[], ...options };
}

function callbacks(id: string) {
  const callback = (event: string) => ({ class: "Callback", args: [`${id} ${event}`], queue: "default" });
  return { success: callback("success"), complete: callback("complete") };
}
