/**
 * The operator of a simulation: does the actions of the command line and the dashboard, at any moment.
 *
 * @module
 */
import { act } from "../../src/operator/actions/act.ts";
import type { AnyAction, ClientTools } from "../../src/operator/actions/action.ts";
import {
  cancelBatch,
  cancelFlow,
  checkBatchCounts,
  retryBatch,
  retryFlow,
} from "../../src/operator/actions/batches.ts";
import { editJobs } from "../../src/operator/actions/jobs.ts";
import { limitGroup, limitQueue, pauseQueue } from "../../src/operator/actions/queues.ts";
import { clearSteps, rerunSteps, signal, wakeSteps } from "../../src/operator/actions/steps.ts";
import { InvalidInput } from "../../src/operator/shapes/shape.ts";
import { parseStarts } from "../../src/store/port/limits.ts";
import { HOOK } from "./hook_rules.ts";
import type { StepPlan } from "./jobs.ts";
import type { Link } from "./link.ts";
import type { Ground } from "./ground.ts";
import type { Model } from "./model.ts";
import type { Process } from "./places.ts";
import type { Deed } from "./plan.ts";
import type { World } from "./world.ts";

export type Edit = "retry" | "kill" | "cancel" | "delete" | "move";
export type BatchEdit = "cancel" | "retry" | "check";
export type StepsEdit = "clear" | "rerun" | "wake" | "kill";

const BATCH_ACTIONS: Readonly<Record<BatchEdit, AnyAction>> = {
  cancel: cancelBatch,
  retry: retryBatch,
  check: checkBatchCounts,
};
const FLOW_ACTIONS: Readonly<Record<BatchEdit, AnyAction>> = {
  cancel: cancelFlow,
  retry: retryFlow,
  check: checkBatchCounts,
};
const STEPS_ACTIONS = { clear: clearSteps, rerun: rerunSteps, wake: wakeSteps };

export class Operator {
  readonly link: Link;
  readonly #tools: ClientTools;
  readonly #ground: Ground;
  readonly #model: Model;
  readonly #world: World;
  /** The latest change of a queue's limit. */
  readonly #limiting = new Map<string, Promise<unknown>>();

  constructor({ machine, link, store }: Process, ground: Ground, model: Model) {
    const tools = { store, clock: machine.clock, record: () => Promise.resolve() };
    // None of the actions here pushes jobs.
    this.#tools = tools as unknown as ClientTools;
    this.link = link;
    this.#ground = ground;
    this.#model = model;
    this.#world = machine.world;
  }

  /** Sends a signal with a number of it alone. */
  signal(key: string): void {
    const data = this.#model.steps.newSignal();
    void this.#act(signal, { key, data }).then((result) => result && this.#model.steps.sent(data, key));
  }

  pause(queue: string, forMs: number): void {
    void this.#act(pauseQueue, { name: queue, for: `${forMs}ms` });
  }

  /** Limits a queue; of the one with groups, each group, which always has the limit of running jobs. */
  limit({ queue, running, starts }: Extract<Deed, { readonly do: "limit" }>): void {
    const { limits, starts: rules } = this.#model;
    limits.delete(queue);
    rules.limited(queue, undefined);
    const input = { name: queue, ...(running !== undefined && { running }), ...(starts !== undefined && { starts }) };
    const doing = this.#act(queue === "grouped" ? limitGroup : limitQueue, input);
    this.#limiting.set(queue, doing);
    void doing.then((result) => {
      if (!result || this.#limiting.get(queue) !== doing) return;
      if (running !== undefined) limits.set(queue, { running, since: this.#world.time });
      if (starts !== undefined) rules.limited(queue, parseStarts(starts));
    });
  }

  /** Edits one of the jobs in the store, a running one if it cancels. Returns the worker that has it. */
  async edit(how: Edit, nth: number): Promise<string | undefined> {
    // The end of a job whose notice an operator deletes isn't announced.
    const all = (await this.#ground.look()).jobs.filter(({ jid }) => !jid.endsWith(`-${HOOK.name}`));
    const running = how === "cancel" ? all.filter(({ worker }) => worker !== undefined) : [];
    const jobs = running.length > 0 ? running : all;
    if (jobs.length === 0) return undefined;
    const { jid, worker } = jobs[nth % jobs.length]!;
    this.#model.touchJob(jid);
    const input = { action: how, jids: [jid], ...(how === "move" && { queue: "low" }) };
    void this.#act(editJobs, input).then((result) => {
      if (how === "cancel" && (result as { changed: number } | undefined)?.changed === 1) this.#model.cancelled(jid);
    });
    return worker;
  }

  /** Edits one of the batches and flows in the store. */
  async editBatch(how: BatchEdit, nth: number): Promise<void> {
    const { batches } = await this.#ground.look();
    if (batches.length === 0) return;
    const { id, isFlow } = batches.at(nth % batches.length)!;
    if (how !== "check") this.#model.touchGroups();
    if (how === "retry") this.#model.retriedGroup();
    void this.#act((isFlow ? FLOW_ACTIONS : BATCH_ACTIONS)[how], { id });
  }

  /** Edits the steps of one of the jobs that have steps: the step that waits for a child, if one does. */
  editSteps(how: StepsEdit, nth: number): void {
    const { sagas, steps: { parents } } = this.#model;
    const ids = [...(how !== "wake" && parents.size > 0 ? parents : sagas).keys()];
    const id = ids[nth % Math.max(1, ids.length)];
    const jid = id && this.#model.runsOf(id)[0]?.jid;
    if (!jid) return;
    const { steps } = sagas.get(id)!;
    const name = parents.get(id) ?? `${steps[nth % steps.length]!.kind}${nth % steps.length}`;
    if (how === "kill") return this.#killWaiting(id, jid, steps);
    this.#model.touchSteps(id);
    void this.#act(STEPS_ACTIONS[how], { jid, ...(how === "rerun" && { name }) }).then((result) => {
      if (how !== "wake" && result) this.#model.steps.cleared(jid);
    });
  }

  /** Kills a job that may wait for a signal, and then sends one. */
  #killWaiting(id: string, jid: string, steps: readonly StepPlan[]): void {
    this.#model.touchJob(jid);
    void this.#act(editJobs, { action: "kill", jids: [jid] }).then((result) => {
      if ((result as { changed: number } | undefined)?.changed !== 1) return;
      this.#model.steps.killed(id);
      for (const step of steps) if (step.kind === "wait") this.signal(step.key);
    });
  }

  /** Does an action, which may be refused, but not for its input. Returns its result; undefined if it failed. */
  async #act(action: AnyAction, input: Readonly<Record<string, unknown>>): Promise<unknown> {
    const sentAt = this.#world.time;
    try {
      const result = await act(this.#tools, { user: "operator", by: "cli", from: "" }, action, input);
      // It may have been undone.
      return sentAt > this.#model.undoneAt ? result : undefined;
    } catch (error) {
      if (error instanceof InvalidInput) this.#world.fail("inputs are valid", `${action.name}: ${error.message}`);
      this.#world.note(`${action.name}: ${(error as Error).message}`);
      return undefined;
    }
  }
}
