/**
 * The names of states on the command line.
 *
 * @module
 */
import { closestWord } from "../../job/suggest.ts";
import { UsageError } from "../terminal/errors.ts";

/** Words of Sidekiq and of other systems → the state. */
const MEANT: Readonly<Record<string, string>> = {
  retry: "retrying",
  retries: "retrying",
  queue: "queued",
  enqueued: "queued",
  busy: "running",
  active: "running",
  failed: "dead",
  morgue: "dead",
  delayed: "scheduled",
  done: "finished",
  completed: "finished",
  succeeded: "finished",
};

/**
 * Parses a state.
 *
 * @param argument its name in messages: `--all`
 * @param allowed the states that the command accepts
 * @throws {UsageError}
 */
export function parseState<S extends string>(argument: string, text: string, allowed: readonly S[]): S {
  const found = allowed.find((state) => state === text);
  if (found !== undefined) return found;
  const suggested = Object.hasOwn(MEANT, text) ? MEANT[text]! : closestWord(text, allowed);
  const meant = (allowed as readonly string[]).includes(suggested ?? "") ? suggested : undefined;
  throw new UsageError(
    `Invalid ${argument} "${text}": expected ${allowed.join(", ")}${
      meant === undefined ? "" : `; did you mean ${meant}?`
    }`,
  );
}
