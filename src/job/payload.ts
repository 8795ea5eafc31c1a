/**
 * Turns a push request into the stored payload: applies defaults, checks fields, and builds the text.
 *
 *  1. Merge order: the program's defaults ← the class's options ← the push's options.
 *  2. Everything is checked before anything is stored. An error names the field, the value and what was expected.
 *  3. The text is built directly, in two parts: the fields that the jobs of one call share ({@linkcode prepare}), and
 *     the fields of one job ({@linkcode payloadText}).
 *
 * @module
 */
import { ADDED_BY_FIELD, BATCH_FIELD, COUNTED_FIELD, type MemberLease } from "./batch.ts";
import { NODE_FIELD } from "./flow.ts";
import { STEPS_FIELD } from "./step.ts";
import { InvalidPayload } from "./errors.ts";
import { isInternalClass, PUBLIC_CLASS_EXPECTED } from "./internal_class.ts";
import { stringifyLossless } from "./json.ts";
import { JOB_OPTIONS, type JobOption, type OptionsOn } from "./options.ts";
import { jobOption, optionNames } from "./option_names.ts";
import { type ArgsCheck, argsCheck } from "./schema/args_schema.ts";
import { idKey, isLockKey, isOn, type PushKeys, pushKeys } from "./push_keys.ts";
import type { RaisedOrLowered } from "./priority.ts";
import { readWireTime, wireTime } from "./raw.ts";
import { BEGUN_FIELD, type Moment, readMoment } from "./time.ts";
import { JsonArgs } from "./json_args.ts";
import { checkArgs, checkValue } from "./values.ts";

/**
 * Options of one push: see docs/reference/job-options.md. The payload keeps any other field unchanged; the handler finds it in `ctx.payload`.
 *
 * @example
 * ```ts
 * import { Client, type JobOptions, openStore } from "@jobs/jobs";
 *
 * const options: JobOptions = { queue: "mail", in: "5m", retry: 3, timeout: "30s", tags: ["welcome"] };
 * await using store = await openStore("sqlite::memory:");
 * await new Client({ store, onUnregistered: () => {} }).push("Mail", ["ada@example.com"], options);
 * ```
 */
export interface JobOptions extends OptionsOn<"push"> {
  /** Any other field. The payload keeps it unchanged. */
  readonly [field: string]: unknown;
}

/** A job to push. */
export interface JobRequest extends JobOptions {
  /** The class whose handler performs the job. */
  readonly class: string;
  /** The arguments of the handler: JSON values only. */
  readonly args: readonly unknown[];
}

/** The options of a class: defaults for its jobs. Payloads never contain the functions among them. */
export type ClassOptions = Readonly<Record<string, unknown>>;

/** A checked request without its arguments. The jobs of one call share it. */
export interface Prepared extends Moment {
  readonly className: string;
  readonly queue: string;
  /** The text of the payload, from `queue`, without `created_at` and the closing brace. */
  readonly tail: string;
  /** The option `group`: a name, or a path into the arguments. */
  readonly group?: string | number;
  readonly priority?: RaisedOrLowered;
  /** The keys by which the store compares the push with others. */
  readonly keys?: PushKeys;
  /** The key that makes the push idempotent, and the time for which the store keeps it. */
  readonly once?: { readonly key: string; readonly ttlMs: number; readonly isId?: true };
  readonly jid?: string;
  /** The batch that counts the jobs, and the member that adds them. */
  readonly batch?: { readonly id: string; readonly by?: MemberLease };
  /** The webhooks that the jobs notify. */
  readonly notify?: readonly string[];
  /** The option `created_at`, in epoch milliseconds. Default: now. */
  readonly createdAt?: number;
  /** Throws if arguments don't fit the schema of the class. */
  readonly checkArgs?: ArgsCheck;
}

/** The store keeps a jid that the caller chose for this long. */
const JID_TTL_S = 30 * 86_400;

/** Fields that {@linkcode payloadText} writes, and fields that only a store writes. */
const NOT_IN_TAIL: ReadonlySet<string> = new Set([
  ...["class", "args", "jid", "queue", "group", "retry", "created_at"],
  ...["enqueued_at", "unique_key", "debounce_key", COUNTED_FIELD, ADDED_BY_FIELD],
]);

/**
 * Fields that only stores and workers write: those by which the end of a job changes its batch, its flow, or the steps of
 * another job, and its history. A push from outside that sets one would act on jobs that it may not address.
 */
export const LINK_FIELDS: ReadonlySet<string> = new Set([
  ...[COUNTED_FIELD, ADDED_BY_FIELD, NODE_FIELD, STEPS_FIELD, "callback_of", "parent", "occurrence"],
  ...[
    "enqueued_at",
    "retry_count",
    "failed_at",
    "retried_at",
    "discarded_at",
    "no_handler_since",
    "rescues",
    "suspected",
    BEGUN_FIELD,
  ],
  ...["error_class", "error_message", "error_causes", "error_backtrace", "error_output", "errors"],
]);

/**
 * Checks a request, except for its arguments.
 *
 * @param request its `args` are ignored
 * @param options the options of the class. Those of the request take precedence
 * @throws {InvalidPayload} if a field is invalid
 */
export function prepare(request: JobOptions & { readonly class: string }, options?: ClassOptions): Prepared {
  if (typeof request !== "object" || request === null) {
    throw new InvalidPayload("job", request, "an object with class and args");
  }
  const fields = options === undefined ? request : merge(request, options);
  const { class: className, queue = "default", retry = true, jid, created_at: created } = fields;
  if (typeof className !== "string" || className === "" || !className.isWellFormed()) {
    throw new InvalidPayload("class", className, "the name of the class that performs it");
  }
  JOB_OPTIONS.queue.kind.write("queue", queue);
  JOB_OPTIONS.retry.kind.write("retry", retry);
  const { group = false } = fields;
  JOB_OPTIONS.group.kind.write("group", group);
  if (jid !== undefined) JOB_OPTIONS.jid.kind.write("jid", jid);
  const createdAt = created === undefined ? undefined : readWireTime(created);
  if (created !== undefined && createdAt === undefined) {
    throw new InvalidPayload("created_at", created, JOB_OPTIONS.created_at.kind.expected);
  }
  let tail = `"queue":"${queue}","retry":${retry}`;
  for (const field of Object.keys(fields)) {
    if (NOT_IN_TAIL.has(field)) continue;
    const text = fieldText(field, fields[field]);
    if (text !== undefined) tail += `,${JSON.stringify(field)}:${text}`;
  }
  for (const field of ["unique_key", "debounce_key"] as const) {
    if (fields[field] !== undefined) JOB_OPTIONS[field].kind.write(field, fields[field]);
  }
  const keys = pushKeys(fields);
  const batch = batchIn(fields);
  // The store counts the job in the step that stores it.
  if (batch !== undefined) tail += `,"${COUNTED_FIELD}":"pending"`;
  return {
    className,
    queue,
    tail,
    ...(batch !== undefined && { batch }),
    ...readMoment(fields.in, fields.at),
    ...(group !== false && { group }),
    ...priorityOf(fields),
    ...(keys !== undefined && { keys }),
    ...onceOf(fields),
    ...(fields.notify !== undefined && { notify: [fields.notify].flat() }),
    ...(jid !== undefined && { jid }),
    ...(createdAt !== undefined && { createdAt }),
    ...(options?.["schema"] !== undefined && { checkArgs: argsCheck(options["schema"], "schema") }),
  };
}

/** Returns the priority, unless it is normal. A group has a weight instead: the share of its jobs is one number. */
function priorityOf({ priority = "normal", group = false }: JobOptions): Pick<Prepared, "priority"> {
  if (priority === "normal") return {};
  if (group === false) return { priority };
  throw new InvalidPayload(
    "priority",
    priority,
    "no group with it; the weight of a group is its share: jobs limit QUEUE --group NAME --weight N",
  );
}

/** Returns the key of an idempotent push. A chosen jid names one job, as an `id` names one push: neither is stored twice. */
function onceOf({ id, within, jid, debounce }: JobOptions): Pick<Prepared, "once"> {
  const named = idKey("id", id, within);
  if (named !== undefined) return { once: { ...named, isId: true } };
  // A debounced job has the jid of the one that it replaces.
  return jid === undefined || isOn(debounce) ? {} : { once: { key: `jid:${jid}`, ttlMs: JID_TTL_S * 1_000 } };
}

function batchIn({ [BATCH_FIELD]: id, [ADDED_BY_FIELD]: by }: JobOptions): Prepared["batch"] {
  if (typeof id !== "string") return undefined;
  if (by === undefined) return { id };
  const { worker, token } = Object(by) as Partial<MemberLease>;
  if (typeof worker === "string" && typeof token === "string") return { id, by: { worker, token } };
  throw new InvalidPayload(ADDED_BY_FIELD, by, "no such option: ctx.batch.add sets it");
}

/** Fields of a single job, which a class cannot set for all its jobs. */
const OF_ONE_JOB: readonly string[] = [
  ...["class", "args", "enqueued_at"],
  ...optionNames("push").filter((name) => !jobOption(name)!.on.includes("class")),
];

/**
 * Checks the options of a class, so that no push fails because of them.
 *
 * @throws {InvalidPayload} if an option is invalid, or cannot be set on a class
 */
export function checkClassOptions(className: string, options: ClassOptions): void {
  for (const field of OF_ONE_JOB) {
    if (options[field] !== undefined) {
      throw new InvalidPayload(field, options[field], "no such option on a class: each push sets it");
    }
  }
  for (const field of Object.keys(options)) {
    if (LINK_FIELDS.has(field)) throw new InvalidPayload(field, options[field], "another name: jobs alone writes it");
  }
  for (const field of ["wrapped", "display_class"]) {
    if (isInternalClass(options[field])) throw new InvalidPayload(field, options[field], PUBLIC_CLASS_EXPECTED);
  }
  // The key of a lock is that of one job: each push of the class would reach that job, whatever its class.
  if (isLockKey(options["unique_key"])) {
    throw new InvalidPayload("unique_key", options["unique_key"], "no key of a lock on a class, but a name or a path");
  }
  for (const [field, value] of Object.entries(options)) {
    const { on = [], kind }: Partial<JobOption> = jobOption(field) ?? {};
    // A push leaves functions out: `retryIn` is one, and others would have no effect.
    if (typeof value === "function" || value !== undefined && !on.includes("push")) kind?.write(field, value);
  }
  prepare({ class: className }, options);
}

/**
 * Checks arguments and returns their text.
 *
 * @throws {InvalidPayload} if the arguments are not an array, or JSON would change a value
 */
export function argsText(args: unknown): string {
  if (args instanceof JsonArgs) return args.text;
  if (!Array.isArray(args)) throw new InvalidPayload("args", args, "an array of the handler's arguments");
  const large = checkArgs(args);
  return large ? stringifyLossless(args)! : JSON.stringify(args);
}

export function payloadText(prepared: Prepared, args: string, jid: string, now: number, wire: 7 | 8): string {
  const { className, tail, createdAt = now } = prepared;
  return `{"class":${JSON.stringify(className)},"args":${args},"jid":"${jid}",${tail},"created_at":${
    wireTime(createdAt, wire)
  }}`;
}

/** Returns the request with the options of the class as defaults, except those that no push has. */
export function merge<Request extends JobOptions>(request: Request, options: ClassOptions): Request {
  // An object without a prototype: "__proto__" is an ordinary field.
  const merged: Record<string, unknown> = Object.create(null);
  for (const field of Object.keys(options)) {
    if (typeof options[field] !== "function" && jobOption(field)?.on.includes("push") !== false) {
      merged[field] = options[field];
    }
  }
  for (const field of Object.keys(request)) {
    if (request[field] !== undefined) merged[field] = request[field];
  }
  return merged as Request;
}

/** Returns the checked JSON text of a field; undefined if the payload has no such field. */
function fieldText(field: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const option = jobOption(field);
  if (option?.on.includes("push")) return option.kind.write(field, value);
  return checkValue(value, field) ? stringifyLossless(value) : JSON.stringify(value);
}
