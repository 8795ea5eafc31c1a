/**
 * A job class as a client sees it: its name, its options, and the types of its arguments; and which types JSON keeps.
 *
 * @module
 */

/** What `defineJob` returns, as far as a client needs it. */
// deno-lint-ignore no-explicit-any -- each class has its own arguments
export interface JobClass<Args extends readonly any[]> {
  /** Performs a job; here for the types of its arguments. */
  (ctx: never, ...args: Args): unknown;
  /** The class's name. */
  readonly class: string;
  /** Defaults for the class's jobs. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** Stands in the place of a type whose values JSON would change or drop. No value has this type. */
export interface ChangedByJson {
  /** Convert the value first: `date.toISOString()`, `Object.fromEntries(map)`, `String(bigint)`, `null`. */
  readonly "JSON would change this value": never;
}

/** Types whose values JSON changes, drops or refuses. */
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
 * `T`, with {@linkcode ChangedByJson} in the place of each type that JSON doesn't keep. `unknown` and `any` pass, and so
 * does `Also`.
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
 * A handler's arguments as a client may push them. A bigint is refused, as a handler receives a number for a small one;
 * `Also` allows it where no handler's types are known: integers of up to 64 bits are stored as they are.
 */
export type JsonArgs<Args extends readonly unknown[], Also = never> = {
  [Key in keyof Args]: IsOptional<Args, Key> extends true ? Json<Exclude<Args[Key], undefined>, Also>
    : Json<Args[Key], Also>;
};

/** @internal */
type IsOptional<T, Key extends keyof T> = Record<never, never> extends Pick<T, Key> ? true : false;
