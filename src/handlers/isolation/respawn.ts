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
 * Returns the flag for the lock file: the copy that `scripts/deno.sh` keeps for `./jobs` and all tasks that start processes, to which the
 * imports of a user's handlers may be added, else the project's. Without one, Deno reads the index of every package again, from a registry, which
 * takes longer than the rest of the start, and may download other versions.
 */
function lockFlag(main: URL): string {
  const kept = [".deno/lock", "deno.lock"].map((name) => fileURLToPath(new URL(name, main))).find(isFile);
  return kept === undefined ? "--no-lock" : `--lock=${kept}`;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
