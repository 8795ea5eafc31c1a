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

/** Fields that are there only with what they are part of. */
function optional(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([path, about]) => [path.replace(/\??$/, "?"), about]));
}

/** The limit of a queue, and what is used of it. */
export const LIMIT: Fields = {
  "running?": ["number", "at most so many of its jobs run at once; absent where as many as are taken"],
  "starts?": ["object", "at most so many start in a time; absent where as many as are taken"],
  "starts.count?": ["number", "how many"],
  "starts.perMs?": ["number", "in how long"],
  "taken": ["number", "how many run now, as far as that is limited"],
  "started": ["number", "how many have started within the time, as far as that is limited"],
  "freeInMs?": ["number", "until the next may start, 0 for now; absent where one that runs has to end first"],
};

/** A queue, wherever one is printed. */
export const QUEUE: Fields = {
  "name": ["text", "the queue; `*` stands for all of them, where they are paused"],
  "size": ["number", "jobs in it"],
  "latencyMs": ["number", "age of its oldest job; 0 when it is empty"],
  "paused": ["boolean", "whether nothing is taken from it"],
  "pausedForMs?": ["number", "how long still; absent where until it is resumed"],
  "limit?": ["object", "what it is limited to; absent where it is not"],
  ...optional(under("limit", LIMIT)),
};
