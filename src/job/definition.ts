/**
 * A job class as those who push see it: its name, its options, and the types of its arguments.
 *
 * @module
 */

/** What `defineJob` makes, as far as pushing needs it. */
// deno-lint-ignore no-explicit-any -- what the arguments are is for each class to say
export interface JobClass<Args extends readonly any[]> {
  /** Performs a job; here for the types of its arguments. */
  (ctx: never, ...args: Args): unknown;
  /** The class's name. */
  readonly class: string;
  /** What holds for its jobs unless a push says otherwise. */
  readonly options: Readonly<Record<string, unknown>>;
}
