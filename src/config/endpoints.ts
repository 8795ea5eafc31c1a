/**
 * Reads the setting `http`: classes that HTTP endpoints perform. An error names the entry and the field, and no secret.
 *
 * @module
 */
import { type Endpoint, shownUrl } from "../job/endpoint.ts";
import { isPublicAddress } from "../job/network.ts";
import { optionNames } from "../job/option_names.ts";
import type { OptionsOn } from "../job/options.ts";
import { closestWord } from "../job/suggest.ts";
import { InvalidValue, type Kind } from "./kinds.ts";

const FIELDS = ["class", "name", "url", "secret", "headers", "caFile", "allowPrivate", "concurrency"] as const;
const OPTIONS: readonly string[] = optionNames("exec");

/** The bounds of Standard Webhooks. */
const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;
const MAX_CONCURRENCY = 1_000;

/** Headers that are part of each request, or that belong to the connection. */
const RESERVED_HEADER =
  /^(webhook-.*|host|content-(length|type|encoding)|accept-encoding|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect)$/;

/** Classes that HTTP endpoints perform: `[{ "class": "Mail", "url": "https://app.internal/jobs/mail" }]`; in text form, JSON. */
export const endpoints: Kind<readonly Endpoint[]> = {
  expected: 'a list such as [{ "class": "Mail", "url": "https://app.example.com/jobs/mail", "timeout": "30s" }]',
  parse(value, fromText) {
    const read = listIn(value, fromText)?.map(readEntry);
    if (read === undefined) return undefined;
    const names = read.map(({ class: name }) => name);
    const twice = names.find((name, i) => names.indexOf(name) < i);
    if (twice !== undefined) {
      throw new InvalidValue(`two entries have the class "${twice}"; expected one URL for a class`);
    }
    return read;
  },
};

/** Returns the list in a value; in text form, JSON. */
export function listIn(value: unknown, isText: boolean): unknown[] | undefined {
  try {
    const list = isText ? JSON.parse(String(value)) : value;
    return Array.isArray(list) ? list : undefined;
  } catch {
    return undefined;
  }
}

/** An address of a website, without a slash at the end. */
export const webAddress: Kind<string> = {
  expected: "an address such as https://jobs.example.com, without user, query and fragment",
  parse(value) {
    const url = typeof value === "string" ? URL.parse(value) : null;
    if (url === null || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
      return undefined;
    }
    return url.href.replace(/\/+$/, "");
  },
};

function readEntry(value: unknown, index: number): Endpoint {
  if (!isObject(value)) throw new InvalidValue(`entry ${index + 1} isn't an object; expected { "class": …, "url": … }`);
  const { class: name, name: short, url, secret, headers, caFile, allowPrivate, concurrency, ...options } = value;
  const named = name ?? short;
  const entry = typeof named === "string" && named !== "" ? `"${named}"` : `${index + 1}`;
  const check = (isValid: boolean, field: string, expected: string) => {
    if (!isValid) throw new InvalidValue(`"${field}" of entry ${entry} is invalid; expected ${expected}`);
  };
  checkKeys(options, OPTIONS, [...FIELDS, ...OPTIONS], `entry ${entry}`);
  if ((name === undefined) === (short === undefined)) {
    throw new InvalidValue(
      `entry ${entry} has ${name === undefined ? "no" : "both"} "class" and "name"; expected one of them`,
    );
  }
  if (name !== undefined) check(typeof name === "string" && name !== "", "class", "the name of a class");
  else check(typeof short === "string" && /^[\w.-]{1,80}$/.test(short), "name", "letters, digits and _ . -");
  return {
    class: name === undefined ? `http:${short}` : String(name),
    ...readConnection({ url, secret, headers, caFile, allowPrivate, concurrency }, check),
    options: options as OptionsOn<"exec">,
  };
}

/**
 * Checks that an entry has no unknown keys.
 *
 * @param allowed those of `given`
 * @param known for the message
 */
export function checkKeys(given: object, allowed: readonly string[], known: readonly string[], where: string): void {
  const key = Object.keys(given).find((one) => !allowed.includes(one));
  if (key === undefined) return;
  const meant = closestWord(key, known);
  const hint = meant === undefined ? `known: ${known.join(", ")}` : `did you mean "${meant}"?`;
  throw new InvalidValue(`unknown key "${key}" in ${where}; ${hint}`);
}

/** Reads the fields of an entry that say where and how requests are sent. */
export function readConnection(
  { url, secret, headers, caFile, allowPrivate, concurrency }: Readonly<Record<string, unknown>>,
  check: Check,
): Omit<Endpoint, "class" | "options"> {
  check(allowPrivate === undefined || typeof allowPrivate === "boolean", "allowPrivate", "true or false");
  checkUrl(url, allowPrivate === true, check);
  check(caFile === undefined || (typeof caFile === "string" && caFile !== ""), "caFile", "the path of a file");
  check(
    concurrency === undefined ||
      (Number.isInteger(concurrency) && 1 <= Number(concurrency) && Number(concurrency) <= MAX_CONCURRENCY),
    "concurrency",
    `a whole number from 1 to ${MAX_CONCURRENCY}`,
  );
  return {
    url: new URL(String(url)).href,
    secrets: readSecrets(secret, check),
    headers: readHeaders(headers, check),
    caFile: caFile as string | undefined,
    allowPrivate: allowPrivate === true,
    concurrency: concurrency as number | undefined,
  };
}

/** Throws unless a field is valid. */
export type Check = (isValid: boolean, field: string, expected: string) => void;

function checkUrl(url: unknown, allowPrivate: boolean, check: Check): void {
  const parsed = typeof url === "string" ? URL.parse(url) : null;
  check(
    parsed !== null && /^https?:$/.test(parsed.protocol),
    "url",
    "an address such as https://app.example.com/jobs/mail",
  );
  check(parsed!.username === "" && parsed!.password === "", "url", 'no user and password; use "headers"');
  check(parsed!.hash === "", "url", "no fragment (#)");
  const host = parsed!.hostname.replace(/^\[|\]$/g, "");
  // Other names are looked up with each connection.
  const isPrivate = /(^|\.)localhost\.?$/.test(host) || (/^[\d.]+$|:/.test(host) && !isPublicAddress(host));
  check(!isPrivate || allowPrivate, "url", `a public address, or "allowPrivate": true for ${parsed!.host}`);
}

function readSecrets(secret: unknown, check: Check): Uint8Array[] {
  const written: unknown[] = secret === undefined ? [] : Array.isArray(secret) ? secret : [secret];
  check(!Array.isArray(secret) || secret.length > 0, "secret", "at least one secret");
  return written.map((one) => {
    const [, base64] = typeof one === "string" ? /^whsec_(.*)$/.exec(one) ?? [] : [];
    const bytes = base64 === undefined ? undefined : decodeBase64(base64);
    const how = "make one with: echo whsec_$(openssl rand -base64 32)";
    check(bytes !== undefined, "secret", `whsec_ and base64; ${how}`);
    check(
      MIN_SECRET_BYTES <= bytes!.length && bytes!.length <= MAX_SECRET_BYTES,
      "secret",
      `${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes in base64, not ${bytes!.length}; ${how}`,
    );
    return bytes!;
  });
}

function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    return undefined;
  }
}

/** Returns the headers with their names in lower case. */
function readHeaders(headers: unknown, check: Check): Record<string, string> {
  check(headers === undefined || isObject(headers), "headers", 'an object such as { "Authorization": "Bearer …" }');
  const read = Object.entries(headers ?? {}).map(([name, value]): [string, string] => {
    check(/^[\w!#$%&'*+.^`|~-]+$/.test(name), "headers", "names of HTTP headers");
    check(!RESERVED_HEADER.test(name.toLowerCase()), "headers", `no ${name}, which jobs sets`);
    // Printable ASCII: others have no agreed encoding.
    check(
      typeof value === "string" && /^[\x20-\x7e]*$/.test(value),
      "headers",
      `a text of ASCII characters for ${name}`,
    );
    return [name.toLowerCase(), value as string];
  });
  return Object.fromEntries(read);
}

/** Returns an endpoint as it is shown: without secrets. */
export function shownEndpoint(
  { class: name, url, secrets, headers, options, format }: Endpoint,
): Readonly<Record<string, unknown>> {
  return {
    class: name,
    url: shownUrl(url, format),
    ...(secrets.length > 0 && { secret: "***" }),
    ...(Object.keys(headers).length > 0 && { headers: Object.keys(headers) }),
    ...options,
  };
}

/** Returns whether a value is an object, and no list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
