/**
 * How to start this program once more: compiled, it is its own command; from its sources, Deno runs them again.
 *
 * @module
 */

import { fileURLToPath } from "node:url";

/** A program, and the arguments before one's own. */
export interface SelfCommand {
  readonly program: string;
  readonly args: readonly string[];
}

/** The command that starts `jobs`, also from within a program that only imports it. */
export function selfCommand(): SelfCommand {
  const program = Deno.execPath();
  if (Deno.build.standalone) return { program, args: [] };
  const main = new URL("../../../main.ts", import.meta.url);
  const config = new URL("deno.json", main);
  return {
    program,
    args: [
      ...["run", "--allow-all", "--no-prompt", lockFlag(main)],
      ...["--config", fileURLToPath(config), fileURLToPath(main)],
    ],
  };
}

/**
 * The lock file that `scripts/deno.sh` keeps, for `./jobs` and all tasks that start processes: what a user's handlers import
 * may go into it, and without any Deno reads the whole index of every package, which takes longer than the rest of the start.
 */
function lockFlag(main: URL): string {
  const path = fileURLToPath(new URL(".deno/lock", main));
  try {
    return Deno.statSync(path).isFile ? `--lock=${path}` : "--no-lock";
  } catch {
    return "--no-lock";
  }
}
