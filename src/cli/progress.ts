/**
 * A progress bar on stderr, where that is a terminal; elsewhere nothing.
 *
 * @module
 */
import { redraw } from "./output.ts";

const WIDTH = 30;

/** Draws how far something is; the last time with a line break. */
export function drawProgress(what: string, done: number, total: number): void {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const bar = "█".repeat(Math.floor(share * WIDTH)).padEnd(WIDTH, "░");
  redraw(`${what} ${bar} ${Math.floor(share * 100)} %  ${done} of ${total}`, done >= total);
}
