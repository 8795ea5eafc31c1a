/**
 * Describes thrown values: for payloads, logs, results and other processes.
 *
 * @module
 */

export interface Described {
  /** The name of the error; `NotAnError` for any other value. */
  readonly class: string;
  /** At most 10,000 characters. */
  readonly message: string;
  /**
   * The causes, outermost first, one line each: `caused by TypeError: fetch failed`, and `1 of 3: Error: refused` for the
   * members of an `AggregateError`. At most 10 lines of at most 500 characters. Empty if the error has no cause.
   */
  readonly causes: readonly string[];
  /** The lines of the stack without the message, then the lines of each cause and its stack. */
  readonly stack: readonly string[];
}

/** Sidekiq's limit for messages. */
const MAX_MESSAGE = 10_000;
const MAX_STACK = 200;
const MAX_CAUSES = 10;
const MAX_CAUSE_CHARS = 500;
const MAX_STACK_LINE = 1_000;

/** The property with the lines of the causes, on an error from an isolated process. */
export const CAUSES: unique symbol = Symbol("causes");

/** Describes any thrown value: null, a string, an object whose getters throw. Never throws. */
export function describeError(thrown: unknown): Described {
  if (!isError(thrown)) {
    return { class: "NotAnError", message: `${cut(showValue(thrown, MAX_MESSAGE))} was thrown`, causes: [], stack: [] };
  }
  const stack = stackOf(thrown);
  const causes: string[] = [];
  for (const { line, error } of causesOf(thrown)) {
    if (causes.length === MAX_CAUSES) {
      causes[MAX_CAUSES - 1] = "…";
      break;
    }
    causes.push(line);
    stack.push(line, ...stackOf(error));
  }
  return { class: nameOf(thrown), message: messageOf(thrown), causes, stack: stack.slice(0, MAX_STACK) };
}

/**
 * The guard for thrown values: returns the value if its parts can be read, otherwise an error that describes it. A handler
 * may throw anything, and a value whose `name` throws must not fail the code that decides about its job. Never throws.
 */
export function readableError(thrown: unknown): unknown {
  if ((typeof thrown !== "object" && typeof thrown !== "function") || thrown === null) return thrown;
  const unreadable = unreadableParts(thrown);
  if (unreadable.length === 0) return thrown;
  return new UnreadableError(describeError(thrown), unreadable);
}

/** Replaces a thrown value that cannot be read. */
class UnreadableError extends Error {
  readonly [CAUSES]: readonly string[];

  constructor({ class: name, message, causes, stack }: Described, parts: readonly string[]) {
    const problem = `(its ${parts.join(" and ")} cannot be read)`;
    super(parts.includes("message") ? problem : `${message} ${problem}`.trimStart());
    this.name = name;
    this.stack = [`${name}: ${this.message}`, ...stack].join("\n");
    this[CAUSES] = causes;
  }
}

function unreadableParts(thrown: object): string[] {
  try {
    if (!(thrown instanceof Error)) return [];
  } catch {
    return ["class"];
  }
  return ["name", "message", "stack", "cause"].filter((part) => !canRead(() => (thrown as never)[part]));
}

function canRead(get: () => unknown): boolean {
  try {
    get();
    return true;
  } catch {
    return false;
  }
}

/** Yields the causes of an error depth first: its members, then its `cause`. Yields each error once. */
function* causesOf(error: object, seen = new Set<unknown>([error])): Generator<{ line: string; error: unknown }> {
  const known: unknown = readSafely(() => (error as { [CAUSES]?: unknown })[CAUSES]);
  if (readSafely(() => Array.isArray(known))) {
    yield* (known as unknown[]).map((line) => ({ line: showText(line), error: undefined }));
  }
  const found = membersOf(error);
  const cause = readSafely(() => (error as Error).cause);
  if (cause !== undefined) found.push(["caused by", cause]);
  for (const [label, inner] of found) {
    if (seen.has(inner)) continue;
    seen.add(inner);
    const text = isError(inner) ? `${nameOf(inner)}: ${messageOf(inner)}` : showValue(inner, MAX_CAUSE_CHARS);
    yield { line: `${label} ${text}`.slice(0, MAX_CAUSE_CHARS).toWellFormed(), error: inner };
    if (isError(inner)) yield* causesOf(inner, seen);
  }
}

/** Returns the members of an `AggregateError`, each with its label. A member that cannot be read is left out. */
function membersOf(error: object): [label: string, cause: unknown][] {
  const members: unknown = readSafely(() => (error as AggregateError).errors);
  const count = readSafely(() => Array.isArray(members) ? members.length : 0) ?? 0;
  const found: [label: string, cause: unknown][] = [];
  for (let i = 0; i < Math.min(count, MAX_CAUSES + 1); i++) {
    const member = readSafely((): unknown => (members as unknown[])[i]);
    if (member !== undefined) found.push([`${i + 1} of ${count}:`, member]);
  }
  return found;
}

/** Returns a value as one line of at most `maxLength` characters, for messages. Never throws. */
export function showValue(value: unknown, maxLength = 100): string {
  const text = readSafely(() => {
    switch (typeof value) {
      case "string":
        return JSON.stringify(value.length > maxLength ? value.slice(0, maxLength) : value);
      case "bigint":
        return `${value}n`;
      case "function":
        return value.name === "" ? "a function" : `the function ${value.name}`;
      case "object":
        return showObject(value);
      default:
        return Object.is(value, -0) ? "-0" : String(value);
    }
  }) ?? "an object";
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}

function showObject(value: object | null): string {
  if (value === null || Array.isArray(value)) return JSON.stringify(value);
  const name = readSafely(() => value.constructor?.name);
  if (name === undefined || name === "Object" || name === "") return JSON.stringify(value);
  const text = value instanceof Date
    ? readSafely(() => value.toISOString())
    : value instanceof Error
    ? value.message
    : "";
  return `${/^[AEIOU]/.test(name) ? "an" : "a"} ${name}${text ? ` "${text}"` : ""}`;
}

function isError(value: unknown): value is Error {
  return readSafely(() => value instanceof Error) ?? false;
}

/** Returns the name of an error; the name of its class if the error has the default name. */
function nameOf(error: Error): string {
  const name: unknown = readSafely(() => error.name);
  // An error that was described before has the name of the original error.
  const isDescribed = readSafely(() => Object.hasOwn(error, CAUSES)) ?? false;
  const useClass = typeof name !== "string" || (name === "Error" && !isDescribed);
  const best: unknown = useClass ? readSafely(() => error.constructor.name) : name;
  return typeof best === "string" && best !== "" ? best.slice(0, 200).toWellFormed() : "Error";
}

function messageOf(error: Error): string {
  return cut(readSafely(() => String(error.message)) ?? "(its message cannot be read)");
}

/** Returns the stack without the message, which may have several lines. */
function stackOf(error: unknown): string[] {
  const stack = readSafely(() => (error as Error).stack);
  if (typeof stack !== "string") return [];
  return stack.split("\n", MAX_STACK * 2).map((line) => line.slice(0, MAX_STACK_LINE).toWellFormed().trim())
    .filter((line) => line.startsWith("at "));
}

function showText(value: unknown): string {
  return typeof value === "string" ? value : showValue(value, MAX_CAUSE_CHARS);
}

function cut(message: string): string {
  return message.slice(0, MAX_MESSAGE).toWellFormed();
}

/** Returns the value; undefined if reading it throws. */
export function readSafely<T>(get: () => T): T | undefined {
  try {
    return get();
  } catch {
    return undefined;
  }
}
