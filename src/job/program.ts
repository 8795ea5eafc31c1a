/**
 * A class whose jobs a program performs, as the configuration names it.
 *
 * @module
 */

/** A class and its command. */
export interface Program {
  /** The class. */
  readonly class: string;
  /** The program and its arguments. */
  readonly exec: readonly string[];
  /** The class's options: `queue`, `retry`, `timeout` and so on. */
  readonly [option: string]: unknown;
}
