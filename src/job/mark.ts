/**
 * The marks of the errors that decide about a job. How a job ends follows from who raised its error: only objects of this library carry
 * a mark. The name of an error decides nothing, because the code of a job chooses it: other libraries have a `Cancelled`, too.
 *
 * @module
 */
import { readSafely } from "./describe_error.ts";

/** The decision that an error carries. */
export type Mark = "discard" | "kill" | "snooze" | "release" | "no handler";

const MARKS: ReadonlySet<unknown> = new Set<Mark>(["discard", "kill", "snooze", "release", "no handler"]);

/** In the registry of symbols: a handler may be bundled with another copy of this library, or with the client for Node. */
const MARK: unique symbol = Symbol.for("jobs.verdict") as never;

/** Gives a mark to a class of errors and its subclasses, or to one error. */
export function giveMark(marked: Error | { readonly prototype: Error }, mark: Mark): void {
  Object.defineProperty("prototype" in marked ? marked.prototype : marked, MARK, { value: mark });
}

/** Returns the mark of a thrown value; undefined if it has none. Never throws. */
export function markOf(thrown: unknown): Mark | undefined {
  const mark = readSafely(() => thrown instanceof Error ? (thrown as { [MARK]?: unknown })[MARK] : undefined);
  return MARKS.has(mark) ? mark as Mark : undefined;
}
