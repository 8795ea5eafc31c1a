/**
 * The types of `deno-std/assert/mod.js`, which ships none: those we use.
 *
 * @module
 */

// deno-lint-ignore-file no-explicit-any

/** An error's class, as tests name it. `any`: a constructor may take whatever it likes. */
type ErrorClass<E extends Error> = abstract new (...args: any[]) => E;

/** The error of a failed assertion. */
export declare class AssertionError extends Error {
  constructor(message: string, options?: ErrorOptions);
}

export declare function assert(expr: unknown, msg?: string): asserts expr;
export declare function assertFalse(expr: unknown, msg?: string): asserts expr is false | 0 | "" | null | undefined;
export declare function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T>;
export declare function assertInstanceOf<T extends abstract new (...args: any[]) => any>(
  actual: unknown,
  expectedType: T,
  msg?: string,
): asserts actual is InstanceType<T>;
export declare function assertNotInstanceOf(
  actual: unknown,
  unexpectedType: abstract new (...args: any[]) => any,
  msg?: string,
): void;

export declare function equal(a: unknown, b: unknown): boolean;
export declare function assertEquals<T>(actual: T, expected: T, msg?: string): void;
export declare function assertNotEquals<T>(actual: T, expected: T, msg?: string): void;
export declare function assertStrictEquals<T>(actual: unknown, expected: T, msg?: string): asserts actual is T;
export declare function assertNotStrictEquals<T>(actual: T, expected: T, msg?: string): void;
export declare function assertObjectMatch(
  actual: Record<PropertyKey, any>,
  expected: Record<PropertyKey, unknown>,
  msg?: string,
): void;
export declare function assertArrayIncludes<T>(actual: ArrayLike<T>, expected: ArrayLike<T>, msg?: string): void;

export declare function assertGreater<T>(actual: T, expected: T, msg?: string): void;
export declare function assertGreaterOrEqual<T>(actual: T, expected: T, msg?: string): void;
export declare function assertLess<T>(actual: T, expected: T, msg?: string): void;
export declare function assertLessOrEqual<T>(actual: T, expected: T, msg?: string): void;
/** `tolerance` defaults to a ten-millionth of `expected`. */
export declare function assertAlmostEquals(actual: number, expected: number, tolerance?: number, msg?: string): void;

export declare function assertStringIncludes(actual: string, expected: string, msg?: string): void;
export declare function assertMatch(actual: string, expected: RegExp, msg?: string): void;
export declare function assertNotMatch(actual: string, expected: RegExp, msg?: string): void;

/** Returns what was thrown. */
export declare function assertThrows(fn: () => unknown, msg?: string): unknown;
export declare function assertThrows<E extends Error>(
  fn: () => unknown,
  ErrorClass: ErrorClass<E>,
  msgIncludes?: string,
  msg?: string,
): E;
/** Returns what it was rejected with. A throw before there is a promise fails the assertion. */
export declare function assertRejects(fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
export declare function assertRejects<E extends Error>(
  fn: () => PromiseLike<unknown>,
  ErrorClass: ErrorClass<E>,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
export declare function assertIsError<E extends Error>(
  error: unknown,
  ErrorClass?: ErrorClass<E>,
  msgMatches?: string | RegExp,
  msg?: string,
): asserts error is E;

export declare function fail(msg?: string): never;
export declare function unreachable(msg?: string): never;
