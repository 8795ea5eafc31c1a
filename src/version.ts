/**
 * The version in `deno.json`, and the commit that the executable was compiled from.
 *
 * @module
 */
import config from "../deno.json" with { type: "json" };

/** The version, for example `0.1.0`. */
export const VERSION: string = config.version;

/** Returns the commit of the executable, with `-dirty` if the sources differed from it; undefined for any other program. */
export function compiledFrom(): string | undefined {
  if (!Deno.build.standalone) return undefined;
  try {
    // scripts/compile.ts writes it next to the chunks.
    return Deno.readTextFileSync(new URL("./commit.txt", import.meta.url)).trim() || undefined;
  } catch {
    return undefined; // another compiled program, which uses this library
  }
}
