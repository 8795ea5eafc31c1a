/**
 * Calls endpoints: makes the request of a job, and its end from the answer.
 *
 *  - 2xx: the body is the result. 410: the job is discarded. 429 and 503 with `Retry-After`: the job is snoozed.
 *  - Anything else, also a redirect, is a failed attempt, and so is an answer that breaks off or is compressed.
 *  - When the job's signal aborts, the connection is closed.
 *
 * The endpoint may have done its work although the attempt has failed, and is called again: `webhook-id` is the same.
 *
 * @module
 */
import { type OpenCircuit, shownUrl, type WebhookFormat } from "../../job/endpoint.ts";
import { Discard, Timeout } from "../../job/errors.ts";
import { parseLossless } from "../../job/json.ts";
import { CutOutput } from "../../job/returned.ts";
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import type { JobContext } from "../context.ts";
import { leaseOf } from "../running_context.ts";
import { ProgramOutput } from "../isolation/program_output.ts";
import type { OpenEndpoint, ReportOptions } from "./endpoints.ts";
import { Host, type HostEnd, snooze } from "./host.ts";
import { type Answer, type Connections, openConnections, post, PrivateAddress } from "./post.ts";
import { reportToken } from "./report_token.ts";
import { type EndpointReport, requestOf } from "./request.ts";
import { retryAfterMs } from "./retry_after.ts";

/** A longer answer fails its attempt. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;
/** Of an answer without success, this much is part of the error. */
const MAX_ERROR_BYTES = 2_048;
/** A gateway answers these in place of a host that is down. */
const GATEWAY_FAILURES: ReadonlySet<number> = new Set([502, 503, 504]);

export interface CallerOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly maxResultBytes: number;
  readonly reports?: ReportOptions;
  /** Returns how many requests are sent to a host at once. */
  readonly limitOf: (host: string) => number;
}

/** The failure of a job whose endpoint failed. */
export class HttpFailed extends Error {
  override readonly name = "HttpFailed";

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    // The stack of the worker says nothing about the endpoint.
    this.stack = "";
  }
}

export class Caller {
  readonly #options: CallerOptions;
  readonly #hosts = new Map<string, Host>();
  readonly #connections = new Map<OpenEndpoint, Connections>();
  #key: string | undefined;

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  /** The circuits that aren't closed. */
  get openCircuits(): readonly OpenCircuit[] {
    return [...this.#hosts.values()].flatMap(({ openCircuit }) => openCircuit ?? []);
  }

  /** Gives each host the limit that it has now. */
  resize(): void {
    for (const [name, host] of this.#hosts) host.limit = this.#options.limitOf(name);
  }

  /**
   * Performs a job.
   *
   * @throws {Snooze} also if its host may not be called now
   */
  async perform(endpoint: OpenEndpoint, job: JobContext): Promise<unknown> {
    job.signal.throwIfAborted();
    const host = this.#hostOf(endpoint);
    return await host.run((ended) => this.#call(endpoint, job, host, ended));
  }

  async #call(endpoint: OpenEndpoint, job: JobContext, host: Host, ended: (end: HostEnd) => void): Promise<unknown> {
    const { clock, maxResultBytes } = this.#options;
    const output = new ProgramOutput(maxResultBytes);
    let bytes = 0;
    let failure = "";
    const decoder = new TextDecoder();
    const isWebhook = endpoint.format !== undefined;
    const readerOf = ({ status }: Answer) => (chunk: Uint8Array) => {
      // A webhook has no result.
      if (isSuccess(status)) isWebhook || output.add(chunk);
      else failure += decoder.decode(chunk.subarray(0, Math.max(0, MAX_ERROR_BYTES - bytes)), { stream: true });
      bytes += chunk.length;
      return bytes <= (isSuccess(status) && !isWebhook ? MAX_BODY_BYTES : MAX_ERROR_BYTES);
    };
    let answer: Answer;
    const report = isWebhook ? undefined : await this.#reportOf(job);
    const request = { ...requestOf(endpoint, job, { now: clock.now(), report }), signal: job.signal, clock };
    try {
      answer = await post({ ...request, connections: this.#connectionsOf(endpoint, host) }, readerOf);
    } catch (error) {
      if (job.signal.aborted) {
        if (job.signal.reason instanceof Timeout) ended({ isAlive: false, error: job.signal.reason.message });
        throw job.signal.reason;
      }
      const { message } = error as Error;
      if (!(error instanceof PrivateAddress)) ended({ isAlive: false, error: message });
      throw new HttpFailed(`POST ${shownUrl(endpoint.url, endpoint.format)} failed: ${message}`);
    }
    const { status } = answer;
    const waitMs = status === 429 || status === 503
      ? retryAfterMs(answer.header("retry-after"), clock.now())
      : undefined;
    const isDown = GATEWAY_FAILURES.has(status) && waitMs === undefined;
    ended(isDown ? { isAlive: false, error: `${status} ${answer.statusText}` } : { isAlive: true });
    if (waitMs !== undefined) throw snooze(waitMs, `${status} with Retry-After`);
    if (!isSuccess(status)) throw failureOf(endpoint, answer, failure);
    const encoding = answer.header("content-encoding") ?? "identity";
    if (!isWebhook && !/^identity$/i.test(encoding.trim())) {
      const shown = encoding.slice(0, 50);
      throw new HttpFailed(
        `POST ${
          shownUrl(endpoint.url)
        }: the answer is compressed (${shown}), although the request has Accept-Encoding: identity`,
      );
    }
    if (isWebhook || bytes <= MAX_BODY_BYTES) return resultOf(output.end());
    throw new HttpFailed(
      `POST ${shownUrl(endpoint.url, endpoint.format)}: the answer is longer than ${MAX_BODY_BYTES / 1024 / 1024} MiB`,
    );
  }

  /** Returns where and with which token the endpoint reports about an attempt; undefined if it can't. */
  async #reportOf(job: JobContext): Promise<EndpointReport | undefined> {
    const { reports, log } = this.#options;
    const lease = leaseOf(job)?.token;
    if (reports === undefined || lease === undefined) return undefined;
    try {
      this.#key ??= await reports.key();
      return { url: reports.url, token: reportToken(this.#key, { worker: reports.worker, lease }) };
    } catch (error) {
      log.warn("Endpoint can't report: the store didn't return the key", {
        jid: job.jid,
        error: (error as Error).message,
      });
      return undefined;
    }
  }

  #hostOf({ url, class: className }: OpenEndpoint): Host {
    const { clock, log, limitOf } = this.#options;
    const name = new URL(url).host;
    const host = this.#hosts.get(name) ?? new Host({ name, limit: limitOf(name), clock, log });
    this.#hosts.set(name, host);
    host.serve(className);
    return host;
  }

  #connectionsOf(endpoint: OpenEndpoint, { limit }: Host): Connections {
    const known = this.#connections.get(endpoint) ?? openConnections(endpoint);
    this.#connections.set(endpoint, known);
    // The limit may have changed.
    known.agent.maxFreeSockets = limit;
    return known;
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Returns the body parsed as JSON; as text if it isn't JSON. */
function resultOf(body: Uint8Array | CutOutput): unknown {
  if (body instanceof CutOutput) return body;
  const text = new TextDecoder().decode(body).trim();
  if (text === "") return undefined;
  try {
    return parseLossless(text);
  } catch {
    return text;
  }
}

function failureOf({ url, format }: OpenEndpoint, { status, statusText, header }: Answer, body: string): Error {
  const to = status >= 300 && status < 400 ? header("location") : undefined;
  const redirect = to === undefined
    ? ""
    : ` to ${shownTarget(to, url, format)}; redirects aren't followed: set "url" to that address`;
  const words = [`POST ${shownUrl(url, format)}: ${status}${statusText && ` ${statusText}`}${redirect}`, body.trim()];
  const message = words.filter(Boolean).join(": ");
  if (status !== 410) return new HttpFailed(message);
  // The stack of the worker says nothing about the endpoint.
  return Object.assign(new Discard(message), { stack: "" });
}

/** Returns the target of a redirect as it is shown. Its query may have a secret, as that of the URL. */
function shownTarget(to: string, url: string, format: WebhookFormat | undefined): string {
  const target = URL.parse(to, url);
  const isWeb = target !== null && (target.protocol === "https:" || target.protocol === "http:");
  return isWeb ? shownUrl(target.href, format).slice(0, 200) : "an invalid address";
}
