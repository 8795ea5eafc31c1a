/**
 * Jobs of lists, with secrets masked as on the dashboard.
 *
 * @module
 */
import { decodeBacktrace, encodeBacktrace } from "../../job/failure.ts";
import type { Payload } from "../../job/job.ts";
import { stringifyLossless } from "../../job/json.ts";
import type { EndedJob } from "../../job/result.ts";
import type { WaitingNode } from "../../operator/query/waiting_nodes.ts";
import { readablePayload } from "../../text/job_json.ts";
import type { Mask } from "../../text/mask.ts";

/** Returns an entry with its payload masked. */
export function maskedEntry<Job extends { readonly payload: string }>(entry: Job, mask: Mask): Job {
  const payload = readablePayload(entry);
  if (payload === undefined) return { ...entry, payload: mask.json(entry.payload) };
  const shown: Payload = mask.payload(payload);
  const packed = {
    ...maskedLines(payload, "error_backtrace", mask),
    ...maskedLines(payload, "error_output", mask),
  };
  return { ...entry, payload: stringifyLossless({ ...shown, ...packed })! };
}

function maskedLines(payload: Payload, field: "error_backtrace" | "error_output", mask: Mask): Partial<Payload> {
  const lines = decodeBacktrace(payload[field])?.map((line) => mask.text(line));
  return lines === undefined ? {} : { [field]: encodeBacktrace(lines) };
}

/** Returns a waiting node with its payload masked. */
export function maskedNode({ flow, node }: WaitingNode, mask: Mask): WaitingNode {
  const { payload } = node;
  return { flow, node: payload === undefined ? node : maskedEntry({ ...node, payload }, mask) };
}

/** Returns the record of a finished job with its payload, result, error and log masked. */
export function maskedEnded({ payload, ...ended }: EndedJob, mask: Mask): EndedJob {
  const masked = mask.value(ended) as EndedJob;
  return payload === undefined ? masked : { ...masked, payload: mask.payload(payload as Payload) };
}
