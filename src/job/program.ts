/**
 * A class whose jobs an external program performs, as the configuration declares it.
 *
 * @module
 */
import type { OptionsOn } from "./options.ts";

/** A class, the command that performs its jobs, and the class's options. */
export interface Program extends OptionsOn<"exec"> {
  /** The class. */
  readonly class: string;
  /** The program and its arguments. */
  readonly exec: readonly string[];
}
