/**
 * What a caller pushes → what is stored: defaults, checks, and the payload's text.
 *
 *  1. Merge order: the system's defaults ← the class's options ← the call's.
 *  2. Everything is checked before anything is stored; a message names the field, the value and what is wanted.
 *  3. The text is built directly, in two parts: what many jobs have in common ({@linkcode prepare}) and what each has of
 *     its own ({@linkcode payloadText}).
 *
 * @module
 */
import { InvalidPayload } from "./errors.ts";
import { JID } from "./jid.ts";
import { stringifyLossless } from "./json.ts";
import { type Moment, readKeeping, readMoment, readSpan } from "./time.ts";
import { QUEUE_NAME } from "./queue_name.ts";
import { readWireTime, wireTime } from "./raw.ts";
import { checkValue } from "./values.ts";

/** What may be said of a job beside its class and arguments. */
export interface JobOptions {
  /** Default `default`, or what the class says. */
  readonly queue?: string;
  /** Run it so much later: seconds, or `90s`, `5m`, `2h`, `1d`. */
  readonly in?: number | string;
  /**
   * Run it then: a Date, ISO 8601 text (without a zone: the machine's), or epoch seconds; a number under 1e9 is seconds
   * from now. Past is now.
   */
  readonly at?: Date | number | string;
  /** 24 hex digits unless given. */
  readonly jid?: string;
  /** How often a failure is tried again: a number, `true` (default) for the usual, `false` for never. */
  readonly retry?: boolean | number;
  /** How long after the first failure it is tried again (seconds or duration), instead of a number of times. */
  readonly retry_for?: number | string;
  /** The queue for retries; default the job's own. */
  readonly retry_queue?: string;
  /** `false`: when it failed for good it is dropped, not kept in `dead`. */
  readonly dead?: boolean;
  /** Keep the stack of a failure with the job: `true`, or so many lines. */
  readonly backtrace?: boolean | number;
  /** Words shown with the job. */
  readonly tags?: readonly string[];
  /**
   * Not while a job with the same class, queue and arguments is there; for so long at most (seconds or duration).
   * `false`: although the class says so.
   */
  readonly unique_for?: number | string | false;
  /** How long it may run (seconds or duration). Default: as the class says, else as long as it likes. */
  readonly timeout?: number | string;
  /** Dropped unless it starts within so long after it was enqueued (seconds or duration). Default: never. */
  readonly expires_in?: number | string;
  /** How long its result is kept (seconds or duration): 0 not at all, -1 as long as there is room. Default: 500 seconds. */
  readonly result_ttl?: number | string;
  /** The same for how it failed for good. Default: a day. */
  readonly failure_ttl?: number | string;
  /** Lines of the log below it are dropped, its own and the server's about it. */
  readonly log_level?: "debug" | "info" | "warn" | "error";
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

/** What a class says about its jobs; functions in it are not for the payload. */
export type ClassOptions = Readonly<Record<string, unknown>>;

/** A checked request without its arguments: what many jobs may have in common. */
export interface Prepared extends Moment {
  readonly className: string;
  readonly queue: string;
  /** The payload's text from `queue` on, without `created_at` and the closing brace. */
  readonly tail: string;
  readonly uniqueForMs?: number;
  readonly jid?: string;
  /** Given by the caller; default now. */
  readonly createdAt?: number;
}

const QUEUE_WANTED = "a name of letters, digits and _ : . -";

/** Fields that have a place of their own, or none: what the store or a lock writes is not the caller's. */
const NOT_IN_TAIL: ReadonlySet<string> = new Set([
  "class",
  "args",
  "jid",
  "queue",
  "in",
  "at",
  "retry",
  "created_at",
  "enqueued_at",
  "unique_key",
  "isolate",
]);

/**
 * Checks everything of a request but its arguments.
 *
 * @param request may have `args`; they are not looked at
 * @param options what the class says; the request comes first
 * @throws {InvalidPayload}
 */
export function prepare(request: JobOptions & { readonly class: string }, options?: ClassOptions): Prepared {
  if (typeof request !== "object" || request === null) {
    throw new InvalidPayload("job", request, "an object with class and args");
  }
  const fields = options === undefined ? request : merge(request, options);
  const { class: className, queue = "default", retry = true, jid, created_at: created, unique_for: unique } = fields;
  if (typeof className !== "string" || className === "" || !className.isWellFormed()) {
    throw new InvalidPayload("class", className, "the name of the class that performs it, a text");
  }
  checkQueue("queue", queue);
  if (typeof retry !== "boolean" && !isCount(retry)) {
    throw new InvalidPayload("retry", retry, "true, false, or a whole number of times from 0");
  }
  if (jid !== undefined && (typeof jid !== "string" || !JID.test(jid))) {
    throw new InvalidPayload("jid", jid, "a text of letters, digits and _ : . -, 24 hex digits by custom");
  }
  const createdAt = created === undefined ? undefined : readWireTime(created);
  if (created !== undefined && createdAt === undefined) {
    throw new InvalidPayload("created_at", created, "epoch seconds or milliseconds");
  }
  let tail = `"queue":"${queue}","retry":${retry}`;
  for (const field of Object.keys(fields)) {
    if (NOT_IN_TAIL.has(field)) continue;
    const text = fieldText(field, fields[field]);
    if (text !== undefined) tail += `,${JSON.stringify(field)}:${text}`;
  }
  return {
    className,
    queue: queue as string,
    tail,
    ...readMoment(fields.in, fields.at),
    ...(isAsked(unique) && { uniqueForMs: readSpan("unique_for", unique) * 1_000 }),
    ...(jid !== undefined && { jid: jid as string }),
    ...(createdAt !== undefined && { createdAt }),
  };
}

/** Fields that belong to one job: no class can say them for all of its jobs. */
const OF_ONE_JOB = ["class", "args", "jid", "in", "at", "created_at", "enqueued_at", "unique_key"] as const;

/**
 * Checks what a class says about its jobs: with it, any push could go through.
 *
 * @throws {InvalidPayload}
 */
export function checkClassOptions(className: string, options: ClassOptions): void {
  for (const field of OF_ONE_JOB) {
    if (options[field] !== undefined) {
      throw new InvalidPayload(field, options[field], "nothing: it is for each push to say");
    }
  }
  const { isolate } = options;
  if (isolate !== undefined && typeof isolate !== "boolean") {
    throw new InvalidPayload("isolate", isolate, "true or false");
  }
  prepare({ class: className }, options);
}

/**
 * Checks arguments and returns their text.
 *
 * @throws {InvalidPayload}
 */
export function argsText(args: unknown): string {
  if (!Array.isArray(args)) throw new InvalidPayload("args", args, "an array of the handler's arguments");
  const large = checkValue(args, "args");
  return large ? stringifyLossless(args)! : JSON.stringify(args);
}

/** The whole payload's text. */
export function payloadText(prepared: Prepared, args: string, jid: string, now: number, wire: 7 | 8): string {
  const { className, tail, createdAt = now } = prepared;
  return `{"class":${JSON.stringify(className)},"args":${args},"jid":"${jid}",${tail},"created_at":${
    wireTime(createdAt, wire)
  }}`;
}

/** The request, with what the class says where it says nothing. */
export function merge<Request extends JobOptions>(request: Request, options: ClassOptions): Request {
  // No prototype: a field "__proto__" is a field like any other.
  const merged: Record<string, unknown> = Object.create(null);
  for (const field of Object.keys(options)) {
    if (typeof options[field] !== "function") merged[field] = options[field];
  }
  for (const field of Object.keys(request)) {
    if (request[field] !== undefined) merged[field] = request[field];
  }
  return merged as Request;
}

/** The checked text of a field that needs nothing else; undefined: it is not there. */
function fieldText(field: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  switch (field) {
    case "tags":
      if (Array.isArray(value) && value.every((tag) => typeof tag === "string")) break;
      throw new InvalidPayload("tags", value, "an array of texts");
    case "unique_for":
      return isAsked(value) ? String(readSpan(field, value)) : undefined;
    case "timeout":
    case "retry_for":
    case "expires_in":
      return String(readSpan(field, value));
    case "result_ttl":
    case "failure_ttl":
      return String(readKeeping(field, value));
    case "retry_queue":
      checkQueue(field, value);
      break;
    case "backtrace":
      if (typeof value === "boolean" || isCount(value)) break;
      throw new InvalidPayload(field, value, "true, false, or a number of lines");
    case "log_level":
      if (value === "debug" || value === "info" || value === "warn" || value === "error") break;
      throw new InvalidPayload(field, value, "debug, info, warn or error");
    case "dead":
      if (typeof value === "boolean") break;
      throw new InvalidPayload(field, value, "true or false");
    case "wrapped":
    case "display_class":
      if (typeof value === "string" && value !== "") break;
      throw new InvalidPayload(field, value, "the name of a class, a text");
  }
  return checkValue(value, field) ? stringifyLossless(value) : JSON.stringify(value);
}

function checkQueue(field: string, value: unknown): void {
  if (typeof value !== "string" || !QUEUE_NAME.test(value)) throw new InvalidPayload(field, value, QUEUE_WANTED);
}

function isAsked(uniqueFor: unknown): boolean {
  return uniqueFor !== undefined && uniqueFor !== false && uniqueFor !== null && uniqueFor !== 0;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
