/**
 * The request of an attempt, signed: the job and what the endpoint must know of the attempt, or the message of a webhook.
 *
 * @module
 */
import { DEFAULT_ENDPOINT_TIMEOUT } from "../../job/endpoint.ts";
import { parseDuration } from "../../job/duration.ts";
import type { JobContext } from "../context.ts";
import type { OpenEndpoint } from "./endpoints.ts";
import { type Message, noticeMessage } from "./notice.ts";
import type { PostRequest } from "./post.ts";
import { signedHeaders } from "./signature.ts";

/** Where an endpoint reports about an attempt, and its token. */
export interface EndpointReport {
  readonly url: string;
  readonly token: string;
}

/** Returns the parts of the request that depend on the job. `now` is in epoch milliseconds. */
export function requestOf(
  endpoint: OpenEndpoint,
  job: JobContext,
  { now, report }: { readonly now: number; readonly report: EndpointReport | undefined },
): Pick<PostRequest, "url" | "headers" | "body"> {
  const { trace, payload } = job;
  const deadline = new Date(now + timeoutMs(endpoint, job)).toISOString();
  const message = endpoint.format === undefined
    ? jobMessage(job, deadline, report)
    : noticeMessage(endpoint.format, payload.args);
  const { body } = message;
  const signed = { ...message, timestamp: Math.floor(now / 1_000) };
  return {
    url: new URL(endpoint.url),
    headers: {
      "user-agent": "jobs",
      "accept": "application/json, text/plain;q=0.9, */*;q=0.5",
      "accept-encoding": "identity",
      ...trace?.carrier,
      ...endpoint.headers,
      "content-type": "application/json",
      ...signedHeaders(signed, endpoint.secrets),
    },
    body: new TextEncoder().encode(body),
  };
}

function jobMessage(
  { jid, attempt, queue, raw }: JobContext,
  deadline: string,
  report: EndpointReport | undefined,
): Message {
  const attempted = JSON.stringify({ attempt, queue, deadline, ...(report && { report }) });
  // As text: parsing the payload would round large integers. A jid may have dots.
  return { id: jid.replaceAll(".", "%2E"), body: `${attempted.slice(0, -1)},"job":${raw}}` };
}

function timeoutMs({ options }: OpenEndpoint, { payload: { timeout } }: JobContext): number {
  // The worker reads the job's timeout in the same way.
  if (typeof timeout === "number" && timeout > 0) return timeout * 1_000;
  return parseDuration(String(options.timeout ?? DEFAULT_ENDPOINT_TIMEOUT));
}
