/**
 * The end of a command that has changed something. Its exit code tells a script whether to run it again, so nothing after the
 * change may fail the command, except an output that can't be written.
 *
 * @module
 */
import { OutputClosed, OutputFailed, printError } from "../terminal/output.ts";

/**
 * Prints the result of a change, then runs the rest: records, remarks, warnings. A failure of the rest is only reported. If the
 * result can't be printed, the rest still runs.
 *
 * @throws {OutputClosed}
 * @throws {OutputFailed}
 */
export async function report(result: () => unknown, ...rest: readonly (() => unknown)[]): Promise<void> {
  try {
    await result();
  } finally {
    for (const one of rest) await attempt(one);
  }
}

/**
 * Runs a part of a command after its change. A failure is only reported.
 *
 * @param failed the failure, for the report: `enqueued; can't check for workers`
 * @throws {OutputClosed}
 * @throws {OutputFailed}
 */
export async function attempt(part: () => unknown, failed = "done, but a later part failed"): Promise<void> {
  try {
    await part();
  } catch (error) {
    if (error instanceof OutputClosed || error instanceof OutputFailed) throw error;
    printError(`jobs: ${failed}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
