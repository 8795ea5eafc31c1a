/**
 * The types of `deno-std/yaml/_loader_state.js`, which ships none: those we use. Its public `parse` knows only the schemas of
 * YAML 1.1, with dates, octals and numbers with underscores.
 *
 * @module
 */

/** A type of values: `resolve` tells whether a text is one, `construct` returns its value. */
export interface YamlType {
  readonly tag: string;
  readonly kind: "scalar" | "sequence" | "mapping";
  // deno-lint-ignore no-explicit-any -- a text, a list or an object, by kind; null if empty
  readonly resolve: (data: any) => boolean;
  // deno-lint-ignore no-explicit-any -- as above
  readonly construct: (data: any) => unknown;
}

/** The types that a document may have. */
export interface Schema {
  readonly implicitTypes: readonly YamlType[];
  readonly typeMap: Readonly<Record<YamlType["kind"] | "fallback", ReadonlyMap<string, YamlType>>>;
}

/** Reads documents. */
export declare class LoaderState {
  constructor(text: string, options: { readonly schema: Schema });
  /** Throws a SyntaxError, with line and column in the message, for a second document if `singleDocument`. */
  readDocuments(options: { readonly singleDocument: boolean }): Iterator<unknown, undefined>;
}
