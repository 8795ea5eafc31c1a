/**
 * The types of `deno-std/yaml/parse.js`, which ships none: those we use.
 *
 * @module
 */

/** How to read YAML. */
export interface ParseOptions {
  /** The types of plain scalars: `core` has null, booleans and numbers; `default` (the default) also has dates and more. */
  schema?: "failsafe" | "json" | "core" | "default";
  /** Let the last of equal keys win instead of refusing them; default false. */
  allowDuplicateKeys?: boolean;
  /** Told of what is read but doubtful. */
  onWarning?: (error: Error) => void;
}

/**
 * Reads one YAML document.
 *
 * @throws {SyntaxError} when it is not YAML, with line and column in the message
 */
export declare function parse(content: string, options?: ParseOptions): unknown;
