/**
 * Mended defects, and how to put one back into a copy of the sources (`defects.txt`). An entry has its name, the seed that finds it, what
 * it restores, and its edits by file: the line as it is (`-`), and as it was (`+`).
 *
 * @module
 */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import text from "./defects.txt" with { type: "text" };

const ROOT = join(import.meta.dirname!, "../..");
const NEEDED = ["src", "tests/simulation", "tests/support", "scripts", "deno.json", "deno.lock"];

export interface Defect {
  readonly name: string;
  readonly store: "sqlite" | "redis";
  /** A seed that finds it. */
  readonly seed: number;
  readonly fault: string;
  readonly edits: readonly string[];
}

export const DEFECTS: readonly Defect[] = text.trim().split("\n\n").map((entry) => {
  const [first, fault, ...edits] = entry.split("\n");
  const [name, , seed] = first!.split(" ");
  return {
    name: name!,
    store: name!.startsWith("redis") ? "redis" : "sqlite",
    seed: Number(seed),
    fault: fault!,
    edits,
  };
});

/**
 * Returns the files that a defect changes, with it.
 *
 * @throws {Error} if the code has changed so that an edit doesn't apply
 */
export async function withDefect({ name, edits }: Defect): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  let path = "";
  for (const [i, line] of edits.entries()) {
    if (line.startsWith("src/")) path = line;
    if (!line.startsWith("- ")) continue;
    const now = files.get(path) ?? await Deno.readTextFile(join(ROOT, path));
    if (now.split(line.slice(2)).length !== 2) throw new Error(`Defect ${name} no longer applies: adapt defects.txt`);
    files.set(path, now.replace(line.slice(2), () => edits[i + 1]!.slice(2)));
  }
  return files;
}

/** Copies the sources into a new folder, with a defect. Returns the folder. */
export async function putBack(defect: Defect): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "jobs-defect-" });
  for (const path of NEEDED) await cp(join(ROOT, path), join(folder, path), { recursive: true });
  for (const [path, text] of await withDefect(defect)) await Deno.writeTextFile(join(folder, path), text);
  return folder;
}
