/**
 * The limits of a payload that a worker can perform. A push rejects a job beyond them. A payload of another program that is
 * beyond them is not run: it would fail in each worker, or succeed and then not be recorded.
 *
 * @module
 */

import { giveMark } from "./mark.ts";

/** A payload has at most this many levels of arrays and objects, including itself and `args`. Ruby's JSON reads no more. */
export const MAX_LEVELS = 100;

/**
 * A job has at most this many arguments. A handler receives each as an argument of a call, which V8 keeps on its stack: some
 * 100,000 fill it. Wrappers such as `defineJob` pass them on, each with a copy.
 */
export const MAX_ARGS = 10_000;

/** A payload that no worker can perform. */
export class Unperformable extends Error {
  override readonly name = "Unperformable";

  constructor(message: string) {
    super(message);
    // No code of the job has run.
    this.stack = `${this.name}: ${message}`;
  }
}
// It would fail in each worker.
giveMark(Unperformable, "kill");

/** Throws {@linkcode Unperformable} if a payload is beyond the limits. */
export function checkPerformable({ args, raw }: { readonly args: readonly unknown[]; readonly raw: string }): void {
  if (args.length > MAX_ARGS) {
    throw new Unperformable(`args has ${args.length} arguments; expected at most ${MAX_ARGS}: pass one list`);
  }
  if (isTooDeep(raw)) {
    throw new Unperformable(`The payload has more than ${MAX_LEVELS} levels of arrays and objects; flatten its data`);
  }
}

/** Returns whether a JSON text has more than {@linkcode MAX_LEVELS} levels. */
export function isTooDeep(text: string): boolean {
  // Each level has two brackets, which most payloads are too short for.
  return text.length > 2 * MAX_LEVELS && hasManyBrackets(text) && levelsOf(text) > MAX_LEVELS;
}

/** Returns whether a text has more brackets than levels are allowed. Nearly every payload has few, and needs no further look. */
function hasManyBrackets(text: string): boolean {
  let count = 0;
  for (const bracket of ["{", "["]) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (++count > MAX_LEVELS) return true;
    }
  }
  return false;
}

function levelsOf(text: string): number {
  let level = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case "{":
      case "[":
        if (++level > deepest) deepest = level;
        break;
      case "}":
      case "]":
        level--;
        break;
      case '"':
        for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === "\\") at++;
    }
  }
  return deepest;
}
