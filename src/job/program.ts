/**
 * A class whose jobs an external program performs, as the configuration defines it.
 *
 * @module
 */
import type { OptionsOn } from "./options.ts";

/** A class, its options, and the command that performs its jobs. */
export interface Program extends OptionsOn<"exec"> {
  /** The name of the class. */
  readonly class: string;
  /** The program and its arguments. */
  readonly exec: readonly string[];
}
