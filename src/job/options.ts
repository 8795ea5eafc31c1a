/**
 * The options of a job, in one table: what each accepts, what it means, and where it may be set. Types, checks, the flags
 * of `jobs push`, docs/reference/job-options.md and "did you mean" come from it. A new option is one row here, and its behavior.
 *
 * @module
 */
import { closestWord } from "../text/suggest.ts";
import { type Backoff, readBackoff, type RetryIn } from "./backoff.ts";
import { InvalidPayload } from "./errors.ts";
import { GROUP_EXPECTED, isGroupOption } from "./group.ts";
import { JID } from "./jid.ts";
import { stringifyLossless } from "./json.ts";
import { QUEUE_NAME } from "./queue_name.ts";
import { readRetention, readSpan } from "./time.ts";
import { checkValue } from "./values.ts";

/**
 * Where an option may be set:
 *
 * - `push`: on one job, in code, over HTTP, and as a flag of `jobs push`
 * - `class`: on a job class, as the default for its jobs
 * - `cron`: on a cron entry, for the jobs that it enqueues
 * - `exec`: on a class that an external program performs
 */
export type OptionPlace = "push" | "class" | "cron" | "exec";

/** What an option accepts. */
interface OptionKind<T> {
  /** Completes "expected …". */
  readonly expected: string;
  /** The value's name in a help text; undefined if no flag sets it. */
  readonly placeholder?: string;
  /**
   * Returns the JSON text that the payload stores; undefined if it stores nothing.
   *
   * @throws {InvalidPayload} if it accepts no such value
   */
  readonly write: (field: string, value: unknown) => string | undefined;
  /** Returns the value that a flag's text stands for; default the text itself. */
  readonly fromText?: (text: string) => unknown;
  /** The type of the values; absent at run time. */
  readonly type?: T;
}

/** One row of the table. */
interface OptionRow<T, Place extends OptionPlace> {
  readonly kind: OptionKind<T>;
  /** Where it may be set. */
  readonly on: readonly Place[];
  /** What applies if it is set nowhere. */
  readonly default: string;
  /** What it does, in one line. */
  readonly about: string;
}

/** Returns the row, with the types of its values and places. */
function option<T, const Place extends OptionPlace>(row: OptionRow<T, Place>): OptionRow<T, Place> {
  return row;
}

/** Returns a kind whose values are stored as they are. */
function kind<T>(
  expected: string,
  isValid: (value: unknown) => boolean,
  text: { readonly placeholder?: string; readonly fromText?: (text: string) => unknown } = {},
): OptionKind<T> {
  const write = (field: string, value: unknown) => {
    if (!isValid(value)) throw new InvalidPayload(field, value, expected);
    return checkValue(value, field) ? stringifyLossless(value) : JSON.stringify(value);
  };
  return { expected, ...text, write };
}

const SECONDS = "seconds, or a duration such as 30s, 5m, 2h or 1d";

/** Stored as seconds. */
const span: OptionKind<number | string> = {
  expected: SECONDS,
  placeholder: "DURATION",
  write: (field, value) => String(readSpan(field, value)),
};

/** Stored as seconds. */
const retention: OptionKind<number | string> = {
  expected: `${SECONDS}; 0 to keep nothing, -1 to keep it while there is room`,
  placeholder: "DURATION",
  write: (field, value) => String(readRetention(field, value)),
};

/** Stored as seconds; `false` stores nothing. */
const lock: OptionKind<number | string | false> = {
  expected: `${SECONDS}; false for no lock`,
  placeholder: "DURATION",
  write: (field, value) => isLockWanted(value) ? String(readSpan(field, value)) : undefined,
  fromText: (text) => text === "false" ? false : text,
};

const queueName = kind<string>(
  "a name of letters, digits and _ : . -",
  (value) => typeof value === "string" && QUEUE_NAME.test(value),
  { placeholder: "NAME" },
);

const flag = kind<boolean>("true or false", (value) => typeof value === "boolean", {
  placeholder: "true|false",
  fromText: booleanOrText,
});

/** Stored as text, by the builder: it may be a path into the arguments. */
const groupName: OptionKind<string | number | false> = {
  expected: GROUP_EXPECTED,
  placeholder: "NAME|PATH",
  write: (field, value) => {
    if (!isGroupOption(value)) throw new InvalidPayload(field, value, GROUP_EXPECTED);
    return undefined;
  },
  fromText: (text) => text === "false" ? false : text,
};

const retries = kind<boolean | number>(
  "true, false, or a whole number from 0",
  (value) => typeof value === "boolean" || isCount(value),
  { placeholder: "N|false", fromText: countOrText },
);

const lines = kind<boolean | number>(
  "true, false, or a number of lines",
  (value) => typeof value === "boolean" || isCount(value),
  { placeholder: "N|true", fromText: countOrText },
);

const className = kind<string>("the name of a class", (value) => typeof value === "string" && value !== "");

const logLevel = kind<"debug" | "info" | "warn" | "error">(
  "debug, info, warn or error",
  (value) => value === "debug" || value === "info" || value === "warn" || value === "error",
  { placeholder: "LEVEL" },
);

const tags = kind<readonly string[]>(
  "a list of words such as mail, urgent",
  (value) => Array.isArray(value) && value.every((tag) => typeof tag === "string" && tag !== ""),
  { placeholder: "A,B", fromText: (text) => text.split(",").map((tag) => tag.trim()) },
);

const jobId = kind<string>(
  "a text of letters, digits and _ : . -, usually 24 hex digits",
  (value) => typeof value === "string" && JID.test(value),
  { placeholder: "JID" },
);

const pushId = kind<string>(
  "a text of 1 to 200 characters",
  (value) => typeof value === "string" && value !== "" && value.length <= 200 && value.isWellFormed(),
  { placeholder: "TEXT" },
);

const backoff: OptionKind<Backoff> = {
  expected: 'an object such as { type: "exponential", base: "2s", max: "1h", jitter: 0.2 }',
  placeholder: "TYPE,base=…",
  write: (field, value) => JSON.stringify(readBackoff(field, value)),
  fromText: backoffOfText,
};

/** Not stored: the enqueuer turns it into the job's time, and reports an invalid value. */
function momentKind<T>(expected: string, placeholder: string): OptionKind<T> {
  const fromText = placeholder === "TIME"
    ? (text: string) => /^\d+(\.\d+)?$/.test(text) ? Number(text) : text
    : undefined;
  return { expected, placeholder, write: () => undefined, ...(fromText && { fromText }) };
}

/** Not stored: it stays in the process that performs the class. */
function localKind<T>(expected: string, isValid: (value: unknown) => boolean): OptionKind<T> {
  const write = (field: string, value: unknown) => {
    if (!isValid(value)) throw new InvalidPayload(field, value, expected);
    return undefined;
  };
  return { expected, write };
}

const EVERYWHERE = ["push", "class", "cron", "exec"] as const;

/** The table. Rows are in the order of the documentation. */
export const JOB_OPTIONS = {
  queue: option({
    kind: queueName,
    on: EVERYWHERE,
    default: "`default`",
    about: "the queue",
  }),
  group: option({
    kind: groupName,
    on: EVERYWHERE,
    default: "none",
    about:
      "the job's group in its queue, for limits and fair shares: a name, or a path into the arguments such as `args[0]`",
  }),
  in: option({
    kind: momentKind<number | string>(SECONDS, "DURATION"),
    on: ["push"],
    default: "now",
    about: "runs the job after this time",
  }),
  at: option({
    kind: momentKind<Date | number | string>("a Date, ISO 8601 text, or epoch seconds", "TIME"),
    on: ["push"],
    default: "now",
    about: "runs the job at this time: a `Date`, ISO 8601 text or epoch seconds; a past time is now",
  }),
  retry: option({
    kind: retries,
    on: EVERYWHERE,
    default: "`true`",
    about: "how many times a failed job is retried; `true` is the worker's `maxRetries` (25), `false` drops the job",
  }),
  retry_for: option({
    kind: span,
    on: EVERYWHERE,
    default: "",
    about: "retries for this long after the first failure, instead of a number of times",
  }),
  retry_queue: option({
    kind: queueName,
    on: EVERYWHERE,
    default: "the job's queue",
    about: "the queue for retries",
  }),
  backoff: option({
    kind: backoff,
    on: EVERYWHERE,
    default: "Sidekiq's",
    about: "the delay before a retry: `type` (`exponential`, `linear` or `fixed`), `base`, `max`, `jitter` (0 to 1)",
  }),
  dead: option({
    kind: flag,
    on: EVERYWHERE,
    default: "`true`",
    about: "`false` drops a job whose retries are exhausted, instead of moving it to the dead set",
  }),
  timeout: option({
    kind: span,
    on: EVERYWHERE,
    default: "none",
    about: "aborts an attempt that runs for longer; it counts as a failure",
  }),
  expires_in: option({
    kind: span,
    on: EVERYWHERE,
    default: "never",
    about: "drops the job unless it starts within this time after it was enqueued",
  }),
  unique_for: option({
    kind: lock,
    on: ["push", "class", "exec"],
    default: "duplicates are allowed",
    about: "skips a push while a job of the same class, queue and arguments exists, for at most this long",
  }),
  result_ttl: option({
    kind: retention,
    on: EVERYWHERE,
    default: "`500s`",
    about: "how long the result is kept; 0 keeps nothing, -1 keeps it while there is room",
  }),
  failure_ttl: option({
    kind: retention,
    on: EVERYWHERE,
    default: "`1d`",
    about: "how long the record of a failed job is kept; 0 and -1 as for `result_ttl`",
  }),
  backtrace: option({
    kind: lines,
    on: EVERYWHERE,
    default: "`false`",
    about: "keeps the stack of a failure with the job: `true`, or this many lines",
  }),
  log_level: option({
    kind: logLevel,
    on: EVERYWHERE,
    default: "the worker's",
    about: "drops log lines below this level, the job's own and the worker's about it",
  }),
  tags: option({
    kind: tags,
    on: EVERYWHERE,
    default: "none",
    about: "words shown with the job",
  }),
  display_class: option({
    kind: className,
    on: ["push", "class", "cron"],
    default: "the class",
    about: "the class's name for people, as Sidekiq's pages show it",
  }),
  wrapped: option({
    kind: className,
    on: ["push", "class"],
    default: "",
    about: "the class that performs the job, where `class` is a wrapper (ActiveJob)",
  }),
  batch: option({
    kind: { ...jobId, placeholder: "ID" },
    on: ["push"],
    default: "none",
    about: "the ID of the batch that counts the job",
  }),
  jid: option({
    kind: jobId,
    on: ["push"],
    default: "24 hex digits",
    about: "the job's ID",
  }),
  id: option({
    kind: pushId,
    on: ["push"],
    default: "none",
    about:
      "makes the push idempotent: a later push with the same `id` is answered with the jid of the first, also after " +
      "that job has ended",
  }),
  within: option({
    kind: { ...span, write: (field, value) => void readSpan(field, value) },
    on: ["push"],
    default: "`1d`",
    about: "how long an `id` is remembered, counted from the time at which the job may run",
  }),
  created_at: option({
    kind: momentKind<number>("epoch seconds or milliseconds", ""),
    on: ["push"],
    default: "now",
    about: "when the job was first pushed, in epoch seconds or milliseconds: for copies of jobs",
  }),
  isolate: option({
    kind: localKind<boolean>("true or false", (value) => typeof value === "boolean"),
    on: ["class"],
    default: "`false`",
    about: "runs the class in pooled child processes, which can be killed",
  }),
  retryIn: option({
    kind: localKind<RetryIn>("a function", (value) => typeof value === "function"),
    on: ["class"],
    default: "",
    about: "a function `(count, error, payload)` that returns the seconds until the next attempt; `count` is the " +
      'number of earlier failures, 0 at the first; `"kill"` and `"discard"` give up; undefined leaves it to `backoff`',
  }),
};

type Table = typeof JOB_OPTIONS;

/** The name of an option. */
export type JobOptionName = keyof Table;

type ValueOf<Row> = Row extends OptionRow<infer T, infer _Place> ? T : never;
type PlacesOf<Row> = Row extends OptionRow<infer _T, infer Place> ? Place : never;

/**
 * The options that may be set in a place, with the types of their values.
 *
 * @internal
 */
export type OptionsOn<Place extends OptionPlace> = {
  readonly [Name in JobOptionName as Place extends PlacesOf<Table[Name]> ? Name : never]?: ValueOf<Table[Name]>;
};

/** One option, as a reader of the whole table sees it. */
export type JobOption = OptionRow<unknown, OptionPlace>;

const ROWS = new Map<string, JobOption>(Object.entries(JOB_OPTIONS as Readonly<Record<string, JobOption>>));

/** Returns the row of an option; undefined if there is no such option. */
export function jobOption(name: string): JobOption | undefined {
  return ROWS.get(name);
}

/** Returns the names of the options that may be set in a place, in the order of the table. */
export function optionNames(place?: OptionPlace): string[] {
  return [...ROWS].filter(([, { on }]) => place === undefined || on.includes(place)).map(([name]) => name);
}

/** The flags of `jobs push`, one for each option that text can set: `unique_for` is `--unique-for`. */
export const PUSH_FLAGS: ReadonlyMap<string, { readonly name: string; readonly option: JobOption }> = new Map(
  [...ROWS].filter(([, { kind, on }]) => on.includes("push") && kind.placeholder)
    .map(([name, option]) => [name.replaceAll("_", "-"), { name, option }]),
);

/** Names that other job systems use, where spelling doesn't lead to ours. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  retries: "retry",
  attempts: "retry",
  maxattempts: "retry",
  maxretries: "retry",
  delay: "in",
  jobid: "jid",
};

/** Returns the option that a name was probably meant to be; undefined if it is an option, or near none. */
export function meantOption(name: string, place?: OptionPlace): string | undefined {
  if (ROWS.has(name)) return undefined;
  const known = optionNames(place);
  const plain = name.replaceAll(/[_-]/g, "").toLowerCase();
  const same = known.find((one) => one.replaceAll("_", "").toLowerCase() === plain);
  const other = ELSEWHERE[plain];
  // Everything is near a name of two letters.
  return same ?? (other && known.includes(other) ? other : closestWord(name, known.filter((one) => one.length > 3)));
}

/** Whether a value of `unique_for` asks for a lock. */
export function isLockWanted(uniqueFor: unknown): boolean {
  return uniqueFor !== undefined && uniqueFor !== false && uniqueFor !== null && uniqueFor !== 0;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function booleanOrText(text: string): boolean | string {
  return text === "true" ? true : text === "false" ? false : text;
}

function countOrText(text: string): number | boolean | string {
  return /^\d{1,6}$/.test(text) ? Number(text) : booleanOrText(text);
}

/** Reads `exponential,base=2s,max=1h,jitter=0.2`, and the same as JSON. */
function backoffOfText(text: string): unknown {
  if (text.startsWith("{")) {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  const [type, ...rest] = text.split(",");
  const fields = rest.map((part) => part.split("=", 2) as [string, string | undefined]);
  return {
    type,
    ...Object.fromEntries(fields.map(([name, value]) => [name, name === "jitter" ? Number(value) : value ?? ""])),
  };
}
