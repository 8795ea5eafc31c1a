/**
 * The jobs that follow when an operator has ended a job: those of webhooks.
 *
 * @module
 */
import { JidMaker } from "../../job/jid.ts";
import { parsePayload } from "../../job/job.ts";
import { deliveriesOf, jobNotice, type Subscription } from "../../job/webhook.ts";
import type { NewJob } from "../port/jobs.ts";

const IDS = new JidMaker();

/** Returns the webhook jobs of a dead or cancelled job; none for an unreadable one. */
export function followsOf(
  subscriptions: readonly Subscription[],
  payload: string,
  { type, at }: { readonly type: "dead" | "cancelled"; readonly at: number },
): readonly NewJob[] {
  const job = subscriptions.length === 0 ? undefined : parsePayload(payload);
  return job === undefined ? [] : deliveriesOf(subscriptions, ...jobNotice(job, { id: IDS.next(at), type, at }));
}
