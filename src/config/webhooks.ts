/**
 * Reads the setting `webhooks`. An error names the webhook and the field, and no secret.
 *
 * @module
 */
import { type Endpoint, type Webhook, WEBHOOK_FORMATS } from "../job/endpoint.ts";
import type { Backoff } from "../job/backoff.ts";
import { closestWord } from "../job/suggest.ts";
import { WEBHOOK_CLASS, WEBHOOK_EVENTS, WEBHOOK_QUEUE, type WebhookEvent } from "../job/webhook.ts";
import { type Check, checkKeys, isObject, listIn, readConnection, shownEndpoint } from "./endpoints.ts";
import { InvalidValue, type Kind } from "./kinds.ts";

const CONNECTION = ["url", "secret", "headers", "caFile", "allowPrivate", "concurrency"] as const;
const FIELDS: readonly string[] = [
  "name",
  "on",
  "class",
  "queue",
  "format",
  "timeout",
  "retry",
  "backoff",
  ...CONNECTION,
];

/** Webhooks: `[{ "url": "https://app.example.com/jobs", "on": ["dead"] }]`; in text form, JSON. */
export const webhooks: Kind<readonly Webhook[]> = {
  expected: 'a list such as [{ "url": "https://app.example.com/events", "secret": "whsec_…", "on": ["dead"] }]',
  parse(value, fromText) {
    const read = listIn(value, fromText)?.map(readWebhook);
    if (read === undefined) return undefined;
    const names = read.map(({ subscription: { name } }) => name);
    const twice = names.find((name, i) => names.indexOf(name) < i);
    if (twice === undefined) return read;
    throw new InvalidValue(`two webhooks have the name "${twice}"; give each a different "name"`);
  },
};

function readWebhook(value: unknown, index: number): Webhook {
  if (!isObject(value)) throw new InvalidValue(`webhook ${index + 1} isn't an object; expected { "url": …, "on": … }`);
  const { name, on, class: classes, queue, format = "standard", timeout, retry, backoff } = value;
  const which = typeof name === "string" && name !== "" ? `"${name}"` : `${index + 1}`;
  const check: Check = (isValid, field, expected) => {
    if (!isValid) throw new InvalidValue(`"${field}" of webhook ${which} is invalid; expected ${expected}`);
  };
  checkKeys(value, FIELDS, FIELDS, `webhook ${which}`);
  const connection = readConnection(value, check);
  const known = name ?? new URL(connection.url).hostname.replaceAll(/[^\w.-]/g, "");
  check(typeof known === "string" && /^[\w.-]{1,80}$/.test(known), "name", "letters, digits and _ . -");
  check(WEBHOOK_FORMATS.some((one) => one === format), "format", `one of ${WEBHOOK_FORMATS.join(", ")}`);
  if (on === undefined) {
    check(name !== undefined, "on", `a list of events, or a "name" that jobs name with notify`);
    check(classes === undefined, "class", `"on" with it`);
    check(queue === undefined, "queue", `"on" with it`);
  } else checkEvents(on, which, check);
  const patterns = (field: string, given: unknown) => {
    if (given === undefined) return {};
    const list = [given].flat();
    const isValid = list.length > 0 && list.every((one) => typeof one === "string" && one !== "");
    check(isValid, field, `a name, a pattern such as "Import*", or a list of these`);
    return { [field]: list };
  };
  return {
    subscription: {
      name: String(known),
      ...(on !== undefined && { on: on as readonly WebhookEvent[] }),
      ...patterns("class", classes),
      ...patterns("queue", queue),
    },
    endpoint: {
      class: `${WEBHOOK_CLASS}${known}`,
      ...connection,
      options: {
        queue: WEBHOOK_QUEUE,
        ...(timeout !== undefined && { timeout: timeout as string }),
        ...(retry !== undefined && { retry: retry as number }),
        ...(backoff !== undefined && { backoff: backoff as Backoff }),
      },
      format: format as NonNullable<Endpoint["format"]>,
    },
  };
}

function checkEvents(on: unknown, which: string, check: Check): void {
  check(Array.isArray(on) && on.length > 0, "on", `a list of events: ${WEBHOOK_EVENTS.join(", ")}`);
  const unknown = (on as unknown[]).find((event) => WEBHOOK_EVENTS.every((one) => one !== event));
  if (unknown === undefined) return;
  const meant = closestWord(String(unknown), WEBHOOK_EVENTS);
  const hint = meant === undefined ? `expected one of ${WEBHOOK_EVENTS.join(", ")}` : `did you mean "${meant}"?`;
  throw new InvalidValue(`unknown event ${JSON.stringify(unknown)} in webhook ${which}; ${hint}`);
}

/** Returns a webhook as it is shown: without secrets. */
export function shownWebhook({ subscription, endpoint }: Webhook): Readonly<Record<string, unknown>> {
  const { class: _class, queue: _queue, ...shown } = shownEndpoint(endpoint);
  return { ...subscription, ...shown, ...(endpoint.format !== "standard" && { format: endpoint.format }) };
}
