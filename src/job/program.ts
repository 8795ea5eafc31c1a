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
  /** Environment variables, in addition to those of the worker. */
  readonly env?: Readonly<Record<string, string>>;
  /** The folder it starts in. A command with a slash is relative to it. Default: that of the worker. */
  readonly cwd?: string;
  /** The user it runs as, if the worker runs as root. Default: that of the worker. */
  readonly user?: string;
}
