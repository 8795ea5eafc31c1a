/**
 * What one command prints with `--json`, as its row in the table of `json_shapes.ts` says it.
 *
 * @module
 */

/**
 * A field's path → what it holds. `[]` is each element of a list, `{}` each value of an object by name, `?` at the end
 * says that it is left out where there is nothing to say. What is of type `any` is not described further.
 */
export type Fields = Readonly<Record<string, readonly [type: string, about: string]>>;

/** What one command prints. */
export interface Shape {
  /** As it is typed, without `--json`. */
  readonly command: string;
  readonly prints: "an object" | "a list of objects" | "an object a line" | "an object by jid";
  readonly fields: Fields;
  /** More to say. */
  readonly note?: string;
}

/** The fields of what stands at a path. */
export function under(prefix: string, fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([path, about]) => [`${prefix}.${path}`, about]));
}

/** A queue, wherever one is printed. */
export const QUEUE: Fields = {
  "name": ["text", "the queue; `*` stands for all of them, where they are paused"],
  "size": ["number", "jobs in it"],
  "latencyMs": ["number", "age of its oldest job; 0 when it is empty"],
  "paused": ["boolean", "whether nothing is taken from it"],
  "pausedForMs?": ["number", "how long still; absent where until it is resumed"],
};
