/**
 * Webhooks: requests to other systems when something has ended. A request is a job of an internal class, which is stored in the step
 * that ends what it is about.
 *
 * The store keeps the **subscriptions**: which webhook gets which events. The rest of a webhook, such as its URL and its secrets, is in
 * the configuration of the workers that deliver.
 *
 * @module
 */
import { BATCH_FIELD } from "./batch.ts";
import type { Job } from "./job.ts";
import { parseLossless, stringifyLossless } from "./json.ts";

/** How a job ends. */
export type JobEnd = "succeeded" | "dead" | "failed" | "cancelled" | "expired";

/** An event that a webhook may ask for. */
export type WebhookEvent = JobEnd | "batch.complete" | "flow.ended" | "cron.missed" | "alert";

/** How a job ends, as a webhook may ask for it. */
export const JOB_ENDS: readonly JobEnd[] = ["succeeded", "dead", "failed", "cancelled", "expired"];

/** The events that a webhook may ask for. */
export const WEBHOOK_EVENTS: readonly WebhookEvent[] = [
  ...JOB_ENDS,
  "batch.complete",
  "flow.ended",
  "cron.missed",
  "alert",
];

/** The class of the jobs of a webhook is this and its name. */
export const WEBHOOK_CLASS = "webhook:";

/** The queue of the jobs of webhooks. */
export const WEBHOOK_QUEUE = "webhooks";

/** The field of a payload with the names of the webhooks that its job notifies, whatever they are subscribed to. */
export const NOTIFY_FIELD = "notify";

/** A notice has no longer results, in characters of JSON, and of a longer message the beginning. */
const MAX_RESULT = 4_096;
const MAX_MESSAGE = 1_000;

/** Which events a webhook gets. The stores keep this as JSON, and the scripts of Redis read it. */
export interface Subscription {
  /** Letters, digits and `_ . -`. */
  readonly name: string;
  /** Absent: only those of the jobs, batches and flows that name the webhook. */
  readonly on?: readonly WebhookEvent[];
  /** Patterns of classes; of jobs and cron entries, one must match. Absent: any. */
  readonly class?: readonly string[];
  /** Patterns of queues, likewise. */
  readonly queue?: readonly string[];
}

/** Something that has happened: the argument of the jobs that send it. */
export interface Notice {
  /** The same in each delivery of this event, also if an operator repeats it. Letters, digits and `-`. */
  readonly id: string;
  readonly type: WebhookEvent;
  /** Epoch milliseconds. */
  readonly at: number;
  /** The job, batch, entry or alert. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** The subject of a notice, for the patterns of subscriptions. */
export interface Subject {
  readonly class?: string;
  readonly queue?: string;
  /** The webhooks that it names. */
  readonly notify?: readonly string[];
}

/** A job that delivers a notice to one webhook. */
export interface Delivery {
  readonly jid: string;
  readonly queue: string;
  readonly payload: string;
}

/** Returns the webhooks that a field or an option names; those that aren't texts are left out. */
export function notifiedBy(value: unknown): string[] {
  return [value].flat().filter((name) => typeof name === "string");
}

/** Returns the notice of a job's end, and what it is about. */
export function jobNotice(
  { jid, class: className, attempt, payload }: Job,
  { id, type, at, error, result }: {
    readonly id: string;
    readonly type: JobEnd;
    readonly at: number;
    readonly error?: { readonly class: string; readonly message: string } | undefined;
    /** JSON. */
    readonly result?: string | undefined;
  },
): readonly [Notice, Subject] {
  const { tags, [BATCH_FIELD]: batch, [NOTIFY_FIELD]: notify } = payload;
  const queue = typeof payload.queue === "string" ? payload.queue : "default";
  const data = {
    ...{ jid, class: className, queue, attempt },
    ...(typeof batch === "string" && { batch }),
    ...(Array.isArray(tags) && tags.length > 0 && { tags }),
    ...(error && { error: { class: error.class, message: error.message.slice(0, MAX_MESSAGE).toWellFormed() } }),
    ...(result !== undefined && result.length <= MAX_RESULT && { result: parseLossless(result) }),
  };
  return [{ id, type, at, data }, { class: className, queue, notify: notifiedBy(notify) }];
}

/** Returns the jobs that deliver a notice: one for each webhook that gets it. */
export function deliveriesOf(
  subscriptions: readonly Subscription[],
  notice: Notice,
  subject: Subject = {},
): Delivery[] {
  // The end of a webhook's job would send another one, without end.
  if (subject.class?.startsWith(WEBHOOK_CLASS)) return [];
  return subscriptions.filter((one) => isSubscribed(one, notice.type, subject)).map(({ name }) => {
    const jid = `${notice.id}-${name}`;
    const payload = { class: WEBHOOK_CLASS + name, args: [notice], jid, queue: WEBHOOK_QUEUE, retry: true };
    return { jid, queue: WEBHOOK_QUEUE, payload: stringifyLossless({ ...payload, created_at: notice.at / 1_000 })! };
  });
}

function isSubscribed(
  { name, on, class: classes, queue: queues }: Subscription,
  type: WebhookEvent,
  { class: className, queue, notify = [] }: Subject,
): boolean {
  if (on !== undefined && !on.includes(type)) return false;
  if (notify.includes(name)) return true;
  return on !== undefined && fits(classes, className) && fits(queues, queue);
}

/** Batches and alerts have no class and no queue. */
function fits(patterns: readonly string[] | undefined, name: string | undefined): boolean {
  return patterns === undefined || name === undefined || patterns.some((pattern) => matches(pattern, name));
}

/** Returns whether a name matches a pattern, in which `*` stands for any characters. */
export function matches(pattern: string, name: string): boolean {
  const [first, ...parts] = pattern.split("*");
  if (parts.length === 0) return pattern === name;
  if (!name.startsWith(first!)) return false;
  const last = parts.pop()!;
  let at = first!.length;
  for (const part of parts) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
