/**
 * A job class for clients: its name, its options and the types of its arguments. Also the types that JSON keeps.
 *
 * @module
 */

/** The part of a definition from `defineJob` that a client uses. */
// deno-lint-ignore no-explicit-any -- the arguments differ by class
export interface JobClass<Args extends readonly any[]> {
  /** Performs a job. Clients use only the types of its arguments. */
  (ctx: never, ...args: Args): unknown;
  /** The name of the class. */
  readonly class: string;
  /** The default options of its jobs. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** Returns whether a value that programs pass as a job class is one: a plain function has no name and no options. */
// deno-lint-ignore no-explicit-any -- a class with any arguments
export function isJobClass(value: unknown): value is JobClass<any> {
  return typeof value === "function" && typeof (value as { class?: unknown }).class === "string";
}

/** Returns what is expected in place of a value that isn't a job class; completes "expected …". */
export function expectedJobClass(value: unknown): string {
  const name = nameOf(value);
  return `what defineJob returns, such as defineJob("${name ?? "Greet"}", ${name ?? "handler"})`;
}

/**
 * Checks a value that programs pass as a job class.
 *
 * @param what the value's role, for the message
 * @throws {TypeError}
 */
// deno-lint-ignore no-explicit-any -- a class with any arguments
export function checkJobClass(value: unknown, what: string): asserts value is JobClass<any> {
  if (isJobClass(value)) return;
  const name = nameOf(value);
  const found = typeof value === "function" ? name ? `the function "${name}"` : "a function" : typeof value;
  throw new TypeError(`Invalid ${what}: expected ${expectedJobClass(value)}; found ${value === null ? "null" : found}`);
}

function nameOf(value: unknown): string | undefined {
  return typeof value === "function" && value.name ? value.name : undefined;
}

/** Replaces a type whose values JSON would change or drop. No value has this type. */
export interface ChangedByJson {
  /** Convert the value first: `date.toISOString()`, `Object.fromEntries(map)`, `String(bigint)`, `null`. */
  readonly "JSON would change this value": never;
}

/** Types whose values JSON changes, drops or rejects. */
type Changed =
  | bigint
  | symbol
  | undefined
  | ((...args: never) => unknown)
  | Date
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | RegExp
  | Error
  | ArrayBuffer
  | ArrayBufferView
  | Promise<unknown>;

/**
 * `T`, with {@linkcode ChangedByJson} in place of each type that JSON doesn't keep. `unknown`, `any` and `Also` stay.
 *
 * @internal
 */
export type Json<T, Also = never> = unknown extends T ? T
  : T extends string | number | boolean | null | Also ? T
  : T extends Changed ? ChangedByJson
  : {
    [Key in keyof T]: IsOptional<T, Key> extends true ? Json<Exclude<T[Key], undefined>, Also> : Json<T[Key], Also>;
  };

/**
 * The arguments of a handler as a client may push them. A bigint is an error, because a handler receives a small one as a
 * number. `Also` allows it if the types of the handler are unknown: integers of up to 64 bits are stored unchanged.
 */
export type JsonArgs<Args extends readonly unknown[], Also = never> = {
  [Key in keyof Args]: IsOptional<Args, Key> extends true ? Json<Exclude<Args[Key], undefined>, Also>
    : Json<Args[Key], Also>;
};

/** @internal */
type IsOptional<T, Key extends keyof T> = Record<never, never> extends Pick<T, Key> ? true : false;
