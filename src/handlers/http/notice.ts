/**
 * The message of a webhook: the event of its job, in the format of the webhook.
 *
 * @module
 */
import { Discard } from "../../job/errors.ts";
import type { WebhookFormat } from "../../job/endpoint.ts";
import { stringifyLossless } from "../../job/json.ts";
import type { Notice } from "../../job/webhook.ts";

/** A message to send. */
export interface Message {
  /** Identifies it: the same in each attempt. */
  readonly id: string;
  readonly body: string;
}

/** @throws {Discard} if the arguments aren't those of a webhook's job: a program has pushed them */
export function noticeMessage(format: WebhookFormat, args: readonly unknown[]): Message {
  const notice = args[0] as Notice | null | undefined;
  const { id, type, at, data } = Object(notice) as Partial<Notice>;
  const isNotice = typeof id === "string" && /^[\w-]{1,128}$/.test(id) && typeof type === "string" &&
    typeof at === "number" && !Number.isNaN(new Date(at).getTime()) && typeof data === "object" && data !== null;
  if (!isNotice) {
    const message = "Not a job of a webhook: expected the arguments that jobs writes itself";
    // The stack of the worker says nothing about the job.
    throw Object.assign(new Discard(message), { stack: "" });
  }
  const body = format === "slack"
    ? { text: textOf({ id, type, at, data }) }
    : { type, timestamp: new Date(at).toISOString(), data };
  return { id, body: stringifyLossless(body)! };
}

/** Returns a line for people. */
function textOf({ type, data }: Notice): string {
  const { class: name, jid, error, entry, count, state, total, title, detail, id } = data as Readonly<
    Record<string, string | undefined>
  >;
  const named = data["name"] === undefined ? id : `"${data["name"]}" (${id})`;
  switch (type) {
    case "batch.complete":
      return escaped(`Batch ${named}: ${state}, ${countsOf(data)} of ${total}`);
    case "flow.ended":
      return escaped(`Flow ${named}: ${state}, ${countsOf(data)} of ${total}`);
    case "cron.missed":
      return escaped(`Cron entry "${entry}" missed ${count} ${Number(count) === 1 ? "run" : "runs"}`);
    case "alert":
      return escaped([title, detail].filter(Boolean).join(": "));
    default: {
      const { class: errorClass, message } = Object(error) as { readonly class?: string; readonly message?: string };
      return escaped(`${name} ${jid}: ${type}${errorClass === undefined ? "" : `, ${errorClass}: ${message}`}`);
    }
  }
}

function countsOf(data: Notice["data"]): string {
  const counted = ["succeeded", "dead", "failed", "cancelled", "expired", "deleted"].filter((name) => data[name] !== 0);
  return counted.map((name) => `${data[name]} ${name}`).join(", ") || "0";
}

/** Slack reads these characters as markup. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
