/**
 * Prints the jids of `jobs push --bulk`.
 *
 * @module
 */
import type { PushResult } from "../../client/client.ts";
import { number } from "../../text/format.ts";
import { printedPush } from "../../text/pushes.ts";
import { OutputClosed, OutputFailed, printError, printPart } from "../terminal/output.ts";
import { countLines } from "./push_report.ts";

/** Prints jids, a batch at a time. If they can't be printed, the push continues: the jobs are stored anyway. */
export class JidWriter {
  /** Why they can't be printed. */
  failure: string | undefined;
  #unprinted = 0;
  #closed = false;
  readonly #json: boolean;

  constructor(json: boolean) {
    this.#json = json;
  }

  print(results: readonly PushResult[], lines: readonly number[]): void {
    const printed = results.flatMap((result, i) => {
      const { retryInMs: _, ...printed } = printedPush(result);
      if (printed.jid === undefined) return [];
      return [this.#json ? JSON.stringify({ line: lines[i], ...printed }) : printed.jid];
    });
    if (printed.length === 0 || this.#closed) return;
    if (this.failure !== undefined) {
      this.#unprinted += printed.length;
      return;
    }
    try {
      printPart(`${printed.join("\n")}\n`);
    } catch (error) {
      if (error instanceof OutputClosed) this.#closed = true;
      else if (error instanceof OutputFailed) {
        this.failure = error.message;
        this.#unprinted += printed.length;
      } else throw error;
    }
  }

  /** Reports the jids that were not printed. */
  end(stored: number): void {
    if (this.failure === undefined) return;
    printError(`jobs: ${this.failure}; ${countLines(stored)} stored, ${number(this.#unprinted)} jids not printed`);
  }
}
