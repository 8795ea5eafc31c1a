/**
 * What a caller pushes → what is stored: defaults, checks, and the payload's text.
 *
 * Merge order: the system's defaults ← the class's options ← the call's. Everything is checked here, before anything is
 * stored, and a message names the field, the value and what is wanted.
 *
 * @module
 */
import { parseDuration } from "./duration.ts";
import { InvalidPayload } from "./errors.ts";
import { JID } from "./jid.ts";
import { stringifyLossless } from "./json.ts";
import { wireTime } from "./raw.ts";
import { checkValue } from "./values.ts";

/** What may be said of a job beside its class and arguments. */
export interface JobOptions {
  /** Default `default`, or what the class says. */
  readonly queue?: string;
  /** Run it so much later: seconds, or `90s`, `5m`, `2h`, `1d`. */
  readonly in?: number | string;
  /** Run it then: a Date, ISO 8601 text, or epoch seconds; a number under 1e9 is seconds from now. Past is now. */
  readonly at?: Date | number | string;
  /** 24 hex digits unless given. */
  readonly jid?: string;
  /** How often a failure is tried again: a number, `true` (default) for the usual, `false` for never. */
  readonly retry?: boolean | number;
  /** Seconds from the first failure within which it is tried again, instead of a number of times. */
  readonly retry_for?: number;
  /** Where its retries go; default its queue. */
  readonly retry_queue?: string;
  /** Words shown with the job. */
  readonly tags?: readonly string[];
  /** Not while a job with the same class, queue and arguments is there; for so long at most (seconds or duration). */
  readonly unique_for?: number | string;
  /** How long it may run (seconds or duration). */
  readonly timeout?: number | string;
  /** Anything else is kept in the payload as it is. */
  readonly [field: string]: unknown;
}

/** A job to push. */
export interface JobRequest extends JobOptions {
  /** The class whose handler performs it. */
  readonly class: string;
  /** What the handler is given: JSON values only. */
  readonly args: readonly unknown[];
}

/** A checked request, and the parts of its payload. */
export interface Prepared {
  readonly queue: string;
  /** The payload's text from its second field on, without `args`, `jid` and `created_at`. */
  readonly tail: string;
  readonly className: string;
  readonly at?: number;
  readonly delayMs?: number;
  readonly uniqueForMs?: number;
  readonly jid?: string;
}

const QUEUE = /^[A-Za-z0-9_:.-]{1,255}$/;
/** A number under it is seconds from now, as in Sidekiq. */
const LARGEST_RELATIVE = 1e9;
/** A number over it can only be milliseconds. */
const LARGEST_SECONDS = 1e11;
const DURATION_WANTED = "seconds, or a duration such as 30s, 5m, 2h or 1d";

/** Fields that say how to push, and are not part of the payload. */
const DIRECTIVES = new Set([
  "class",
  "args",
  "jid",
  "queue",
  "in",
  "at",
  "retry",
  "enqueued_at",
  "created_at",
  "retryIn",
]);

/**
 * Checks everything of a request but its arguments.
 *
 * @param options what the class says; the request comes first
 * @throws {InvalidPayload}
 */
export function prepare(
  request: JobOptions & { readonly class: string },
  options: Readonly<Record<string, unknown>> | undefined,
  now: number,
): Prepared {
  const merged: Record<string, unknown> = options ? { ...options, ...request } : request;
  const { class: className, queue = "default", retry = true } = merged;
  if (typeof className !== "string" || className === "") {
    throw new InvalidPayload("class", className, "the name of the class that performs it, a text");
  }
  if (typeof queue !== "string" || !QUEUE.test(queue)) {
    throw new InvalidPayload("queue", queue, "a name of letters, digits and _ : . -");
  }
  if (typeof retry !== "boolean" && !isCount(retry)) {
    throw new InvalidPayload("retry", retry, "true, false, or a whole number of times from 0");
  }
  const { jid } = merged;
  if (jid !== undefined && (typeof jid !== "string" || !JID.test(jid))) {
    throw new InvalidPayload("jid", jid, "a text of letters, digits and _ : . -, 24 hex digits by custom");
  }
  let tail = `,"queue":"${queue}","retry":${retry}`;
  let uniqueForMs: number | undefined;
  for (const field in merged) {
    if (DIRECTIVES.has(field) || !Object.hasOwn(merged, field)) continue;
    const value = checkField(field, merged[field]);
    if (value === undefined) continue;
    if (field === "unique_for") uniqueForMs = (value as number) * 1_000;
    tail += `,${JSON.stringify(field)}:${stringifyLossless(value)}`;
  }
  return {
    className,
    queue,
    tail,
    ...when(merged, now),
    ...(uniqueForMs !== undefined && { uniqueForMs }),
    ...(jid !== undefined && { jid: jid as string }),
  };
}

/**
 * Checks arguments and returns their text.
 *
 * @throws {InvalidPayload}
 */
export function argsText(args: unknown): string {
  if (!Array.isArray(args)) throw new InvalidPayload("args", args, "an array of the handler's arguments");
  let large = false;
  for (let i = 0; i < args.length; i++) {
    const value = args[i];
    if (typeof value === "string" || Number.isSafeInteger(value)) continue;
    checkValue(value, `args[${i}]`);
    large = true;
  }
  // Where there may be bigints inside, they need more than JSON.stringify.
  return large ? stringifyLossless(args)! : JSON.stringify(args);
}

/** The whole payload's text. */
export function payloadText(prepared: Prepared, args: string, jid: string, now: number, wire: 7 | 8): string {
  return `{"class":${JSON.stringify(prepared.className)},"args":${args},"jid":"${jid}"${prepared.tail},"created_at":${
    wireTime(now, wire)
  }}`;
}

/** Checks one field, and turns durations into seconds. Undefined: leave it out. */
function checkField(field: string, value: unknown): unknown {
  switch (field) {
    case "tags":
      if (Array.isArray(value) && value.every((tag) => typeof tag === "string")) return value;
      throw new InvalidPayload("tags", value, "an array of texts");
    case "unique_for":
    case "timeout":
    case "expires_in":
      return positive(field, toSeconds(field, value));
    case "retry_for":
      if (typeof value === "number" && value > 0 && value <= LARGEST_RELATIVE) return value;
      throw new InvalidPayload("retry_for", value, "seconds, from 1 to 1000000000");
    case "retry_queue":
      if (typeof value === "string" && QUEUE.test(value)) return value;
      throw new InvalidPayload("retry_queue", value, "a name of letters, digits and _ : . -");
    case "backtrace":
      if (typeof value === "boolean" || isCount(value)) return value;
      throw new InvalidPayload("backtrace", value, "true, false, or a number of lines");
    case "dead":
      if (typeof value === "boolean") return value;
      throw new InvalidPayload("dead", value, "true or false");
    default:
      if (value === undefined) return undefined;
      checkValue(value, field);
      return value;
  }
}

/** When it is to run, as the store is told. */
function when(merged: Record<string, unknown>, now: number): { at?: number; delayMs?: number } {
  const { at } = merged;
  const later = merged.in;
  if (later !== undefined && at !== undefined) {
    throw new InvalidPayload("in", later, "either in or at, not both");
  }
  if (later !== undefined) {
    const seconds = toSeconds("in", later);
    return seconds > 0 ? { delayMs: seconds * 1_000 } : {};
  }
  if (at === undefined) return {};
  const wanted = "a Date, an ISO 8601 text, or epoch seconds";
  if (typeof at === "number" && Number.isFinite(at)) {
    if (at < LARGEST_RELATIVE) return at > 0 ? { delayMs: at * 1_000 } : {};
    return future(at > LARGEST_SECONDS ? at : at * 1_000, now);
  }
  const ms = at instanceof Date
    ? at.getTime()
    : typeof at === "string" && /^\d{4}-\d\d/.test(at)
    ? Date.parse(at)
    : NaN;
  if (Number.isNaN(ms)) throw new InvalidPayload("at", at, wanted);
  return future(ms, now);
}

function future(at: number, now: number): { at?: number } {
  return at > now ? { at } : {};
}

function toSeconds(field: string, value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  try {
    if (typeof value === "string") return parseDuration(value) / 1_000;
  } catch {
    // Said below, with the field's name.
  }
  throw new InvalidPayload(field, value, DURATION_WANTED);
}

function positive(field: string, seconds: number): number {
  if (seconds > 0) return seconds;
  throw new InvalidPayload(field, seconds, `${DURATION_WANTED}, more than 0`);
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0;
}
