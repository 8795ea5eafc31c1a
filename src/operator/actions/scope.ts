/**
 * The bounds of an author: classes, queues, keys of signals, and whether it may delete. They hold for effects, whatever causes them:
 *
 *  1. An action states its effects (`deletes`, `within`). Without that statement, an author that is limited to queues or keys may not
 *     use it.
 *  2. Each push is checked with the options of its class, whether it happens now or later: a job, a node, a callback, a child, a
 *     member (`web/auth/push_scope.ts`).
 *  3. A worker ends jobs in any way, so that only an author that may do so performs any ({@linkcode checkPerforms}).
 *
 * @module
 */
import { parsePayload } from "../../job/job.ts";
import { replacingOption } from "../../job/push_keys.ts";
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
  /** The keys of signals that it may send, or that its jobs may wait for; `*` stands for any characters. */
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
    throw deletesNothing(`"${name}" is refused; expected retry, kill, move or pause`);
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

/**
 * Refuses a push that would take the place of a job that waits: its arguments would be lost.
 *
 * @param fields the push with the options of its class
 * @throws {Refused}
 */
export function checkReplaces(scope: Scope | undefined, fields: Readonly<Record<string, unknown>>): void {
  const option = scope?.deletes === false ? replacingOption(fields) : undefined;
  if (option === undefined) return;
  const expected = option === "debounce" ? '"debounce": false' : '"on_duplicate": "keep"';
  throw deletesNothing(`"${option}" may replace a job that waits; expected ${expected}`, option);
}

/**
 * Refuses a worker's requests to an author that isn't one: a worker drops jobs, ends and postpones them.
 *
 * @throws {Refused}
 */
export function checkPerforms({ role, scope }: { readonly role: string; readonly scope?: Scope }): void {
  if (role !== "operator" || scope === undefined) return;
  throw forbidden(
    "Your role (operator, with limits) performs no jobs, because a worker may end them in any way; " +
      "a worker needs a token of the role work: jobs web --new-token NAME --role work",
  );
}

/**
 * Refuses a wait for a signal that may be meant for others: it would consume it. An author with limits has the keys that it lists, and
 * those that begin with its name.
 *
 * @throws {Refused}
 */
export function checkWait({ name, scope }: { readonly name: string; readonly scope?: Scope }, key: string): void {
  if (scope === undefined || key.startsWith(`${name}:`) || scope.keys?.some((pattern) => compileGlob(pattern)(key))) {
    return;
  }
  const listed = scope.keys === undefined ? "" : `${scope.keys.join(", ")}, or `;
  const cure = scope.keys === undefined ? "; keys of others are added to the role as key=order:*" : "";
  throw forbidden(
    `Signal "${key.slice(0, 80)}" is outside of your role; expected ${listed}a key that begins with "${name}:"${cure}`,
    "options.key",
  );
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

function deletesNothing(why: string, field?: string): Refused {
  return forbidden(`Your role deletes nothing (delete=no): ${why}`, field);
}

function queuesText(queues: readonly string[]): string {
  return `${queues.length === 1 ? "queue" : "queues"} ${queues.join(", ")}`;
}

function forbidden(message: string, field?: string): Refused {
  return new Refused("forbidden", message, field === undefined ? {} : { field });
}
