/**
 * Runs the conformance table against a client.
 *
 * @module
 */
import { ends } from "./ends.ts";
import { gateways } from "./gateways.ts";
import { life } from "./life.ts";
import { lines } from "./lines.ts";
import { type Case, Lab, Scene } from "./scene.ts";

/** The table: the longest cases first. */
export const CASES: readonly Case[] = [...gateways, ...lines, ...life, ...ends];

/** The result of one case. */
export interface CaseResult {
  readonly does: string;
  /** Undefined when it holds. */
  readonly error?: unknown;
  readonly ms: number;
}

/** Cases that run at the same time. */
const AT_ONCE = 10;

/**
 * Runs the cases whose sentence contains a text.
 *
 * @param command starts the client's worker
 * @param url the store; default a new SQLite file
 */
export async function runCases(
  command: readonly string[],
  { url, only = "", onResult = () => {} }: {
    readonly url?: string | undefined;
    readonly only?: string;
    readonly onResult?: (result: CaseResult) => void;
  } = {},
): Promise<CaseResult[]> {
  await using lab = await Lab.open(command, url);
  const cases = CASES.filter(({ does }) => does.includes(only));
  await lab.startShared();
  const results: CaseResult[] = [];
  const left = [...cases.entries()];
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      const [number, one] = next;
      const result = await runCase(one, lab, one.shared ? "shared" : `case-${number}`);
      results.push(result);
      onResult(result);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}

async function runCase(one: Case, lab: Lab, queue: string): Promise<CaseResult> {
  const began = performance.now();
  const result = (error?: unknown) => ({
    does: one.does,
    ...(error !== undefined && { error }),
    ms: performance.now() - began,
  });
  try {
    await using scene = new Scene(lab, queue);
    await one.run(scene);
    return result();
  } catch (error) {
    return result(error);
  }
}
