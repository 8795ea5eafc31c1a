/**
 * Webhooks that no worker delivers: their classes are internal, so that no handler can be written for them. Pure.
 *
 * @module
 */
import { WEBHOOK_CLASS, WEBHOOK_QUEUE } from "../job/webhook.ts";
import { shellWord } from "./shell.ts";

/** Returns the name of the webhook whose notices have this class; undefined for other classes. */
export function webhookOf(className: string | undefined): string | undefined {
  return className?.startsWith(WEBHOOK_CLASS) === true ? className.slice(WEBHOOK_CLASS.length) : undefined;
}

/** Returns why the notices of a webhook wait, and the cures, as sentences. */
export function missingWebhook(name: string): string {
  return `No online worker has the webhook "${name}" in its configuration: it was renamed or removed, or its workers have stopped. ` +
    `Add it to webhooks and start a worker, or delete its notices: ${deleteNotices(name)}.`;
}

/** Returns the command that lists the notices of a webhook. */
export function listNotices(name: string): string {
  return `jobs list queued -q ${WEBHOOK_QUEUE} --class ${shellWord(WEBHOOK_CLASS + name)}`;
}

function deleteNotices(name: string): string {
  return `jobs delete --all queued -q ${WEBHOOK_QUEUE} --class ${shellWord(WEBHOOK_CLASS + name)}`;
}
