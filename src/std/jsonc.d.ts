/**
 * The types of `deno-std/jsonc/parse.js`, which ships none: those we use.
 *
 * @module
 */

/**
 * Reads JSON with comments and trailing commas.
 *
 * @throws {SyntaxError} when it is not that
 */
export declare function parse(text: string): unknown;
