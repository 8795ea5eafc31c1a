/**
 * The command that starts this program again. A compiled program is the command; sources are run by Deno again.
 *
 * @module
 */

import { fileURLToPath } from "node:url";

export interface SelfCommand {
  readonly program: string;
  readonly args: readonly string[];
}

/** Returns the command that starts `jobs`, also from a program that only imports the library. */
export function selfCommand(): SelfCommand {
  // Linux appends this when the file has been replaced: by an upgrade, whose version starts then.
  const program = Deno.execPath().replace(/ \(deleted\)$/, "");
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
 * Returns the flag for the lock file that `scripts/deno.sh` keeps for `./jobs` and all tasks that start processes. The
 * imports of a user's handlers may be added to it. Without a lock file, Deno reads the whole index of every package, which
 * takes longer than the rest of the start.
 */
function lockFlag(main: URL): string {
  const path = fileURLToPath(new URL(".deno/lock", main));
  try {
    return Deno.statSync(path).isFile ? `--lock=${path}` : "--no-lock";
  } catch {
    return "--no-lock";
  }
}
