/**
 * Actions on batches and flows: open, close, cancel, retry the dead, push a flow.
 *
 * @module
 */
import { BatchError, retryRefusal } from "../../client/batch_errors.ts";
import { type BatchOptions, parseBatchOptions } from "../../client/batch_options.ts";
import { type FlowDefinition, parseFlow } from "../../client/flow_text.ts";
import type { PushedFlow } from "../../client/flows.ts";
import { UsedId } from "../../client/unique.ts";
import { BATCH_EVENTS } from "../../job/batch.ts";
import { InvalidPayload } from "../../job/errors.ts";
import { requireZone } from "../../job/time.ts";
import type { JobRequest } from "../../job/payload.ts";
import { cancelMembers, retryMembers } from "../../store/ops/batches.ts";
import type { Batch } from "../../store/port/batches.ts";
import type { Visitor } from "../auth/gate.ts";
import { HttpError } from "../http/body.ts";
import type { Services } from "../services.ts";
import { recordAudit } from "../audit.ts";
import { type ActionResult, WAIT_MS } from "./jobs.ts";
import { type Warnings, warningsOf } from "./warnings.ts";

/** The result of a cancel. */
export interface CancelResult extends ActionResult {
  /** An earlier cancel has closed the batch. */
  readonly alreadyCancelled?: true;
}

/** `batch`, or `flow`. */
export type BatchKind = "batch" | "flow";

/**
 * Returns a batch or a flow.
 *
 * @throws {HttpError} if there is none with this ID
 */
export async function findBatch({ store }: Services, kind: BatchKind, id: string): Promise<Batch> {
  const batch = (await store.batches.read({ ids: [id] })).batches[0];
  if (batch !== undefined && (batch.flow ?? false) === (kind === "flow")) return batch;
  const name = kind === "flow" ? "Flow" : "Batch";
  if (batch !== undefined) {
    throw new HttpError(404, `${name} "${id}" not found: it is a ${kind === "flow" ? "batch" : "flow"}`);
  }
  throw new HttpError(404, `${name} "${id.slice(0, 80)}" not found: it doesn't exist, or its retention has expired`);
}

/**
 * Cancels a batch or a flow, and its jobs. With many jobs, it continues in the background. Another cancel continues one that was
 * interrupted.
 *
 * @throws {HttpError} if it has ended
 */
export async function cancel(
  services: Services,
  visitor: Visitor,
  kind: BatchKind,
  id: string,
): Promise<CancelResult> {
  const { pending: total } = await findBatch(services, kind, id);
  const { store, clock } = services;
  const closed = await store.batches.close(id, "cancelled");
  if (closed?.closedAs !== "cancelled") throw new HttpError(409, `Can't cancel ${kind} "${id}": it has ended`);
  const task = { action: `${kind} cancel`, target: `${kind}:${id}`, total };
  const steps = cancelMembers(store, id, closed, () => clock.now());
  const result = await changeMembers(services, visitor, { ...task, steps });
  return closed.done ? result : { ...result, alreadyCancelled: true };
}

/**
 * Requeues the dead jobs of a batch or a flow. With many jobs, it continues in the background.
 *
 * @throws {HttpError} if it was cancelled
 */
export async function retry(services: Services, visitor: Visitor, kind: BatchKind, id: string): Promise<ActionResult> {
  const batch = await findBatch(services, kind, id);
  const refusal = retryRefusal(kind, batch);
  if (refusal !== undefined) throw new HttpError(409, refusal);
  const task = { action: `${kind} retry`, target: `${kind}:${id}`, total: batch.dead };
  return await changeMembers(services, visitor, { ...task, steps: retryMembers(services.store, id) });
}

/** Changes jobs in steps: a batch may have many members, and Redis has no index of them, so that all jobs of the store are read. */
async function changeMembers(
  services: Services,
  visitor: Visitor,
  { action, target, total, steps }: {
    readonly action: string;
    readonly target: string;
    readonly total: number;
    readonly steps: AsyncIterable<number>;
  },
): Promise<ActionResult> {
  const label = `${action} ${target.slice(target.indexOf(":") + 1)}`;
  const changed = await services.operations.run({ label, total, waitMs: WAIT_MS }, async (progress) => {
    let count = 0;
    try {
      for await (const more of steps) {
        count += more;
        progress(more);
        await services.clock.turn();
      }
    } finally {
      await recordAudit(services, visitor, { action }, { target, count });
    }
  });
  return changed === undefined ? {} : { changed };
}

/**
 * Opens a batch. Returns its ID.
 *
 * @param text its options as JSON
 * @throws {HttpError} if an option is invalid
 */
export function openBatch(
  services: Services,
  visitor: Visitor,
  text: string,
): Promise<{ readonly id: string } & Warnings> {
  return withErrors(async () => {
    const options = parseBatchOptions(text);
    const { id } = await services.client.batches.open(options);
    await recordAudit(services, visitor, { action: "batch open", id }, { target: `batch:${id}` }, "frequent");
    return { id, ...warningsOf(services, callbackClasses(options)) };
  });
}

/**
 * Closes a batch. Closing it again changes nothing.
 *
 * @throws {HttpError} if it was cancelled or abandoned
 */
export async function closeBatch(services: Services, visitor: Visitor, id: string): Promise<void> {
  await findBatch(services, "batch", id);
  await withErrors(() => services.client.batches.close(id));
  await recordAudit(services, visitor, { action: "batch close", id }, { target: `batch:${id}` }, "frequent");
}

/**
 * Pushes a flow.
 *
 * @param text its definition as JSON
 * @param id identifies the push unless the definition has an `id`
 * @throws {HttpError} if it is invalid
 */
export function pushFlow(
  services: Services,
  visitor: Visitor,
  text: string,
  id: string | undefined,
): Promise<PushedFlow & Warnings> {
  return withErrors(async () => {
    const { name, nodes, options }: FlowDefinition = parseFlow(text);
    for (const [name, { job }] of Object.entries(nodes)) requireZone((job as JobRequest).at, `nodes.${name}.at`);
    const flow = await services.client.flow(name, nodes, { ...(id !== undefined && { id }), ...options });
    if (flow.existed) return flow;
    await recordAudit(
      services,
      visitor,
      { action: "flow push", id: flow.id },
      { target: `flow:${flow.id}` },
      "frequent",
    );
    const nodeClasses = Object.values(nodes).map(({ job }) => (job as JobRequest).class);
    return { ...flow, ...warningsOf(services, [...nodeClasses, ...callbackClasses(options)]) };
  });
}

/** Returns the classes of callbacks that were stored: as JSON has them, by name. */
function callbackClasses(options: BatchOptions): string[] {
  return BATCH_EVENTS.flatMap((event) => options[event] === undefined ? [] : [options[event].class as string]);
}

async function withErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof UsedId) throw new HttpError(409, `Flow not stored: ${error.message}`, error.field);
    if (error instanceof InvalidPayload) throw new HttpError(422, error.message, error.field);
    if (error instanceof BatchError) throw new HttpError(409, error.message);
    throw error;
  }
}
