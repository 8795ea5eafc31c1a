/**
 * The value that a handler returned, as JSON text. It is read once, here: a getter may return another value each time, or
 * throw. All uses of a result share the text.
 *
 * @module
 */
import { describeError } from "./describe_error.ts";
import { stringifyLossless } from "./json.ts";

/** A returned value. Without a text and a problem, there is none. */
export interface Returned {
  /** JSON text. */
  readonly text?: string;
  /** Why the value isn't a result that other jobs can read. */
  readonly problem?: string;
}

/** The output of a program that is longer than a result may be: its beginning and its end. Shown, but not read by other jobs. */
export class CutOutput {
  /** The beginning and the end, with a line between them. */
  readonly text: string;
  /** The size of the whole output. */
  readonly size: string;

  constructor(text: string, size: string) {
    this.text = text;
    this.size = size;
  }
}

const NOTHING: Returned = {};

/** Reads a returned value. Never throws. */
export function readReturned(value: unknown): Returned {
  if (value === undefined) return NOTHING;
  try {
    if (value instanceof CutOutput) {
      return {
        text: JSON.stringify(value.text),
        problem: `the output has ${value.size}, and only its beginning and end are kept`,
      };
    }
    const text = stringifyLossless(value);
    return text === undefined ? { problem: `a ${typeof value} isn't JSON` } : { text };
  } catch (error) {
    return { problem: describeError(error).message };
  }
}
