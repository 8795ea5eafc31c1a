/**
 * The bounds of an author: queues, keys of signals, and whether it may delete. An action states how they apply to it. Without that
 * statement, an author that is limited to queues or keys may not use it.
 *
 * @module
 */
import { parsePayload } from "../../job/job.ts";
import type { Store } from "../../store/admin/store.ts";
import type { Entry } from "../../store/port/entries.ts";
import { compileGlob } from "../query/filter.ts";
import { type Action, Refused } from "./action.ts";

/** Bounds an author. An absent part bounds nothing. */
export interface Scope {
  /** The classes that it may push. */
  readonly classes?: readonly string[];
  /** The queues in which it may act, or to which it may push. */
  readonly queues?: readonly string[];
  /** The keys of signals that it may send; `*` stands for any characters. */
  readonly keys?: readonly string[];
  /** False: it may not delete jobs, nor results of steps. */
  readonly deletes?: false;
}

/**
 * How an action stays within queues and keys:
 *
 * - queues: it acts on these alone
 * - `jobs`: it acts on jobs, and checks the queue of each before any change
 * - `pushes`: `Tools.bounds` checks each push
 * - `signal`: it sends the signal of its input's `key`
 */
export type Within = readonly string[] | "jobs" | "pushes" | "signal";

/** Refuses an action that is outside of its author's scope. @throws {Refused} */
export function checkScope<In>(
  scope: Scope | undefined,
  { name, deletes, within: withinOf }: Pick<Action<In, unknown>, "name" | "deletes" | "within">,
  given: In,
): void {
  if (scope === undefined) return;
  if (scope.deletes === false && deletes?.(given)) {
    throw forbidden(`Your role deletes nothing (delete=no): "${name}" is refused; expected retry, kill, move or pause`);
  }
  const within = withinOf?.(given);
  if (within === "signal") return checkKey(scope, (given as { readonly key: string }).key);
  const { queues } = scope;
  if (queues === undefined || within === "jobs" || within === "pushes") return;
  if (within === undefined) {
    throw forbidden(`Your role is limited to ${queuesText(queues)}: "${name}" acts on more than that`);
  }
  for (const queue of within) checkQueueScope(scope, queue);
}

/** @throws {Refused} if the queue is outside of the scope */
export function checkQueueScope(scope: Scope | undefined, queue: string, field?: string): void {
  if (inQueues(scope, queue)) return;
  const expected = scope!.queues!.join(", ");
  throw forbidden(`Queue "${queue.slice(0, 80)}" is outside of your role; expected ${expected}`, field);
}

/** Returns whether a scope includes a queue. */
export function inQueues(scope: Scope | undefined, queue: string): boolean {
  return scope?.queues?.includes(queue) ?? true;
}

/** Returns whether a scope includes the key of a signal. An author that is limited to queues sends only the signals it lists. */
export function inKeys({ keys, queues }: Scope, key: string): boolean {
  return keys === undefined ? queues === undefined : keys.some((pattern) => compileGlob(pattern)(key));
}

function checkKey(scope: Scope, key: string): void {
  if (inKeys(scope, key)) return;
  const expected = scope.keys === undefined
    ? `your role is limited to ${queuesText(scope.queues!)}; keys of signals are added as key=order:*`
    : `it is outside of your role; expected ${scope.keys.join(", ")}`;
  throw forbidden(`Signal "${key.slice(0, 80)}" not sent: ${expected}`, "key");
}

/** Returns why a job is outside of a scope; undefined if it isn't. The queue of an unreadable one is unknown: outside. */
export function outsideText(scope: Scope | undefined, { place, payload }: Entry): string | undefined {
  if (scope?.queues === undefined) return undefined;
  const job = parsePayload(payload);
  const named = job?.payload.queue;
  const queue = place.in === "queue" ? place.queue : typeof named === "string" && named !== "" ? named : "default";
  if (place.in === "queue" ? inQueues(scope, queue) : job !== undefined && inQueues(scope, queue)) return undefined;
  const where = job === undefined ? "is unreadable" : `"${job.jid.slice(0, 80)}" is in queue "${queue}"`;
  return `Job ${where}, which is outside of your role; expected ${scope.queues.join(", ")}`;
}

/** Refuses jobs of which one is outside of a scope. @throws {Refused} */
export function checkEntries(scope: Scope | undefined, entries: readonly Entry[]): void {
  const reason = entries.map((entry) => outsideText(scope, entry)).find((text) => text !== undefined);
  if (reason !== undefined) throw forbidden(reason);
}

/** Refuses a job of this jid that is outside of a scope, in any of its places. @throws {Refused} */
export async function checkJid(
  { store, scope }: { readonly store: Pick<Store, "jobs">; readonly scope?: Scope },
  jid: string,
): Promise<void> {
  if (scope?.queues !== undefined) checkEntries(scope, await store.jobs.find([jid]));
}

function queuesText(queues: readonly string[]): string {
  return `${queues.length === 1 ? "queue" : "queues"} ${queues.join(", ")}`;
}

function forbidden(message: string, field?: string): Refused {
  return new Refused("forbidden", message, field === undefined ? {} : { field });
}
