/**
 * A class whose jobs an HTTP endpoint performs, as the configuration defines it.
 *
 * @module
 */
import type { Backoff } from "./backoff.ts";
import type { OptionsOn } from "./options.ts";
import type { Subscription, WebhookEvent } from "./webhook.ts";

/** An entry of the setting `http`, as it is written. */
export interface EndpointEntry extends OptionsOn<"exec"> {
  /** The name of the class. Either this or `name`. */
  readonly class?: string;
  /** Names the endpoint: its class is `http:NAME`. */
  readonly name?: string;
  /** The URL that each attempt is posted to. */
  readonly url: string;
  /** The secret that signs the requests, `whsec_` and base64; several during a rotation. Without one, they aren't signed. */
  readonly secret?: string | readonly string[];
  /** Further headers of each request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A file with certificates of further authorities, in PEM format. */
  readonly caFile?: string;
  /** Allows addresses of private networks and of this machine. Default false. */
  readonly allowPrivate?: boolean;
  /** How many requests one worker sends to the host of the URL at once. */
  readonly concurrency?: number;
}

/** A class that an HTTP endpoint performs. */
export interface Endpoint {
  readonly class: string;
  readonly url: string;
  /** The secrets, decoded. The first one is current. */
  readonly secrets: readonly Uint8Array[];
  readonly headers: Readonly<Record<string, string>>;
  readonly caFile: string | undefined;
  readonly allowPrivate: boolean;
  readonly concurrency: number | undefined;
  /** The options of its jobs. */
  readonly options: OptionsOn<"exec">;
  /** Present for a webhook: the format of its requests. */
  readonly format?: WebhookFormat;
}

/** The formats of a webhook's requests. `slack`: a text, as Slack and programs that imitate it receive it. */
export const WEBHOOK_FORMATS: readonly WebhookFormat[] = ["standard", "slack"];

/** The format of a request. */
export type WebhookFormat = "standard" | "slack";

/** An entry of the setting `webhooks`, as it is written. */
export interface WebhookEntry extends Omit<EndpointEntry, "class" | "name" | keyof OptionsOn<"exec">> {
  /** Letters, digits and `_ . -`. Default: the host of the URL. */
  readonly name?: string;
  /** The events that it gets. Absent: those of the jobs, batches and flows that name it. */
  readonly on?: readonly WebhookEvent[];
  /** Of jobs and cron entries, only those of classes that match this pattern, or one of these. */
  readonly class?: string | readonly string[];
  /** Likewise for queues. */
  readonly queue?: string | readonly string[];
  /** Default `standard`. */
  readonly format?: WebhookFormat;
  /** The timeout of a request. */
  readonly timeout?: number | string;
  /** How many times a failed request is repeated. */
  readonly retry?: boolean | number;
  /** The delay before a retry. */
  readonly backoff?: Backoff;
}

/** A webhook: which events it gets, and the endpoint that it sends them to. */
export interface Webhook {
  readonly subscription: Subscription;
  readonly endpoint: Endpoint;
}

/** A host of endpoints whose circuit isn't closed: its jobs wait, because requests to it keep failing. */
export interface OpenCircuit {
  /** `app.internal:8443`. */
  readonly host: string;
  /** `halfOpen`: the next job probes the host. */
  readonly state: "open" | "halfOpen";
  /** Failures in a row. */
  readonly failures: number;
  /** When it opened first, in epoch milliseconds. */
  readonly since: number;
  /** The last failure. */
  readonly error: string;
  /** Classes whose jobs were sent to it, some of them if they are many. Absent in the records of earlier versions. */
  readonly classes?: readonly string[];
}

/** The timeout of an endpoint's jobs, unless the entry or the job has one. */
export const DEFAULT_ENDPOINT_TIMEOUT = "1m";

/** A part of a path that people don't choose: the secret of services whose URL is the permission to call it. */
const SECRET_SEGMENT = /^(?=.*\d)(?=.*[A-Za-z])[\w~.=%-]{16,}$|^.{40,}$/;

/**
 * Returns a URL as it is shown: without its query, a login, and parts of its path that look like a secret.
 *
 * @param format present for a webhook: its whole path may be a secret, so that only the origin is shown
 */
export function shownUrl(url: string, format?: WebhookFormat): string {
  const { origin, pathname, search } = new URL(url);
  if (format !== undefined) return origin;
  const path = pathname.split("/").map((part) => SECRET_SEGMENT.test(part) ? "…" : part).join("/");
  return `${origin}${path}${search === "" ? "" : "?…"}`;
}
