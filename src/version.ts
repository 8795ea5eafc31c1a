/**
 * The version, as `deno.json` says it, and what the executable was made from.
 *
 * @module
 */
import config from "../deno.json" with { type: "json" };

/** For example `0.1.0`. */
export const VERSION: string = config.version;

/** The commit that the executable was compiled from, with `-dirty` when the sources differed from it. */
export function compiledFrom(): string | undefined {
  if (!Deno.build.standalone) return undefined;
  try {
    // scripts/compile.ts puts it there, beside the chunks.
    return Deno.readTextFileSync(new URL("./commit.txt", import.meta.url)).trim() || undefined;
  } catch {
    return undefined; // a program of someone else's, with this library in it
  }
}
